"""The ledger: one row per published number, with what it is when computed again and what it means."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

import pandas as pd

from polyjudge.core.results import Result
from polyjudge.paper import published
from polyjudge.paper.published import Benchmark, Path

Verdict = Literal["reproduced", "identity", "artefact", "differs", "needs data"]
VERDICTS: dict[Verdict, str] = {
    "reproduced": "computed again within the tolerance",
    "identity": "true by arithmetic whatever the scores are: not evidence",
    "artefact": "computed again, but not what it is taken for",
    "differs": "computed again and outside the tolerance",
    "needs data": "cannot be computed from the data at hand",
}
OTHER_DRAWS = 5
"""With own draws tolerances of random numbers are this much wider: two runs differ by the Monte Carlo error of both."""
COLUMNS = [
    "key",
    "place",
    "number",
    "published",
    "computed",
    "difference",
    "tolerance",
    "verdict",
    "basis",
    "corrected",
    "reading",
]


@dataclass(frozen=True)
class Answer:
    """What is known about one published number.

    `value` is the number computed again (None: it cannot be); `kind` the verdict if it agrees within `tolerance`;
    `basis` what it was computed from; `corrected` the value that should stand there, `reading` how to read it.
    """

    number: str
    value: float | str | None
    tolerance: float = 0.0
    kind: Literal["reproduced", "identity", "artefact"] = "reproduced"
    basis: str = "released scores"
    corrected: str = ""
    reading: str = ""

    def verdict(self, expected: float | str | None) -> Verdict:
        """How `value` stands against the published value."""
        if self.value is None:
            return "needs data"
        if isinstance(self.value, str) or isinstance(expected, str) or expected is None:
            return self.kind if self.value == (expected if expected is not None else "none") else "differs"
        # The slack is rounding of the subtraction itself, for tolerances such as half a unit of the last digit.
        slack = 1e-12 * max(abs(expected), abs(self.value))
        agrees = math.isfinite(self.value) and abs(self.value - expected) <= self.tolerance + slack
        return self.kind if agrees else "differs"


Answers = dict[Path, Answer]


@dataclass(frozen=True, repr=False, eq=False)
class Ledger(Result):
    """Published against computed, row by row."""

    benchmark: Benchmark
    rows: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        return self.rows

    @property
    def counts(self) -> dict[Verdict, int]:
        """Number of rows of each verdict."""
        have = self.rows["verdict"].value_counts()
        return {v: int(have.get(v, 0)) for v in VERDICTS}

    @property
    def differs(self) -> pd.DataFrame:
        """The rows that do not agree."""
        return self.rows[self.rows["verdict"] == "differs"]

    def value(self, *path: str) -> float | str | None:
        """The computed value of one row."""
        row = self.rows.loc[self.rows["key"] == published.key(path)]
        out: float | str | None = row["computed"].iloc[0]
        return out


def settle(benchmark: Benchmark, answers: Mapping[Path, Answer]) -> Ledger:
    """The ledger of a benchmark. Every published value must have its answer, and every answer its value."""
    values = dict(published.leaves(published.load(benchmark)))
    if values.keys() != answers.keys():
        forgotten = [published.key(p) for p in values.keys() ^ answers.keys()]
        raise AssertionError(f"published values and answers do not match: {sorted(forgotten)[:10]}")
    rows = []
    for path, expected in values.items():
        answer = answers[path]
        both = isinstance(answer.value, (int, float)) and isinstance(expected, (int, float))
        rows.append(
            (
                published.key(path),
                published.place(benchmark, path),
                answer.number,
                "none" if expected is None else expected,
                answer.value,
                float(answer.value) - float(expected) if both else None,  # type: ignore[arg-type]
                answer.tolerance if both else None,
                answer.verdict(expected),
                answer.basis if answer.value is not None else "",
                answer.corrected,
                answer.reading,
            )
        )
    frame = pd.DataFrame(rows, columns=COLUMNS).astype({"published": object, "computed": object})
    for name in ("difference", "tolerance"):
        frame[name] = pd.to_numeric(frame[name])
    return Ledger(benchmark, frame)


def widen(answers: Answers, sections: Collection[str]) -> Answers:
    """Wider tolerances for the random numbers of these sections, when other draws than the published ones are used."""
    return {
        path: replace(a, tolerance=a.tolerance * OTHER_DRAWS) if path[0] in sections and a.tolerance >= 1e-3 else a
        for path, a in answers.items()
    }


def half_unit(printed: float) -> float:
    """Half a unit of the last digit of a number as it is printed.

    >>> half_unit(0.0019)
    5e-05
    """
    exponent = Decimal(repr(printed)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


def setting(number: str, value: float | str) -> Answer:
    """A published setting (seed, number of resamples, level) that the recomputation takes over."""
    return Answer(number, value, basis="setting", reading="A setting of the protocol, taken over.")
