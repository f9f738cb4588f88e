"""ARFF tables, read column by column.

Nearly every line of nearly every ASlib file is free of quotes, so the body is split at its commas in one
go; only lines with a quote are taken apart piece by piece. A missing value (an unquoted ``?``) is None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tailcut.scenarios.problems import Problems, shown

Column = list[str | None]

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_SPACE = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_NUMERIC = {"numeric", "real", "integer"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column's name and type."""

    name: str
    kind: str
    """'numeric', 'string' or 'nominal'."""
    levels: tuple[str, ...] = ()
    """The values that a nominal column may have."""


@dataclass(frozen=True, slots=True)
class ArffTable:
    """The columns of one ARFF file."""

    file: str
    attributes: tuple[Attribute, ...]
    columns: list[Column]
    """One list per attribute, all of the same length."""
    lines: Sequence[int]
    """The line each row stands on, counted from 1."""

    def find(self, name: str) -> int | None:
        """Return the position of a column, by its name in any case."""
        wanted = name.lower()
        return next((i for i, a in enumerate(self.attributes) if a.name.lower() == wanted), None)


def parse(data: bytes, file: str, problems: Problems) -> ArffTable | None:
    r"""Return the table in `data`, or None if its header cannot be used; note what is wrong.

    >>> text = b"@RELATION r\n@ATTRIBUTE id STRING\n@ATTRIBUTE 'a b' NUMERIC\n@DATA\n'x, y',?"
    >>> table = parse(text, "some.arff", Problems())
    >>> table.attributes[1].name, table.columns
    ('a b', [['x, y'], [None]])
    """
    text = decode(data, file, problems)
    if text is None:
        return None
    lines = text.split("\n")
    header = _header(lines, file, problems)
    if header is None:
        return None
    attributes, start = header
    numbers: Sequence[int] = range(start + 1, len(lines) + 1)
    body = lines[start:]
    if body and not body[-1].strip():
        body.pop()
    if "%" in text or not all(map(str.strip, body)):
        kept = [i for i, line in enumerate(body) if line.strip() and not line.lstrip().startswith("%")]
        numbers, body = [start + 1 + i for i in kept], [body[i] for i in kept]
    return _table(file, tuple(attributes), body, numbers[: len(body)], problems)


