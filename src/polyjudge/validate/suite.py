"""The validation suite: many panels per scenario, in parallel, judged against stated limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from polyjudge.core.errors import UsageError
from polyjudge.core.results import Result
from polyjudge.validate.scenarios import SCENARIOS, Scenario
from polyjudge.validate.trial import LEVEL, trial

FAST = 60
FULL = 500
BATCH = 10
SLACK = 3.5
"""A limit is missed when the figure lies beyond it by more than this many Monte Carlo standard errors."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Limit:
    """What a measured rate must keep to: at least `low`, at most `high`."""

    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True, repr=False, eq=False)
class Validation(Result):
    """Rates over simulated panels. `table` has one row per scenario and quantity: scenario, quantity, value,
    monte_carlo_error, low, high (limits; None where the quantity is only reported), verdict."""

    table: pd.DataFrame
    panels: int
    seed: int
    level: float

    @property
    def passed(self) -> bool:
        """Whether every quantity with a limit keeps to it."""
        return not (self.table["verdict"] == "fail").any()

    def to_frame(self) -> pd.DataFrame:
        return self.table

    def wide(self) -> pd.DataFrame:
        """One row per scenario, one column per quantity."""
        order = list(dict.fromkeys(self.table["scenario"]))
        return self.table.pivot(index="scenario", columns="quantity", values="value").loc[order]


def limits(scenario: Scenario) -> dict[str, Limit]:
    """The limits that apply to a scenario. Quantities without one are reported only.

    The published reversal test and the radius with the sd of all scores are never asserted: they are there to be seen.
    """
    out = {
        "largest bias (standard errors)": Limit(high=4.5),
        "band coverage": Limit(0.93, 0.975 if scenario.tight else 1.0),
        "interval coverage": Limit(0.93, 0.975 if scenario.tight else 1.0),
        "distribution-free bound, coverage": Limit(low=0.95),
        "reversals, false discoveries (selection-valid)": Limit(high=0.05),
        "gain interval, coverage": Limit(low=0.93),
        "rank sets, coverage": Limit(low=0.93),
    }
    if not scenario.interaction and scenario.simulate.get("scale") != "integer":
        out["any cell called clear, none planted"] = Limit(high=0.07)
        out["global reversal test rejects"] = Limit(high=0.07)
        out["gain"] = Limit(high=0.0)
    elif scenario.interaction and np.max(scenario.simulate.get("interaction", 5.0)) >= 5.0:
        out["gain"] = Limit(low=0.0)
    if scenario.replicates > 1:
        out["three-way test rejects"] = Limit(low=0.8) if scenario.three_way else Limit(high=0.07)
    return out


def validate(
    *,
    full: bool = False,
    panels: int | None = None,
    seed: int = 7,
    workers: int | None = None,
    scenarios: tuple[Scenario, ...] = SCENARIOS,
    progress: Progress | None = None,
) -> Validation:
    """Run every scenario and judge it.

    Parameters
    ----------
    full : 500 panels per scenario instead of 60
    panels : another number of panels per scenario
    workers : processes; by default one per core. The result does not depend on it
    """
    count = panels or (FULL if full else FAST)
    if count < 2:
        raise UsageError("validate needs at least 2 panels per scenario.")
    jobs = [(s, seed, start, min(BATCH, count - start)) for s in scenarios for start in range(0, count, BATCH)]
    found: dict[str, list[dict[str, Any]]] = {s.name: [] for s in scenarios}
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=get_context("spawn"), initializer=_quiet) as pool:
        for done, ((scenario, *_), batch) in enumerate(zip(jobs, pool.map(_batch, jobs), strict=True), 1):
            found[scenario.name] += batch
            if progress:
                progress(done, len(jobs))
    rows = [row for s in scenarios for row in judge(s, found[s.name])]
    return Validation(pd.DataFrame(rows), count, seed, LEVEL)


def judge(scenario: Scenario, trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rates of one scenario with their Monte Carlo errors and verdicts."""
    bounds = limits(scenario)
    errors = np.stack([t["error"] for t in trials])
    n = len(errors)
    spread = errors.std(axis=0, ddof=1)
    bias = errors.mean(axis=0) / np.where(spread > 0, spread / np.sqrt(n), 1.0)
    # With few panels the spread itself is uncertain: the t value is read as the normal value that is as improbable.
    largest = float(-ndtri(np.maximum(stdtr(n - 1, -np.abs(bias).max()), np.finfo(float).tiny)))
    rows: dict[str, tuple[float, float | None]] = {"largest bias (standard errors)": (largest, None)}
    for quantity, name in NAMES.items():
        values = np.array([t[quantity] for t in trials if t[quantity] is not None], dtype=float)
        if len(values):
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            if quantity in RATES:  # a rate of 0 or 1 in the sample is not known without error
                share = (values.sum() + 1) / (len(values) + 2)
                error = max(error, float(np.sqrt(share * (1 - share) / len(values))))
            rows[name] = (float(values.mean()), float(error))
    out = []
    for name, (value, error) in rows.items():
        bound = bounds.get(name)
        slack = -float(stdtrit(n - 1, ndtr(-SLACK))) * (error or 0.0)
        if bound is None:
            verdict = "reported"
        elif not bound.low - slack <= value <= bound.high + slack:
            verdict = "fail"
        else:
            verdict = "pass"
        out.append(
            {
                "scenario": scenario.name,
                "quantity": name,
                "value": value,
                "monte_carlo_error": error,
                "low": bound.low if bound and np.isfinite(bound.low) else None,
                "high": bound.high if bound and np.isfinite(bound.high) else None,
                "verdict": verdict,
            }
        )
    return out


NAMES = {
    "pointwise": "interval coverage",
    "band": "band coverage",
    "radius_noise": "Gaussian radius (noise sd), coverage",
    "radius_scores": "Gaussian radius (sd of all scores, as published), coverage",
    "distribution_free": "distribution-free bound, coverage",
    "false_cell": "any cell called clear, none planted",
    "power_cell": "planted cells called clear",
    "published_fdr": "reversals, false discoveries (as published)",
    "selected_fdr": "reversals, false discoveries (selection-valid)",
    "published_power": "reversals found (as published)",
    "selected_power": "reversals found (selection-valid)",
    "global_reject": "global reversal test rejects",
    "three_way_reject": "three-way test rejects",
    "gain_covered": "gain interval, coverage",
    "ranks_covered": "rank sets, coverage",
    "gain": "gain",
    "gain_true": "true gain of the full fit",
}
RATES = {
    "band",
    "radius_noise",
    "radius_scores",
    "distribution_free",
    "false_cell",
    "global_reject",
    "three_way_reject",
    "gain_covered",
}


def _batch(job: tuple[Scenario, int, int, int]) -> list[dict[str, Any]]:
    scenario, seed, start, size = job
    own = crc32(scenario.name.encode()) + seed  # scenarios must not share their random numbers
    return [trial(scenario, own * 100_003 + start + i) for i in range(size)]


def _quiet() -> None:
    """One thread per process: the processes are the parallelism."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
