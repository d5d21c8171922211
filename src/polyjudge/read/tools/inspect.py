"""Inspect eval logs: a zip of JSON (.eval) or one JSON file. Sample: task, epoch: replicate, grading model: judge."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyjudge.base import limits
from polyjudge.base.errors import UsageError
from polyjudge.base.text import name
from polyjudge.read.table import flat
from polyjudge.read.tools import number, pick

TITLE = "an Inspect log"
ZSTD = 93
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partial, incorrect, no answer."""


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is a log."""
    return isinstance(record.get("eval"), dict) and bool({"status", "version"} & set(record))


def member(book: zipfile.ZipFile, inside: str) -> Any:
    """A JSON file of the zip; Zstandard is unpacked by a small package, as Python has none."""
    info = book.getinfo(inside)
    limits.require(info.file_size * 6, name(book.filename, 200))
    if info.compress_type != ZSTD:
        return json.loads(book.read(info))
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            "Inspect logs are compressed by Zstandard. Reading them needs: pip install 'polyjudge[logs]'."
        ) from None
    assert book.fp is not None
    book.fp.seek(info.header_offset)
    title, extra = struct.unpack("<26x2H", book.fp.read(30))
    book.fp.seek(info.header_offset + 30 + title + extra)
    packed = book.fp.read(info.compress_size)
    return json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(packed))


def load(path: Path, header: bool = False) -> dict[str, Any]:
    """A log; `header`: without its samples."""
    if not zipfile.is_zipfile(path):
        return dict(json.loads(path.read_text(encoding="utf-8")))
    with zipfile.ZipFile(path) as book:
        inside = sorted(book.namelist())
        log = dict(member(book, "header.json" if "header.json" in inside else "_journal/start.json"))
        if not header:
            log["samples"] = [member(book, n) for n in inside if n.startswith("samples/") and n.endswith(".json")]
        return log


def newest(paths: list[Path]) -> list[Path]:
    """Of several attempts at one task with one model the newest: an eval set is run again after a crash."""
    found: dict[Any, tuple[str, Path]] = {}
    for path in paths:
        about = load(path, header=True).get("eval", {})
        key = json.dumps([about.get(k) for k in ("task_id", "task", "model", "task_args")], sort_keys=True, default=str)
        found[key] = max(found.get(key, ("", path)), (str(about.get("created", "")), path))
    return sorted(path for _, path in found.values())


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The scores of one log."""
    log = load(path)
    about = log["eval"]
    roles = about.get("model_roles") or {}
    grader = ((roles.get("grader") or {}) if isinstance(roles, dict) else {}).get("model")
    scorers = about.get("scorers") or []
    common = {**(about.get("metadata") or {}), **(about.get("task_args") or {})}
    for sample in log.get("samples") or []:
        known = {**common, **(sample.get("metadata") or {})}
        for place, (scorer, score) in enumerate((sample.get("scores") or {}).items()):
            if "polyjudge" in (score.get("metadata") or {}):
                continue  # what was calibrated here is no grader's
            options = (scorers[place].get("options") or {}) if place < len(scorers) else {}
            for judge, value in _parts(score.get("value"), _graders(options), scorer):
                yield {
                    "task": str(sample.get("id")), "language": pick("language", known),
                    "replicate": str(sample.get("epoch", 1)),
                    "system": str(about.get("model")), "judge": pick("judge", known) or judge or grader or scorer,
                    "metric": scorer if judge or grader else None,
                    "score": LETTERS.get(value, value) if isinstance(value, str) else number(value),
                    "failed": bool(sample.get("error")) and value in (None, 0, "I"), **flat(known, "metadata."),
                }  # fmt: skip


def _graders(options: Mapping[str, Any]) -> list[str]:
    """The models that a scorer grades with, where its options name them."""
    nested = options.get("scorers")
    if isinstance(nested, list):
        return [x for s in nested if isinstance(s, dict) for x in _graders(s.get("params") or {})[:1]]
    models = options.get("model")
    models = models if isinstance(models, list) else [models]
    found = [m.get("model") or m.get("name") if isinstance(m, dict) else m for m in models]
    return [m for m in found if isinstance(m, str) and m]


def _parts(value: Any, graders: list[str], scorer: str) -> Iterator[tuple[str | None, Any]]:
    """Judge (None: of the log) and value: one, a list by grader, or a record by name."""
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, list):
        named = graders if len(graders) == len(value) else [f"{scorer} {i + 1}" for i in range(len(value))]
        yield from zip(named, value, strict=True)
    else:
        yield (graders[0] if len(graders) == 1 else None), value
