"""Where scores are missing, whether that depends on the cell, and what it could do to the interaction."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.incomplete import estimate_interaction, informing_interaction
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

WORK = 200_000_000
"""Most entries drawn by the tests. Above it they use a random part of the tasks that lack scores."""


class Missingness(Result):
    """Missing scores of a panel. With systems, of the answers that at least one judge scored: an answer that no judge
    scored was not there to be judged, and is no failed call.

    cells : language, judge, missing, tasks, rate, and for panels that can be estimated interaction, sensitivity_low,
        sensitivity_high (the cell if missing scores lay up to `shift` points off what the model expects, in whatever
        cells that is worst, and its 95% interval around that)
    p_cell : does it matter which cell an entry is in? Missing entries are shuffled over the cells inside each task
    p_interaction : does it depend on language and judge together, beyond the rates of languages and of judges?
    """

    missing: int
    entries: int
    cells: pd.DataFrame
    p_cell: float | None
    p_interaction: float | None
    shift: float | None
    draws: int
    notes: tuple[Say, ...]

    @property
    def rate(self) -> float:
        """Share of entries without a score."""
        return self.missing / self.entries

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *map(str, self.notes)])


def missingness(panel: Panel, draws: int = 999, seed: int = 7, shift: float | None = None) -> Missingness:
    """Rates of missing scores, tests of whether they depend on the cell, and a sensitivity range.

    shift : how far, in score points, missing scores may plausibly lie from what the model expects; default two
        noise standard deviations (the mean of the lowest 5% of normal scores)

    >>> from polyjudge.second import simulate_panel
    >>> missingness(simulate_panel(tasks=30, missing=0.1, seed=1)[0]).p_cell > 0.01
    True
    """
    if draws < 1:
        raise UsageError(f"draws must be at least 1, not {draws}.")
    if shift is not None and not (shift > 0 and np.isfinite(shift)):
        raise UsageError(f"shift must be a positive number of score points, not {shift}.")
    gone, asked = _gone(panel)
    lost, n = panel.lost, np.maximum(panel.asked, 1)
    cells = panel.long(missing=lost, tasks=n, rate=lost / n)
    p_cell = p_interaction = None
    notes: list[Say] = []
    if gone.any():
        p_cell, p_interaction, part = _tests(gone, asked, draws, seed)
        if part < 1:
            notes.append(say("missing.part", share=part))
        notes.append(_meaning(panel, lost, n, p_cell, p_interaction, 1 / (1 + draws)))
        try:
            shift = _sensitivity(panel, cells, lost / n, shift)
        except PanelError as error:
            notes.append(say("note", text=str(error)))
    else:
        notes.append(say("missing.none"))
    if panel.unanswered and panel.system_scores is not None:
        whole = np.argwhere(np.isnan(panel.system_scores).all(axis=(0, 3)))  # systems that a language lacks
        absent = tuple((panel.systems[i], panel.languages[j]) for i, j in whole)
        notes.append(say("missing.unanswered", unanswered=panel.unanswered, absent=absent))
    return Missingness(
        missing=int(lost.sum()),
        entries=int(n.sum()),
        cells=cells,
        p_cell=p_cell,
        p_interaction=p_interaction,
        shift=shift,
        draws=draws,
        notes=tuple(notes),
    )


def _gone(panel: Panel) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n, k, m) entries that lack a score, and that were asked for.

    With systems an entry lacks a score when that of any answer is missing which another judge scored.
    """
    if panel.system_scores is None:
        asked = np.repeat(panel.own[..., None], len(panel.judges), axis=2)
        return np.isnan(panel.scores) & asked, asked
    there = ~np.isnan(panel.system_scores)
    answered = np.broadcast_to(there.any(axis=3, keepdims=True), there.shape)
    lost = answered & ~there
    return np.asarray(lost.any(axis=1)), np.asarray(answered.any(axis=1))


def _sensitivity(panel: Panel, cells: pd.DataFrame, rate: Array, shift: float | None) -> float:
    """Add the interaction and its range to `cells`; the shift used."""
    estimate = estimate_interaction(panel)
    k, m = rate.shape
    # A cell mean that is off by rate * shift moves its own interaction by (1 - 1/k)(1 - 1/m) of that, and the others of
    # its language and judge the other way; at worst all of them add up.
    own = rate * (1 - 1 / k) * (1 - 1 / m)
    row, column = rate.sum(axis=1, keepdims=True) - rate, rate.sum(axis=0, keepdims=True) - rate
    rest = rate.sum() - row - column - rate
    worst = own + (1 - 1 / k) / m * row + (1 - 1 / m) / k * column + rest / (k * m)
    shift = 2 * estimate.noise_sd if shift is None else shift
    interaction = estimate.interaction
    reach = worst * shift + stdtrit(informing_interaction(panel) - 1, 0.975) * estimate.se
    cells["interaction"] = interaction.ravel()
    cells["sensitivity_low"] = (interaction - reach).ravel()
    cells["sensitivity_high"] = (interaction + reach).ravel()
    return shift


