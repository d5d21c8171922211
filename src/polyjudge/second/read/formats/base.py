"""What a reader of an eval tool's files is, and what they share: a peek at a file, and metadata as plain columns."""

from __future__ import annotations

import ast
import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.columns import USUAL
from polyjudge.second.panel.errors import PanelError, PolyjudgeError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Say
from polyjudge.second.read.duck import FILE, text_of
from polyjudge.second.read.formats.names import part_of
from polyjudge.second.read.limits import LINE_BYTES, require_json, weigh

PEEK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ToolScores:
    """Long scores out of a tool's files: columns by role, metadata as dotted columns; what to know."""

    frame: pd.DataFrame
    notes: tuple[Say, ...] = ()
    doubts: tuple[Say, ...] = ()


@dataclass
class Peek:
    """A first look at files: enough to tell whose they are."""

    paths: Sequence[Path]

    @property
    def path(self) -> Path:
        """The first file."""
        return self.paths[0]

    @cached_property
    def head(self) -> str:
        """The start of the first file as text; nothing when it is no text."""
        try:
            with open_text(self.path) as file:
                return str(file.read(PEEK))
        except (OSError, EOFError, UnicodeDecodeError):
            return ""

    @cached_property
    def record(self) -> Any:
        """The first JSON object or line, or the first element of a list; None when it is no JSON."""
        text = self.head.lstrip("\ufeff \t\r\n").removeprefix("[").lstrip()
        if not text.startswith("{"):
            return None
        try:
            return json.JSONDecoder().raw_decode(text)[0]
        except RecursionError:
            return None
        except ValueError:
            return self.document if len(text) >= PEEK - 64 else None

    @property
    def in_lines(self) -> bool:
        """Whether there is an object in each line."""
        return "\n{" in self.head.strip("\ufeff \t\r\n")

    @property
    def entry(self) -> dict[str, Any]:
        """The first record, or the first of those in its `data`, as answers of web APIs have them."""
        found = self.record if isinstance(self.record, dict) else {}
        data = found.get("data")
        first = data[0] if isinstance(data, list) and data else found
        return first if isinstance(first, dict) else {}

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON document, or None."""
        return document(self.path)

    @cached_property
    def header(self) -> list[str]:
        """The fields of the first line, for CSV."""
        line = self.head.lstrip("\ufeff").splitlines()[:1]
        return [part.strip().strip('"') for part in line[0].split(",")] if line else []


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of an eval tool: what `tools.toml` says of it, and what its module does."""

    name: str
    title: str
    files: str
    """What its files are called or hold."""
    reads: str
    """Where task, language, judge and score come from."""
    needs: str
    """What the user may have to say."""
    fits: Callable[[Peek], bool]
    rows: Callable[[Path], Iterable[dict[str, Any]]]
    """The scores of one file as rows: roles by name, metadata as dotted names."""
    several: Callable[[Sequence[Path]], Iterable[tuple[Path, dict[str, Any]]]] | None = None
    """The same of several files together, where that is cheaper."""
    finish: Callable[[pd.DataFrame], ToolScores] = lambda frame: ToolScores(frame=tidy(frame))
    """What is settled over all files together."""


def open_text(path: Path) -> Any:
    """A text file in UTF-8, unpacked where it is packed and does not expand beyond all measure."""
    if path.name.lower().endswith(".gz"):
        weigh(path)
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def document(path: Path) -> Any:
    """A file as one JSON document, or None when it is none."""
    require_json(path)
    try:
        with open_text(path) as file:
            return json.load(file)
    except (ValueError, OSError, EOFError, RecursionError):
        return None


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, of a list, or of the list in a document's `data`."""
    peek = Peek([path])
    is_list = peek.head.lstrip("\ufeff \t\r\n").startswith("[")
    whole = document(path) if is_list or not peek.in_lines else None
    if isinstance(whole, dict):
        whole = whole.get("data", [whole])
    if isinstance(whole, list):
        yield from (_object(r, path, f"entry {i}") for i, r in enumerate(whole, 1))
        return
    pages = []
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise PanelError(f"{clean(path, 200)}, line {number} is not valid JSON: {clean(error, 80)}.") from None
            if is_page(_object(record, path, f"line {number}")):
                pages.append(record)
                yield from (_object(r, path, f"line {number}, entry {i}") for i, r in enumerate(record["data"], 1))
            else:
                yield record
    check_pages(pages, clean(path, 200))


