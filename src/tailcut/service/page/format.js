// Numbers and times as people write them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const NONE = "–";

/** 1234567 -> "1,234,567" */
export function count(value) {
  return value === null || value === undefined ? NONE : whole.format(value);
}

/** Three digits, and large ones in short: 0.0123, 12.3, 1,230, 45.7K */
export function number(value) {
  if (value === null || value === undefined) return NONE;
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(0);
  return (size >= 1e5 ? compact : size >= 1000 ? whole : three).format(value).replace("-", "−");
}

/** 12.3 -> "12.3 s" */
export function seconds(value) {
  return value === null || value === undefined ? NONE : `${number(value)} s`;
}

/** A time that people wait: "48 s", "3 min", "2 h", "5 days" */
export function duration(value) {
  if (value < 1) return "less than 1 s";
  if (value < 100) return `${Math.round(value)} s`;
  if (value < 100 * 60) return `${Math.round(value / 60)} min`;
  if (value < 48 * 3600) return `${Math.round(value / 3600)} h`;
  return `${Math.round(value / 86400)} days`;
}

/** Seconds with their sign, for what may be gained or lost. */
export function signed(value) {
  if (value === null || value === undefined) return NONE;
  return value > 0 ? `+${number(value)} s` : `${number(value)} s`;
}

/** A share; nothing but all and none looks certain: 0.999 -> ">99%" */
export function percent(share) {
  if (share === null || share === undefined) return NONE;
  if (share > 0 && share < 0.005) return "<1%";
  if (share < 1 && share > 0.995) return ">99%";
  return `${Math.round(100 * share)}%`;
}

/** 12.3 -> "12.3 ms" */
export function milliseconds(value) {
  return value === null || value === undefined ? NONE : `${number(value)} ms`;
}

/** One thing, several things. */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Seconds since 1970 -> the time of the day, with the date where it is not today. */
export function clock(at) {
  const then = new Date(1000 * at);
  const time = then.toLocaleTimeString("en-GB");
  return then.toDateString() === new Date().toDateString() ? time : `${day(at)}, ${time}`;
}

/** Seconds since 1970 -> the day. */
export function day(at) {
  return new Date(1000 * at).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}