def decode(data: bytes, file: str, problems: Problems) -> str | None:
    """Return UTF-8 bytes as text with plain line ends, or note the line that is not UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.error(file, line, None, f"byte 0x{data[error.start]:02x} is not UTF-8 text")
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _header(lines: list[str], file: str, problems: Problems) -> tuple[list[Attribute], int] | None:
    """Return the attributes and the position of the first line of data."""
    attributes: list[Attribute] = []
    names: set[str] = set()
    before = len(problems.errors)
    for position, raw in enumerate(lines):
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        keyword = re.split(r"[\s,]", line, maxsplit=1)[0].lower()
        if keyword == "@data":
            if line.lower() != "@data":
                problems.warning(file, position + 1, None, f"expected @DATA alone, got {shown(line)}")
            break
        if keyword == "@attribute":
            attribute = _attribute(line[len(keyword) :].strip(), file, position + 1, problems)
            if attribute is not None:
                if attribute.name in names:
                    problems.error(file, position + 1, attribute.name, "this column is declared twice")
                names.add(attribute.name)
                attributes.append(attribute)
        elif keyword != "@relation":
            problems.error(
                file, position + 1, None, f"expected @RELATION, @ATTRIBUTE or @DATA, got {shown(line)}"
            )
            return None
    else:
        problems.error(file, None, None, "has no @DATA line")
        return None
    if not attributes:
        problems.error(file, None, None, "declares no @ATTRIBUTE")
    return (attributes, position + 1) if len(problems.errors) == before else None


def _attribute(text: str, file: str, line: int, problems: Problems) -> Attribute | None:
    """Return the attribute declared by ``name type``."""
    quoted = _QUOTED.match(text)
    if quoted:
        name, kind = _unquote(quoted), text[quoted.end() :].strip()
    else:
        name, _, kind = (text.replace("\t", " ") + " ").partition(" ")
        if "{" in name:  # the space between name and levels is often forgotten
            name, brace, levels = text.partition("{")
            kind = brace + levels
        kind = kind.strip()
    if not name:
        problems.error(file, line, None, "expected @ATTRIBUTE with a name and a type")
        return None
    if kind.lower() in _NUMERIC:
        return Attribute(name, "numeric")
    if kind.lower() == "string":
        return Attribute(name, "string")
    if kind.startswith("{") and kind.endswith("}"):
        levels_found = _fields(kind[1:-1])
        if levels_found is not None and None not in levels_found:
            return Attribute(name, "nominal", tuple(level for level in levels_found if level is not None))
    problems.error(
        file, line, name, f"expected the type NUMERIC, REAL, INTEGER, STRING or {{...}}, got {shown(kind)}"
    )
    return None


def _table(
    file: str, attributes: tuple[Attribute, ...], body: list[str], numbers: Sequence[int], problems: Problems
) -> ArffTable:
    width = len(attributes)
    joined = ",".join(body)
    plain = "'" not in joined and '"' not in joined
    if plain and all(line.count(",") == width - 1 for line in body):
        cells: Column = list(joined.split(",")) if body else []
        if " " in joined or "\t" in joined:
            cells = [cell.strip() for cell in cells if cell is not None]
        columns = [cells[i::width] for i in range(width)]
        for i, column in enumerate(columns):
            if "?" in column:
                columns[i] = [None if cell == "?" else cell for cell in column]
        return ArffTable(file, attributes, columns, numbers)
    rows, kept = _rows(file, width, body, numbers, problems)
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
    return ArffTable(file, attributes, columns, kept)


def _rows(
    file: str, width: int, body: list[str], numbers: Sequence[int], problems: Problems
) -> tuple[list[Column], list[int]]:
    """Return the rows that can be split, and their lines; note those that cannot."""
    rows: list[Column] = []
    kept: list[int] = []
    for line, number in zip(body, numbers, strict=True):
        fields = _fields(line)
        if fields is None:
            problems.error(
                file, number, None, "a quoted value does not end, or is followed by something else"
            )
        elif line.lstrip().startswith("{"):
            problems.error(file, number, None, "sparse rows ({...}) are not part of the ASlib format")
        elif len(fields) != width:
            problems.error(file, number, None, f"expected {width} values, got {len(fields)}")
        else:
            rows.append(fields)
            kept.append(number)
    return rows, kept


def _fields(line: str) -> Column | None:
    """Return the values of one line, or None if its quotes do not match."""
    if "'" not in line and '"' not in line:
        return [None if value == "?" else value for value in (part.strip() for part in line.split(","))]
    fields: Column = []
    position = 0
    while True:
        position = _skip_space(line, position)
        if line[position : position + 1] in ("'", '"'):
            quoted = _QUOTED.match(line, position)
            if quoted is None:
                return None
            fields.append(_unquote(quoted))
            rest = _skip_space(line, quoted.end())
        else:
            rest = line.find(",", position)
            rest = len(line) if rest < 0 else rest
            value = line[position:rest].strip()
            fields.append(None if value == "?" else value)
        if rest == len(line):
            return fields
        if line[rest] != ",":
            return None
        position = rest + 1


def _skip_space(line: str, position: int) -> int:
    match = _SPACE.match(line, position)
    return match.end() if match else position


def _unquote(match: re.Match[str]) -> str:
    """Return what a quoted value says."""
    content = match[1] if match[1] is not None else match[2]
    if "\\" not in content:
        return content
    return _ESCAPE.sub(_unescape, content)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        point = int(code[1:], 16)
        return "\ufffd" if 0xD800 <= point <= 0xDFFF else chr(point)  # half a character is none
    return _ESCAPED.get(code, code)
