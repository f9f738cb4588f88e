// From numbers to places on a drawing.

/** Round steps that cover a range: ticks(0, 97) -> [0, 20, 40, 60, 80, 100] */
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** Powers of ten within a range. */
export function decades(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => 10 ** (first + index));
}

/** A function from [low, high] to [from, to]; with `log` by ratios instead of differences. */
export function scale(low, high, from, to, log = false) {
  const place = log ? Math.log : (value) => value;
  const start = place(low);
  const width = place(high) - start || 1;
  return (value) => from + ((to - from) * (place(Math.max(value, log ? low : -Infinity)) - start)) / width;
}

const short = (value) => Math.round(10 * value) / 10;

/** The path through some points, with steps if asked for; a null is a gap. */
export function path(points, steps = false) {
  let text = "";
  let pen = "M";
  for (const [x, y] of points) {
    if (y === null) {
      pen = "M";
      continue;
    }
    text += steps && pen === "L" ? `H${short(x)}V${short(y)}` : `${pen}${short(x)} ${short(y)}`;
    pen = "L";
  }
  return text;
}

/** The area between two lines with the same x. */
export function area(upper, lower) {
  return upper.length ? `${path(upper)}${path([...lower].reverse()).replace("M", "L")}Z` : "";
}

/** At most `most` of some indices, evenly, the last one among them. */
export function sample(length, most) {
  const step = Math.max(1, (length - 1) / (most - 1));
  const chosen = [];
  for (let place = 0; Math.round(place) < length; place += step) chosen.push(Math.round(place));
  return chosen;
}
