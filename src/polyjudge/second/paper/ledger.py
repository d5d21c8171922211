"""The ledger: one row per published value, with what it is when computed again and what it means; and all that a
reproduction gives back with it.

"Reproduced" is said of a number that was computed here and prints as in the paper, and of nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from polyjudge.second.panel.records import plain
from polyjudge.second.paper import published
from polyjudge.second.paper.human_labels import LabelCheck
from polyjudge.second.paper.printed import Table
from polyjudge.second.paper.published import Benchmark, Path
from polyjudge.second.report.charts.vega import Picture
from polyjudge.second.report.result import Result

Kind = Literal["reproduced", "identity", "artefact", "file check", "setting", "label"]
Verdict = Literal[Kind, "differs", "needs data"]
VERDICTS: dict[Verdict, str] = {
    "reproduced": "computed here, and prints as published",
    "artefact": "computed here and prints as published, but is not what it is taken for",
    "identity": "true by arithmetic whatever the scores are: not evidence",
    "file check": "shows that the file is the released one; with that file it cannot fail",
    "setting": "a setting of the protocol, taken over: nothing is computed",
    "label": "a name, taken over: nothing is computed",
    "differs": "computed here, and does not print as published",
    "needs data": "cannot be computed from the data at hand",
}
COMPUTED: tuple[Verdict, ...] = ("reproduced", "artefact", "differs")
"""Verdicts of values that are computed and can come out otherwise."""
REACH = 4.0
"""With own draws a value may lie this many standard deviations of the difference of two runs from the printed one."""


@dataclass(frozen=True)
class Answer:
    """What is known about one published value.

    `value` is the number computed again (None: it cannot be), `corrected` what should stand there; `kind` the verdict
    if it prints as published; `basis` what it was computed from; `reading` how to read it; `scatter` the standard
    deviation of the value over independent draws, 0 where the published draws or none are used; `number` its name.
    """

    value: float | str | None
    corrected: str = ""
    kind: Kind = "reproduced"
    basis: str = "released scores"
    reading: str = ""
    scatter: float = 0.0
    number: str = ""

    def verdict(self, expected: float | str | None, half_unit: float) -> Verdict:
        """How `value` stands against the printed value, whose last digit has this half unit."""
        if self.value is None:
            return "needs data"
        if isinstance(self.value, str) or isinstance(expected, str) or expected is None:
            return self.kind if self.value == (expected if expected is not None else "none") else "differs"
        # The slack is rounding of the subtraction itself.
        slack = 1e-9 * max(1.0, abs(expected)) if half_unit > 1e-6 else 1e-6 * half_unit
        agrees = math.isfinite(self.value) and abs(self.value - expected) <= self.tolerance(half_unit) + slack
        return self.kind if agrees else "differs"

    def tolerance(self, half_unit: float) -> float:
        """Half a unit of the last printed digit, and what two runs with independent draws scatter."""
        return half_unit + REACH * math.sqrt(2) * self.scatter


Answers = dict[Path, Answer]


def answers_of(computed: Mapping[str, Any], basis: str = "released scores") -> Answers:
    """Computed values, nested as the published ones, by their paths; an `Answer` where there is more to say of one."""
    return {path: v if isinstance(v, Answer) else Answer(v, basis=basis) for path, v in published.leaves(computed)}


class Ledger(Result):
    """Published against computed, row by row."""

    benchmark: Benchmark
    rows: pd.DataFrame

    @property
    def counts(self) -> dict[Verdict, int]:
        have = self.rows["verdict"].value_counts()
        return {v: int(have.get(v, 0)) for v in VERDICTS}

    @property
    def differs(self) -> pd.DataFrame:
        return self.rows[self.rows["verdict"] == "differs"]


def settle(benchmark: Benchmark, answers: Mapping[Path, Answer]) -> Ledger:
    """The ledger of a benchmark. Every published value must have its answer, and every answer its value."""
    values = dict(published.leaves(published.load(benchmark)))
    if values.keys() != answers.keys():
        forgotten = [published.key(p) for p in values.keys() ^ answers.keys()]
        raise AssertionError(f"published values and answers do not match: {sorted(forgotten)[:10]}")
    rows = [_row(benchmark, path, expected, answers[path]) for path, expected in values.items()]
    frame = pd.DataFrame(rows).astype({"published": object, "printed": object, "computed": object})
    for name in ("difference", "tolerance"):
        frame[name] = pd.to_numeric(frame[name])
    return Ledger(benchmark=benchmark, rows=frame)


def _row(benchmark: Benchmark, path: Path, expected: float | str | None, answer: Answer) -> dict[str, object]:
    printed, half, difference, tolerance = published.TEXTS.get(published.key(path), expected), 0.0, None, None
    if isinstance(printed, (int, float)) and isinstance(expected, (int, float)):
        printed, half = published.printed(benchmark, path, expected)
        if isinstance(answer.value, (int, float)):
            difference, tolerance = float(answer.value) - printed, answer.tolerance(half)
    return {
        "key": published.key(path),
        "place": published.place(benchmark, path),
        "number": answer.number,
        "published": "none" if expected is None else expected,
        "printed": "none" if printed is None else printed,
        "computed": answer.value,
        "difference": difference,
        "tolerance": tolerance,
        "verdict": answer.verdict(printed, half),
        "basis": answer.basis if answer.value is not None else "",
        "corrected": answer.corrected,
        "reading": answer.reading,
    }


def scattered(answers: Answers, scatter: Mapping[str, float]) -> Answers:
    """The answers with the scatter of their values over independent draws, by key."""
    return {
        path: replace(a, scatter=max(a.scatter, scatter.get(published.key(path), 0.0))) for path, a in answers.items()
    }


def worded(benchmark: Benchmark, given: Mapping[Path, Answer], words: Mapping[str, str | Sequence[str]]) -> Answers:
    """The answers with the wording of `data/answers.json`: number, kind and reading where they say none themselves.

    Settings are taken from the published values. `words`: what templates may speak of; of a list by the kind of row the
    one at the row's place.
    """
    taken = dict(published.leaves(published.load(benchmark)))
    rules = [(re.compile(rule), (*said, "", "")[:3]) for rule, *said in published.data("answers")[benchmark]]
    out: Answers = {}
    for path in {**taken, **given}:
        key = published.key(path)
        match, (number, kind, reading) = next((m, said) for rule, said in rules if (m := rule.fullmatch(key)))
        answer = given.get(path)
        if answer is None:
            if kind != "setting":
                continue
            answer = Answer(taken[path], kind="setting", basis="setting")
        last = match.groups()[-1] if match.groups() else ""
        known = {n: w if isinstance(w, str) else "" for n, w in words.items()}
        known["place"] = str(int(path[-1]) + 1) if path[-1].isdigit() else ""
        known["part"] = PARTS[int(last)] if last.isdigit() and int(last) < len(PARTS) else ""
        names = words.get(path[0], ())
        known["name"] = names[int(last)] if last.isdigit() and int(last) < len(names) else ""
        groups = [
            g.replace("_", " ") if path[0] in ("cost", "requirement_types", "human_anchor") else g
            for g in match.groups()
        ]
        out[path] = replace(
            answer,
            number=number.format(*groups, **known),
            kind=answer.kind if answer.kind != "reproduced" or not kind else kind,
            basis="label" if kind == "label" else answer.basis,
            reading=answer.reading or reading.format(**known),
        )
    return out


PARTS = ("held-out tau", "low end", "high end", "full-fit tau")


# --- what a reproduction gives back ---


@dataclass(frozen=True)
class Correction:
    """Something in the paper that does not hold or is arithmetic, and what can be said instead."""

    claim: str
    published: str
    """What the paper says, in its words where they are short."""
    correct: str
    why: str
    conceded: str = ""
    """What the paper itself says against it."""
    later: str = ""
    """What its authors say about it in their later manuscript and notes."""


def correction(name: str, **values: Any) -> Correction:
    return Correction(**{field: text.format(**values) for field, text in published.data("corrections")[name].items()})


class Reproduction(Result):
    """One benchmark of the paper, computed again."""

    ledger: Ledger
    corrections: tuple[Correction, ...]
    tables: tuple[Table, ...]
    figures: dict[str, Callable[[], Picture]]
    """File name -> function that draws the chart."""
    inputs: dict[str, str]
    """What was read, by role, with the fingerprint of each."""
    notes: tuple[str, ...] = ()
    labels: LabelCheck | None = None
    """The panel beside human labels (DevAI)."""

    def to_frame(self) -> pd.DataFrame:
        return self.ledger.rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.ledger.benchmark,
            "counts": dict(self.ledger.counts),
            "inputs": self.inputs,
            "corrections": plain(self.corrections),
            "ledger": plain(self.ledger.rows),
            "tables": {t.name: plain(t.frame) for t in self.tables},
            "notes": list(self.notes),
            "labels": plain(self.labels),
        }


def notes(seed: int | None) -> tuple[str, ...]:
    """What a reader must know about the random parts."""
    if seed is None:
        return ("Random parts use the published draws. A number is reproduced when it prints as in the paper.",)
    return (
        f"Random parts use seed {seed}. Draws of another seed scatter: a random value may lie half a unit of its last "
        f"printed digit and {REACH:.0f} standard deviations of the difference of two runs from the printed one. The "
        "standard deviations are measured, for DevAI over 100 seeds, for M-RewardBench by resampling the draws; the "
        "ledger lists the tolerance of every row.",
    )
