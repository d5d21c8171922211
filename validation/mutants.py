"""The tester tested: analyses spoilt in known ways, each of which its scenario must notice.

A mutant replaces one function of the package, or one that the checks call, by one that gets it wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pandas as pd

from validation.claims import JUDGES
from validation.promises import chances
from validation.scenarios import SCENARIOS
from validation.suite import BOUNDS, PANELS, batch, judge

Function = Callable[..., Any]


@dataclass(frozen=True)
class Mutant:
    """`where` ("module:name") becomes what `spoil` makes of it; `scenario` should show it by `quantity`."""

    name: str
    scenario: str
    quantity: str
    where: str
    spoil: Callable[[Any], Any]


def noticed(mutant: Mutant, panels: int = PANELS, seed: int = 7) -> dict[str, Any]:
    """The row of the spoilt quantity, with as many panels as a run of `panels` gives its scenario."""
    scenario = next(s for s in SCENARIOS if s.name == mutant.scenario)
    path, name = mutant.where.split(":")
    module = import_module(path)
    sound = getattr(module, name)
    setattr(module, name, mutant.spoil(sound))
    try:
        trials = batch((scenario, seed, 0, max(2, round(scenario.share * panels))))
    finally:
        setattr(module, name, sound)
    return next(row for row in judge(scenario, trials, chances(BOUNDS)) if row["quantity"] == mutant.quantity)


def _frame(field: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Function], Function]:
    """Spoil a table of the result."""

    def spoil(sound: Function) -> Function:
        def spoilt(*given: Any, **more: Any) -> Any:
            result = sound(*given, **more)
            return dataclasses.replace(result, **{field: change(getattr(result, field).copy())})

        return spoilt

    return spoil


def _narrow(by: float, value: str, *ends: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Ends of an interval drawn towards its value."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        for end in ends:
            frame[end] = frame[value] + by * (frame[end] - frame[value])
        return frame

    return change


def _band(by: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The simultaneous band drawn in, and what it calls clear."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame = _narrow(by, "interaction", "band_low", "band_high")(frame)
        return frame.assign(clear=(frame["band_low"] > 0) | (frame["band_high"] < 0))

    return change


def _other(**values: Any) -> Callable[[Function], Function]:
    """Call it with other arguments than it is given."""
    return lambda sound: lambda *given, **more: sound(*given, **{**more, **values})


def _own(result: Any) -> Any:
    """The contrast of families with an interval that is too short."""
    c = result.self_preference
    low, high = (c.effect + 0.6 * (x - c.effect) for x in (c.low, c.high))
    return dataclasses.replace(result, self_preference=dataclasses.replace(c, low=low, high=high))


UNCERTAINTY = "validation.checks:uncertainty"
MUTANTS: tuple[Mutant, ...] = (
    Mutant("band 10% too narrow", "band at its level", "band at its level, coverage", UNCERTAINTY,
           _frame("cells", _band(0.9))),
    Mutant("band 10% too narrow, called off", "band at its level", "any cell called off, none is", UNCERTAINTY,
           _frame("cells", _band(0.9))),
    Mutant("intervals at 90% instead of 95%", "large", "interval coverage", UNCERTAINTY,
           _frame("cells", _narrow(0.84, "interaction", "low", "high"))),
    Mutant("interaction shrunk by a fifth", "certificate", "largest bias (standard errors)", UNCERTAINTY,
           _frame("cells", lambda f: f.assign(interaction=0.8 * f["interaction"]))),
    Mutant("gain x 10", "large", "gain interval, coverage", "validation.checks:full_gain",
           lambda sound: lambda *given: dataclasses.replace(g := sound(*given), low=10 * g.low, high=10 * g.high)),
    Mutant("rank sets shifted by one", "small", "rank sets, coverage", "validation.checks:tied_sets",
           _frame("table", lambda f: f.assign(rank_low=f["rank_low"] + 1))),
    Mutant("swaps without allowing for their choice", "one language apart", "false swaps",
           "validation.checks:rank_reversals",
           _frame("pairs", lambda f: f.assign(reverses=f["p_published"] <= 0.05))),
    Mutant("PPI interval a quarter as wide", "10 labels, 50% pass", "PPI interval, coverage",
           "validation.checks:ppi_mean",
           lambda sound: lambda *a, **k: dataclasses.replace(
               r := sound(*a, **k), low=r.estimate - (r.estimate - r.low) / 4,
               high=r.estimate + (r.high - r.estimate) / 4)),
    Mutant("own-family interval x 0.6", "no tastes", "own-family interval, coverage", "validation.claims:favour",
           lambda sound: lambda *a, **k: _own(sound(*a, **k))),
    Mutant("families not relabelled", "tastes without families", "own family is favoured, none is",
           "polyjudge.questions.systems.favour:RARE", lambda _: 1.0),
    Mutant("cells of probes one by one", "probes, noisy judges", "a blind cell is said to see",
           "polyjudge.questions.probe.reaction:together", lambda _: lambda alpha, cells: alpha),
    Mutant("probes at the ceiling judged", "probes, all see", "a seeing cell is called blind",
           "polyjudge.questions.probe.reaction:AT_END", lambda _: 2.0),
    Mutant("agreement of all judges, not across makers", "blind, a maker of three agrees",
           "a shared error is called agreement", "validation.claims:signal",
           lambda sound: lambda *a, **k: dataclasses.replace(
               s := sound(*a, **k), verdict="agree" if s.mean_one_low > 0.1 else s.verdict)),
    Mutant("a swap without its guard", "swap, 3% of calls fail, 30 tasks", "a swap that matters is accepted",
           "validation.claims:swap_judges", _other(guard=False)),
    Mutant("certificate of the estimate", "certificate", "certified bound holds", "validation.checks:certificate",
           lambda sound: lambda *a, **k: dataclasses.replace(c := sound(*a, **k), delta=abs(c.change["change"]))),
    Mutant("calm by the band of the cells", "not calm, a cell of 2.4", "called calm, and it is not",
           "polyjudge.questions.audit.audit:certificate",
           lambda sound: lambda *a, **k: dataclasses.replace(
               c := sound(*a, **k), status="certified" if c.counts["negligible"] == len(c.cells) else c.status)),
    Mutant("makers not left out", "two judges of a maker like a system by 12", "ranked by the taste of one maker",
           "validation.claims:leaderboard", _other(families=dict(zip(JUDGES, JUDGES, strict=True)))),
    Mutant("nights not paid for", "a year of nights, Gaussian", "drift alarms in a year of nights",
           "validation.checks:nightly", _other(runs=1)),
    Mutant("drift at 50% instead of 95%", "drift, nothing", "drift alarms, nothing changed",
           "validation.checks:drift", _other(level=0.5)),
)  # fmt: skip