def _object(record: Any, path: Path, place: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise PanelError(
            f"{clean(path, 200)}, {place} is no JSON object but {clean(repr(record), 40)}. Remove it, or mend the file."
        )
    return record


def is_page(record: Any) -> bool:
    """An answer of a web API: a list in `data`, and where it stands among others."""
    marks = {"has_more", "next_cursor", "meta", "object"}
    return isinstance(record, dict) and isinstance(record.get("data"), list) and bool(marks & set(record))


def check_pages(pages: Sequence[Any], shown: str) -> None:
    """Refuse a part of an export for the whole: every page must be there, or at least the last one."""
    pages = [page for page in pages if is_page(page)]
    if not pages:
        return
    metas = [page["meta"] if isinstance(page.get("meta"), dict) else {} for page in pages]
    wanted = max((m.get("totalPages") or 0 for m in metas if isinstance(m.get("totalPages"), int)), default=0)
    there = len({m.get("page") for m in metas})
    follows = [
        page.get("has_more") is True or bool(page.get("next_cursor") or meta.get("nextCursor") or meta.get("cursor"))
        for page, meta in zip(pages, metas, strict=True)
    ]
    if there < wanted or all(follows):
        of = f"{there} of {wanted} pages" if there < wanted else "a page that is not the last"
        raise PanelError(
            f"{shown} holds {of} of an export. Fetch the others too, each into a file of its own, and name all of them "
            "('export*.json')."
        )


def table_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file that a data frame was saved as, all of them text."""
    csv.field_size_limit(LINE_BYTES)
    with open_text(path) as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            if None in row or None in row.values():
                raise PanelError(f"{clean(path, 200)}, row {number} has more or fewer fields than the header.")
            yield row


def parsed(value: Any) -> Any:
    """A list or dictionary that a cell of a data frame holds, as JSON or as Python writes it."""
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, (dict, list)):
            return found
    raise ValueError(f"neither a list nor a dictionary: {clean(value, 60)}")


def flat(value: Mapping[str, Any], prefix: str = "", depth: int = 4) -> dict[str, Any]:
    """Nested mappings as dotted columns; lists are left out.

    >>> flat({"a": {"b": 1}, "c": [1], "d": "x"})
    {'a.b': 1, 'd': 'x'}
    """
    out: dict[str, Any] = {}
    for key, inner in value.items():
        here = f"{prefix}{key}"
        if isinstance(inner, Mapping) and depth > 1:
            out |= flat(inner, f"{here}.", depth - 1)
        elif isinstance(inner, (str, int, float, bool)):
            out[here] = inner
    return out


def pick(role: str, *places: Mapping[str, Any] | None) -> Any:
    """The value of the first usual name of a role in the first mapping that has one."""
    for place in places:
        low = {str(k).strip().lower(): v for k, v in (place or {}).items()}
        for usual in USUAL[role]:
            if isinstance(low.get(usual), (str, int, float)) and low[usual] != "":
                return low[usual]
    return None


def read_tool(tool: Format, paths: Sequence[Path]) -> ToolScores:
    """Read a tool's files; a file that is not what it looked like is one paragraph."""
    try:
        peeks = [Peek([path]) for path in paths if ".json" in path.name.lower()]
        check_pages([peek.record for peek in peeks if not peek.in_lines], clean(paths[0], 200))
        for peek in peeks:
            require_json(peek.path)  # its rows are held, whatever they were in
        found = tool.several(paths) if tool.several else ((path, row) for path in paths for row in tool.rows(path))
        rows = [{FILE: str(path), **row} for path, row in found]
        if not rows:
            raise PanelError(f"The {tool.title} hold no score.")
        return tool.finish(pd.DataFrame(rows))
    except PolyjudgeError:
        raise
    except (csv.Error, LookupError, TypeError, AttributeError, ValueError, RecursionError, OverflowError) as error:
        raise PanelError(
            f"The files look like {tool.title}, but are not what is expected there ({clean(repr(error), 120)}). If "
            "they are a plain table, say --format json or csv."
        ) from None


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Labels as text, without columns that are empty throughout and roles that hold one value."""
    frame = frame.dropna(axis=1, how="all")
    for role in ("task", "language", "judge", "system", "replicate", "metric"):
        if role in frame:
            there = frame[role].notna()
            frame[role] = frame[role].astype(object).where(~there, frame[role].map(text_of)).where(there, None)
    single = [role for role in ("replicate", "system") if role in frame and frame[role].nunique() == 1]
    return frame.drop(columns=single)


def by_metric(frame: pd.DataFrame) -> ToolScores:
    """`tidy`, with the metrics as judges where one model gave all of them."""
    frame = tidy(frame)
    if frame["judge"].nunique() == 1 and frame["metric"].nunique() > 1:
        frame["judge"] = frame["metric"]
    return ToolScores(frame=frame)


def language_from_names(frame: pd.DataFrame, column: str) -> ToolScores:
    """`tidy`, with the language out of names that differ in nothing else, where no other place has it."""
    frame = tidy(frame)
    around = part_of(list(frame[column].unique())) if column in frame and "language" not in frame else None
    if around is None:
        return ToolScores(frame=frame)
    front, back = around
    found = [name.removeprefix(front).removesuffix(back) for name in frame[column]]
    doubt = Say("read.language_in_name", {"column": column, "pattern": f"{front}{{language}}{back}"})
    return ToolScores(frame=frame.assign(language=found), doubts=(doubt,))


def number_or_word(value: Any) -> Any:
    """A score as the table keeps it: numbers, truth values and words; anything else is missing."""
    return value if isinstance(value, (bool, int, float, str)) else None
