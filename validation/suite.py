"""The validation suite: many panels per scenario, in parallel, judged against promises."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtr

from polyjudge.panel.errors import UsageError
from polyjudge.panel.progress import track
from validation.checks import run_check
from validation.promises import Promise, chances, detectable, largest_t, mean_limits, promise, rate_limits
from validation.scenarios import SCENARIOS, Scenario

PANELS = 300
FULL = 2000
BATCH = 25
ENOUGH = 30
"""Panels from which on the spread between them is known."""
BIAS = "largest bias (standard errors)"
POOLED = "(all scenarios)"
BOUNDS = 750
"""Limits of a whole run, at least: a scenario run alone is held to the limits of the whole."""


@dataclass(frozen=True, eq=False)
class Validation:
    """Rates over simulated panels. `table` has one row per scenario and quantity: scenario, quantity, value, panels,
    monte_carlo_error, low, high (promised; None where the quantity is only reported), verdict ("pass", "fail",
    "known": no method keeps it there and polyjudge says so, "reported"), limit (the measured value from which on chance
    is ruled out)."""

    table: pd.DataFrame
    panels: int
    detects: tuple[float, float]
    """Coverage of a 95% interval, and alarms of a 5% test, that this number of panels finds in four of five runs."""
    scenarios: tuple[Scenario, ...]

    @property
    def passed(self) -> bool:
        """Whether every quantity with a promise keeps it."""
        return not (self.table["verdict"] == "fail").any()

    def to_frame(self) -> pd.DataFrame:
        """The table with what each scenario is."""
        facts = pd.DataFrame(
            [{"scenario": s.name, **{n: getattr(s, n) for n in ("tasks", "languages", "judges", "about")}}
             for s in self.scenarios]
        )  # fmt: skip
        return self.table.merge(facts, on="scenario", how="left")


def validate(
    panels: int = PANELS,
    *,
    seed: int = 7,
    workers: int | None = None,
    scenarios: Sequence[Scenario] = SCENARIOS,
) -> Validation:
    """Run every scenario with so many panels and judge it. `workers` processes, one per core by default: the result
    does not depend on them."""
    if panels < 2 or not scenarios:
        raise UsageError("The validation needs at least 2 panels a scenario.")
    jobs = []
    for s in scenarios:
        own = max(2, round(s.share * panels))
        jobs += [(s, seed, start, min(BATCH, own - start)) for start in range(0, own, BATCH)]
    jobs.reverse()  # whole audits first: no process is left alone with them at the end
    found: dict[str, dict[int, list[dict[str, Any]]]] = {s.name: {} for s in scenarios}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # the processes are the parallelism; they read it when they start
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    for (scenario, _, start, _), batch in track(_run(jobs, workers), len(jobs), "validating"):
        found[scenario.name][start] = batch
    trials = {s.name: [t for start in sorted(found[s.name]) for t in found[s.name][start]] for s in scenarios}
    return summed([row for s in scenarios for row in judge(s, trials[s.name], chances(BOUNDS))], panels, scenarios)


def summed(rows: Sequence[dict[str, Any]], panels: int, scenarios: Sequence[Scenario]) -> Validation:
    """Judged rows, and one over all scenarios for what several are asked."""
    known = {(s.name, name) for s in scenarios for name in s.known}
    over = pooled([r for r in rows if (r["scenario"], r["quantity"]) not in known], chances(BOUNDS))
    return Validation(pd.DataFrame([*rows, *over]), panels, detectable(panels, chances(BOUNDS)), tuple(scenarios))


def merged(new: Validation, before: pd.DataFrame) -> Validation:
    """The result with the rows of an earlier run (as `to_frame` gave them) for scenarios that were not run now."""
    ran = {s.name for s in new.scenarios}
    table = pd.concat([before[~before["scenario"].isin(ran)], new.table], ignore_index=True)
    order = {s.name: i for i, s in enumerate(SCENARIOS)}
    table = table[table["scenario"].isin(order)].sort_values("scenario", key=lambda x: x.map(order), kind="stable")
    filled = table[new.table.columns].astype(object).where(table[new.table.columns].notna(), None)
    rows = [dict(zip(map(str, filled), row, strict=True)) for row in filled.itertuples(index=False)]
    there = [s for s in SCENARIOS if s.name in set(table["scenario"])]
    return summed(rows, new.panels, there)


def pooled(rows: Sequence[dict[str, Any]], chance: float) -> list[dict[str, Any]]:
    """One row over all scenarios for each rate that several are asked for: what is a little wrong everywhere shows.

    Known misses take no part. The mean over the scenarios is held to what each of them promises.
    """
    frame = pd.DataFrame([r for r in rows if r["verdict"] in ("pass", "fail") and r["monte_carlo_error"] is not None])
    out: list[dict[str, Any]] = []
    if not len(frame):
        return out
    for name, some in frame.groupby("quantity", sort=False):
        low, high = some["low"].astype(float), some["high"].astype(float)
        if len(some) < 2 or low.nunique(dropna=False) > 1 or high.nunique(dropna=False) > 1:
            continue
        ends = Promise(*(x if np.isfinite(x) else y for x, y in ((low.iloc[0], -np.inf), (high.iloc[0], np.inf))))
        error = float(np.sqrt((some["monte_carlo_error"] ** 2).sum())) / len(some)
        n, value = int(some["panels"].sum()), float(some["value"].mean())
        every = Scenario(POOLED, "")
        out.append(_row(every, str(name), value, error, n, ends, mean_limits(ends, error, n, chance)))
    return out


Job = tuple[Scenario, int, int, int]


def _run(jobs: list[Job], workers: int) -> Any:
    """Jobs with their results, in the order of the jobs."""
    if workers == 1:
        yield from ((job, batch(job)) for job in jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from zip(jobs, pool.map(batch, jobs), strict=True)


def _names(trials: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for t in trials for name in t if name not in ("error", "gain_error")))


def judge(scenario: Scenario, trials: list[dict[str, Any]], chance: float) -> list[dict[str, Any]]:
    """Rates of one scenario with their Monte Carlo errors and verdicts; each bound may fail with this chance."""
    out = []
    if "error" in trials[0]:
        out.append(_bias(scenario, BIAS, np.stack([t["error"] for t in trials]), chance))
    if "gain_error" in trials[0]:
        errors = np.array([[t["gain_error"]] for t in trials])
        out.append(_bias(scenario, "bias of the gain (standard errors)", errors, chance))
    for name in _names(trials):
        given = [t[name] for t in trials if t.get(name) is not None]
        values = np.array(given, dtype=float)
        n = len(values)
        if not n:
            continue
        value, promised = float(values.mean()), promise(scenario, name)
        rate = bool(np.isin(values, (0.0, 1.0)).all())
        # a rate of 0 or 1 in the sample is not known without error
        share = (values.sum() + 1) / (n + 2)
        spread = float(values.std(ddof=1)) if n > 1 else np.inf
        error = max(spread, np.sqrt(share * (1 - share)) if rate else 0.0) / np.sqrt(n)
        # Shares of a panel spread less than yes or no: where panels are too few to show how little, count them so.
        counted = rate or (n < ENOUGH and 0 <= values.min() <= values.max() <= 1)
        low, high = rate_limits(promised, n, chance) if counted else mean_limits(promised, error, n, chance)
        out.append(_row(scenario, name, value, error, n, promised, (low, high)))
    return out


def _row(
    scenario: Scenario, name: str, value: float, error: float | None, n: int, promised: Promise, limits: Any
) -> dict[str, Any]:
    low, high = limits
    ends = [x if np.isfinite(x) else None for x in (promised.low, promised.high)]
    if ends == [None, None]:
        verdict = "reported"
    elif low <= value <= high:
        verdict = "pass"
    else:
        verdict = "known" if name in scenario.known else "fail"
    near = [x for x in limits if np.isfinite(x)]
    return {
        "scenario": scenario.name, "quantity": name, "value": value, "panels": n, "monte_carlo_error": error,
        "low": ends[0], "high": ends[1], "verdict": verdict,
        "limit": min(near, key=lambda x: abs(x - value)) if near and verdict != "reported" else None,
    }  # fmt: skip


def _bias(scenario: Scenario, name: str, errors: Any, chance: float) -> dict[str, Any]:
    """The largest t value of the mean errors, read as the normal value that is as improbable."""
    n = len(errors)
    spread = errors.std(axis=0, ddof=1)
    t = np.abs(errors.mean(axis=0)) / np.where(spread > 0, spread / np.sqrt(n), 1.0)
    value = float(-ndtri(np.maximum(stdtr(n - 1, -t.max()), np.finfo(float).tiny)))
    high = largest_t(t.size, n, chance)
    return _row(scenario, name, value, None, n, Promise(high=high), (-np.inf, high))


def batch(job: Job) -> list[dict[str, Any]]:
    """Panels of one scenario, from `start` on: what the analyses said of each."""
    scenario, seed, start, size = job
    own = crc32(scenario.name.encode()) + seed  # scenarios must not share their random numbers
    return [run_check(scenario, own * 100_003 + start + i) for i in range(size)]
