"""Kill commands that write at random moments: at its place is the old output or the new one, whole."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pandas as pd
from attempts import Bench, stamp

WRITERS = {
    "audit": "audit SCORES --resamples 100 -o TO",
    "files": "calibrate SCORES -o TO/c.csv --save TO/cal.json --overwrite",
    "parts": "calibrate SCORES -o TO",
    "labels": "label make SCORES --per-language 5 -o TO",
    "run": "collect PLAN -o TO",
}
"""Commands that replace a folder, two files and a folder of tables; make a folder; and go on with a run."""

GONE = (-signal.SIGKILL, -signal.SIGTERM)
"""How a process ends that a signal took: 137, and 143 before and after its work, as a shell says."""


def line(name: str, to: Path, scores: Path, plain: Path) -> list[str]:
    words = {"SCORES": scores, "TO": to, "PLAN": plain / "plan.json"}
    parts = [word.partition("/") for word in WRITERS[name].split()]
    return [f"{words.get(head, head)}{slash}{rest}" for head, slash, rest in parts]


def kills(bench: Bench, plain: Path, rng: random.Random, count: int, real: bool = False) -> int:
    """Returns the number of commands that were killed; what is wrong goes to the findings.

    plain : folder with scores.csv and plan.json; real : see `attempts.start`
    """
    first, other, place = plain / "scores.csv", bench.folder / "other.csv", bench.folder
    frame = pd.read_csv(first)
    frame.assign(score=100 - frame["score"]).to_csv(other, index=False)
    whole: dict[tuple[str, Path], Any] = {}
    lasts: dict[str, float] = {}
    for name in WRITERS:
        for scores in (first, other):
            to, began = place / f"{name}-{scores.stem}", time.monotonic()
            bench.run(*line(name, to, scores, plain), codes=(0,), real=real)
            whole[name, scores], lasts[name] = content(to), time.monotonic() - began
    killed = tried = 0
    while killed < count:
        name, tried = sorted(WRITERS)[tried % len(WRITERS)], tried + 1
        to = place / f"killed-{tried}"
        if name in ("audit", "files", "parts"):
            shutil.copytree(place / f"{name}-scores", to)
        number = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        words, moment = line(name, to, other, plain), rng.uniform(0.02, 1.05) * lasts[name]
        done = bench.run(*words, end=(moment, number), codes=(0, 143, *GONE), real=real)
        killed += done.code in (143, *GONE)
        found, old, new = content(to), whole[name, first], whole[name, other]
        if name == "run":
            _resumed(bench, words, to, place / "run-other", real)
        elif not (
            found in (old, new)
            or (name == "labels" and not to.exists())
            or (name == "files" and all(found.get(k) in (old[k], new[k]) for k in old))
        ):
            bench.find(f"neither old nor new, {name}, signal {number} at {moment:.2f} s", words, str(sorted(found)))
        left = [*place.glob(".killed-*.part")]
        if left and done.code == 143:
            bench.find("a part was left after SIGTERM", words, str(left))
        for path in (*left, to):
            shutil.rmtree(path, ignore_errors=True)
    return killed


def _resumed(bench: Bench, words: list[str], to: Path, whole: Path, real: bool) -> None:
    """The same command goes on, and ends with the scores of a run that nobody killed."""
    bench.run(*words, codes=(0,), real=real)
    for run in (to, whole):
        bench.run("collect", "-o", run, "--export", f"{run}.csv", codes=(0,), real=real)
    one, two = (Path(f"{run}.csv") for run in (to, whole))
    if not one.exists() or stamp(one) != stamp(two):
        bench.find("a run that was killed has other scores", words)
    for path in (one, two):
        path.unlink(missing_ok=True)


def content(folder: Path) -> dict[str, Any]:
    """The files of a folder. Pages, tables of the engine and the list of files differ from run to run: that they are
    there is what counts."""
    vary = (".html", ".parquet", ".lock", ".json")
    files = [p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".part")] if folder.is_dir() else []
    return {p.relative_to(folder).as_posix(): (p.suffix in vary and p.name != "cal.json") or stamp(p)[1] for p in files}
