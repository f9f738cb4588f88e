"""The server's log: one line per event, as text or JSON, and never a token."""

from __future__ import annotations

import json
import logging
import sys
import time


class _Plain(logging.Formatter):
    """A line of text; the fields of a request as words."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatTime(self, record: logging.LogRecord, _: str | None = None) -> str:  # noqa: N802
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        fields = getattr(record, "fields", {})
        return " ".join([line, *(f"{name}={_word(value)}" for name, value in fields.items())])


def _word(value: object) -> str:
    r"""Return a value as one word, so that client input cannot forge a log line.

    >>> _word("/v1/health"), _word("/x\n2026 INFO all is well")
    ('/v1/health', '"/x\\n2026 INFO all is well"')
    """
    text = str(value)
    return text if text.isprintable() and " " not in text and '"' not in text else json.dumps(text)


class _Json(logging.Formatter):
    """A JSON object per line; a traceback is a field of it."""

    def format(self, record: logging.LogRecord) -> str:
        content = {
            "at": round(record.created, 6),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            content["traceback"] = self.formatException(record.exc_info)
        return json.dumps(content)


def configure(*, level: str, as_json: bool) -> None:
    """Send the log of the server and its libraries to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if as_json else _Plain())
    for name, lowest in (("tailcut.service", level.upper()), ("uvicorn.error", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(lowest)
