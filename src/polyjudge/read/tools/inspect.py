"""Inspect eval logs: a zip of JSON (.eval) or one JSON file. Sample: task, epoch: replicate, grading model: judge."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyjudge.base import limits
from polyjudge.base.errors import PanelError
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


def _votes(metadata: dict[str, Any], models: list[Any]) -> dict[str, Any]:
    """The vote of each model of a panel of graders, in the order of the scorer's options; empty where there is none."""
    panel = metadata.get("panel")
    votes = (panel.get("votes") if isinstance(panel, dict) else None) or []
    listed = models[0] if models and isinstance(models[0], list) else []
    names = [str(m.get("model") if isinstance(m, dict) else m) for m in listed]
    is_complete = len(votes) == len(names) == len(set(names))
    return dict(zip(names, votes, strict=True)) if is_complete else {}


def _is_ours(log: dict[str, Any], sample: dict[str, Any]) -> bool:
    """Whether a sample is a call of a judge of polyjudge: the model that answers is the judge."""
    solvers = [str(step.get("solver")) for step in (log.get("plan") or {}).get("steps") or []]
    named = {"task", "language", "judge"} <= (sample.get("metadata") or {}).keys()
    return named and any(solver.endswith("polyjudge/ask") for solver in solvers)


def _our_rows(sample: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The score of one call."""
    known = sample["metadata"]
    if {"order", "part"} & known.keys():
        raise PanelError(
            "This log is of a collection that asks for both orders or parts of an answer. Read its folder instead: it "
            "holds scores.csv."
        )
    for score in (sample.get("scores") or {}).values():
        yield {
            "task": known["task"], "language": known["language"], "judge": known["judge"],
            "system": known.get("system"), "metric": known.get("criterion"), "wording": known.get("wording"),
            "replicate": known.get("replicate"), "version": known.get("version"), "score": number(score.get("value")),
        }  # fmt: skip


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The scores of one log. Several numbers of one scorer are judges, or criteria of the model that it grades with."""
    log = load(path)
    about = log["eval"]
    role = ((about.get("model_roles") or {}).get("grader") or {}).get("model")
    models = [(scorer.get("options") or {}).get("model") for scorer in about.get("scorers") or []]
    models = [m.get("model") if isinstance(m, dict) else m for m in models]
    if isinstance(role, list):
        models, role = [role], None
    for sample in log.get("samples") or []:
        if _is_ours(log, sample):
            yield from _our_rows(sample)
            continue
        known = {**(about.get("metadata") or {}), **(about.get("task_args") or {}), **(sample.get("metadata") or {})}
        for place, (scorer, score) in enumerate((sample.get("scores") or {}).items()):
            own, value = score.get("metadata") or {}, score.get("value")
            panel = _votes(own, models[place : place + 1])
            if panel:
                for judge, vote in panel.items():
                    yield {
                        "task": str(sample["id"]), "replicate": str(sample.get("epoch", 1)),
                        "system": str(about["model"]), "language": pick("language", known), "judge": judge,
                        "metric": scorer, "score": LETTERS.get(vote, vote) if isinstance(vote, str) else number(vote),
                        "failed": bool(sample.get("error")) and vote in (None, 0, "I"), **flat(known, "metadata."),
                    }  # fmt: skip
                continue
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
