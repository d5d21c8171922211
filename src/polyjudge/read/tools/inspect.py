"""Inspect eval logs: a zip of JSON (.eval) or one JSON file. Sample: task, epoch: replicate, grading model: judge."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyjudge.base import limits
from polyjudge.base.text import name
from polyjudge.read.table import flat
from polyjudge.read.tools import number, pick

TITLE = "an Inspect log"
FITS = ({"eval.model", "status"}, {"eval.model", "version"})
END = ".eval"
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partial, incorrect, no answer


def member(book: zipfile.ZipFile, inside: str) -> Any:
    """A JSON file of the zip; Zstandard is unpacked by a small package, as Python has none."""
    info = book.getinfo(inside)
    limits.require(info.file_size * 6, name(book.filename, 200))
    if info.compress_type <= zipfile.ZIP_LZMA:
        return json.loads(book.read(info))
    import zstandard

    with Path(str(book.filename)).open("rb") as file:
        file.seek(info.header_offset)
        file.seek(sum(struct.unpack("<26x2H", file.read(30))), 1)  # the name and the extra field
        return json.loads(zstandard.ZstdDecompressor().stream_reader(file).read(info.file_size))


def load(path: Path, samples: bool = True) -> dict[str, Any]:
    """A log, with its samples or without."""
    if not zipfile.is_zipfile(path):
        return dict(json.loads(path.read_text(encoding="utf-8")))
    with zipfile.ZipFile(path) as book:
        inside = sorted(book.namelist()) if samples else []
        log = member(book, "header.json" if "header.json" in book.namelist() else "_journal/start.json")
        return {**log, "samples": [member(book, n) for n in inside if n.startswith("samples/") and n.endswith(".json")]}


def newest(paths: list[Path]) -> list[Path]:
    """Of several attempts at one task with one model the newest: an eval set is run again after a crash."""
    about = {p: load(p, samples=False)["eval"] for p in paths}
    by_age = sorted(paths, key=lambda p: str(about[p].get("created")))
    said = ("task_id", "task", "model", "task_args")
    return sorted({json.dumps([about[p].get(k) for k in said], sort_keys=True): p for p in by_age}.values())


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The scores of one log. Several numbers of one scorer are judges, or criteria of the model that it grades with."""
    log = load(path)
    about = log["eval"]
    role = ((about.get("model_roles") or {}).get("grader") or {}).get("model")
    models = [(scorer.get("options") or {}).get("model") for scorer in about.get("scorers") or []]
    models = [m.get("model") if isinstance(m, dict) else m for m in models]
    for sample in log.get("samples") or []:
        known = {**(about.get("metadata") or {}), **(about.get("task_args") or {}), **(sample.get("metadata") or {})}
        for place, (scorer, score) in enumerate((sample.get("scores") or {}).items()):
            own, value = score.get("metadata") or {}, score.get("value")
            grader = next((m for m in models[place : place + 1] if isinstance(m, str)), role)
            for part, x in value.items() if isinstance(value, dict) else [("", value)]:
                if "polyjudge" not in own:  # what was calibrated here is no grader's
                    yield {
                        "task": str(sample["id"]), "replicate": str(sample.get("epoch", 1)),
                        "system": str(about["model"]), "language": pick("language", known),
                        "judge": pick("judge", known) or grader or part or scorer,
                        "metric": part if grader and part else scorer if grader or part else None,
                        "score": LETTERS.get(x, x) if isinstance(x, str) else number(x),
                        "failed": bool(sample.get("error")) and x in (None, 0, "I"),
                        **flat(own, "score."), **flat(known, "metadata."),
                    }  # fmt: skip