def _tests(gone: NDArray[np.bool_], asked: NDArray[np.bool_], draws: int, seed: int) -> tuple[float, float, float]:
    """p_cell, p_interaction, and the share of the tasks that lack scores which the tests use."""
    n, k, m = gone.shape
    rng = np.random.default_rng(seed)
    flat, of = gone.reshape(n, -1), asked.reshape(n, -1)
    count = flat.sum(axis=1)
    some = np.flatnonzero((count > 0) & (count < of.sum(axis=1)))  # all or nothing says nothing about cells
    if len(some) == 0:
        return 1.0, 1.0, 1.0
    most = max(50, WORK // (draws * k * m))
    part = min(1.0, most / len(some))
    if part < 1:
        some = np.sort(rng.choice(some, most, replace=False))
    flat, count, of = flat[some], count[some], of[some]
    # Under the first null a task's missing entries fall on any cells; under the second, on cells in proportion to the
    # product of language and judge rates. Either way each task keeps its number of missing entries.
    even = np.zeros((k, m))
    seen = flat.sum(axis=0).reshape(k, m).astype(np.float64)
    margins = np.outer(seen.sum(axis=1), seen.sum(axis=0))
    p_cell = _p_value(seen, count, of, even, draws, rng)
    if (margins > 0).sum() < 2 or np.count_nonzero(seen.sum(axis=1)) < 2 or np.count_nonzero(seen.sum(axis=0)) < 2:
        # One language or judge has all: are they even over its judges, or languages? One cell is its own answer.
        rows, columns = (np.flatnonzero(seen.sum(axis=x)) for x in (1, 0))
        if len(rows) == 1 and len(columns) == 1:
            return p_cell, p_cell, part
        line, here = (
            x.reshape(-1, k, m)[:, rows[0]] if len(rows) == 1 else x.reshape(-1, k, m)[:, :, columns[0]]
            for x in (flat, of)
        )
        some = line.sum(axis=1) < here.sum(axis=1)  # a task that lacks the whole line says nothing about its cells
        if not some.any():
            return p_cell, 1.0, part
        totals = line[some].sum(axis=0).astype(np.float64)[None]
        return p_cell, _p_value(totals, line[some].sum(axis=1), here[some], np.zeros(totals.shape), draws, rng), part
    with np.errstate(divide="ignore"):
        p_interaction = _p_value(seen, count, of, np.log(margins), draws, rng, beyond_margins=True)
    return p_cell, p_interaction, part


def _p_value(
    seen: Array,
    count: NDArray[np.int64],
    asked: NDArray[np.bool_],
    log_odds: Array,
    draws: int,
    rng: np.random.Generator,
    beyond_margins: bool = False,
) -> float:
    """Share of draws whose cells are at least as unequal as those seen: by Pearson's chi-square against the mean table,
    or against what each table's own language and judge totals say."""
    cells = seen.size
    tables = np.empty((draws, cells))
    rank = np.arange(cells)
    for i in range(draws):
        # The top `count` of log odds + Gumbel noise are draws without replacement.
        noise = np.where(asked, rng.gumbel(size=(len(count), cells)) + log_odds.ravel(), -np.inf)
        order = np.argsort(-noise, axis=1)
        tables[i] = np.bincount(order[rank < count[:, None]], minlength=cells)
    every = np.concatenate([tables.reshape(draws, *seen.shape), seen[None]])
    if beyond_margins:
        expected = every.sum(axis=2, keepdims=True) * every.sum(axis=1, keepdims=True) / seen.sum()
    else:
        expected = np.broadcast_to(every.mean(axis=0), every.shape)
    apart = (every - expected) ** 2
    statistic = ratio(apart, expected).sum(axis=(1, 2))
    return float((statistic >= statistic[-1] - 1e-9).sum() / (1 + draws))


def _meaning(
    panel: Panel,
    lost: NDArray[np.int64],
    n: NDArray[np.int64],
    p_cell: float,
    p_interaction: float | None,
    floor: float,
) -> Say:
    l, b = np.unravel_index(int((lost / n).argmax()), lost.shape)  # noqa: E741
    values = {
        "judge": panel.judges[int(b)],
        "language": panel.languages[int(l)],
        "worst": float((lost / n).max()),
        "overall": float(lost.sum() / n.sum()),
        "p_floor": floor,
    }
    if p_interaction is not None and p_interaction < 0.05:
        return say("missing.together", p=p_interaction, **values)
    if min(np.count_nonzero(lost.sum(axis=0)), np.count_nonzero(lost.sum(axis=1))) == 1:
        return say("missing.one-holder", p=p_cell, **values)  # its rate cannot be told from its scores: no reassurance
    return say("missing.margins" if p_cell < 0.05 else "missing.even", p=p_cell, **values)
