"""What explains the interaction: nothing, a few faulty cells, a judge, a language, or all of them.

See docs/methods.md, section 18.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.bands import Uncertainty, uncertainty
from polyjudge.second.estimate.deviations import (
    Kind,
    Reading,
    Units,
    choose,
    choose_each,
    half_masks,
    named_cells,
    offset_maps,
    refit,
    sized,
    sparse_reading,
)
from polyjudge.second.estimate.identify import identified_design
from polyjudge.second.estimate.incomplete import estimate_interaction, informing_interaction, language_strata
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.levels import Latent, deciding_units
from polyjudge.second.estimate.resample import bootstrap_means, check_level, check_resamples, mean_and_se
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import say
from polyjudge.second.panel.scale import Scale, scale_of
from polyjudge.second.questions.audit.matters import materiality, what_matters
from polyjudge.second.report.result import Result

MOST_SHOWN = 12
"""Named cells described in full, those furthest off."""
SMALL = 100
"""Panels of up to this many cells get all the resamples asked for; larger ones four in ten of them ..."""
LARGE = 10_000
"""... and still larger ones two in ten."""
SURE = 0.8
"""A cell that fewer resamples name is off "perhaps"."""
STEPS = 10
MOST_CELLS = 150
"""Panels with more cells show only those that are asked for."""


class Explanation(Result):
    """Which cells are off, and how.

    kind : "none", "cell", "cells" (a few), "judge", "language" or "diffuse"
    stability : share of random halves of the tasks that give the same kind and the same cells
    cells : language, judge, excess (points off the additive panel that fits most cells: the sparse reading), low, high,
        interaction (double centred), band_low, band_high, named, matter
    latent : whether the cells were chosen on a scale without ends, because scores are heaped at an end
    culprits : of the named cells (at most 12), or of the cell asked for: language, judge, excess, low, high,
        interaction, share (of random halves of the tasks that name it), and floor, ceiling, missing (shares of its
        scores), each with the same of the judge's other languages (`_elsewhere`)
    named_cells : `culprits` where no cell was asked for
    worst : the answers that move it most: task, (system,) language, judge, score, others (mean of the other judges of
        the same answer), expected, gap
    """

    kind: Kind
    stability: float
    latent: bool
    cells: pd.DataFrame
    culprits: pd.DataFrame
    named_cells: pd.DataFrame
    worst: pd.DataFrame
    largest: float
    """Largest |interaction|, double centred, in points."""
    largest_without: float
    """The same without the named cells."""
    clear: int
    clear_without: int
    """Cells whose band excludes 0, with and without the named cells."""
    material_without: int
    """Cells whose band lies beyond `matters` without the named cells."""
    matters: float
    scale: Scale
    level: float
    resamples: int
    seed: int

    @property
    def unit(self) -> str:
        """Of printed differences."""
        return self.scale.unit

    @property
    def factor(self) -> float:
        """What differences are multiplied by to be printed."""
        return self.scale.factor

    @property
    def sure(self) -> bool:
        """Whether resamples agree about every named cell; else they are off perhaps, and nothing is to be corrected."""
        return bool((self.named_cells["share"] >= SURE).all())

    @property
    def named(self) -> list[tuple[str, str]]:
        """The (language, judge) pairs that are off, furthest first."""
        found = self.cells[self.cells["named"]]
        order = found["excess"].abs().sort_values(ascending=False, kind="stable").index
        return list(zip(found.loc[order, "language"], found.loc[order, "judge"], strict=True))


def explain(
    panel: Panel,
    *,
    cell: tuple[str, str] | None = None,
    matters: float | None = None,
    level: float = 0.95,
    resamples: int = 100,
    most: int = 10,
    seed: int = 7,
    bands: Uncertainty | None = None,
    latent: Latent | None = None,
) -> Explanation:
    """Ask which explanation of the interaction fits: none, one cell, a few cells, one judge, one language, diffuse.

    Candidates are compared by how well they predict the cells of left-out tasks; the one with the fewest cells within a
    standard error of the best is taken. Neither this reading nor double centring is truth: both rest on the majority of
    judges and languages, and only labels or probes decide.

    cell : (language, judge) to describe, whether it is off or not
    matters : smallest effect in points that counts; 2% of the scale unless given
    level : confidence of intervals and of naming a cell
    resamples : halves of the tasks behind `stability` and `share`; in a diffuse panel twice as many bootstraps behind
        the intervals of `excess`, which are else Student's t
    most : answers listed for each cell
    bands, latent : the `uncertainty` and the model of levels of the same panel, where they are at hand

    >>> import numpy as np, polyjudge as pj
    >>> fault = np.zeros((8, 6)); fault[6, 1] = -20
    >>> panel, _ = pj.simulate_panel(interaction=fault, seed=1)
    >>> e = explain(panel)
    >>> e.kind, e.named
    ('cell', [('language7', 'judge2')])
    """
    check_level(level)
    check_resamples(resamples, 20)
    _, k, m = panel.shape
    if k * m > SMALL:
        resamples = max(20, resamples // 5 if k * m > LARGE else 2 * resamples // 5)
    if min(k, m) > 2:
        work = 0.4 * resamples * k * m * min(k, m)
        require_time(work, f"Finding which of {k} languages and {m} judges are off")
    estimate = estimate_interaction(panel)
    matters = what_matters(panel, matters)
    bands = bands or uncertainty(panel, level=level, seed=seed)
    strata = language_strata(panel, panel.cluster)
    units = Units.of(estimate.influence, estimate.cell_influence, panel.weights, panel.cluster, strata=strata)
    deciding, on_latent = deciding_units(panel, units, seed, latent)
    reading = choose(deciding, level, seed)
    (excess,), (named,) = sized(units, estimate.interaction[None], [reading])
    agreeing, naming = _halves(deciding, units, reading, resamples, level, seed)
    tasks = refit(units, units.values, reading)
    if tasks is None:
        drawn = sparse_reading(bootstrap_means(units.values, units.share, 2 * resamples, seed), units.lad)
        limits = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    else:
        half = stdtrit(informing_interaction(panel) - 1, (1 + level) / 2) * mean_and_se(tasks, units.share)[1]
        limits = np.stack([excess - half, excess + half])
    cells = _cells(bands, excess, limits, named, matters)
    asked = named if cell is None else _one(panel, cell)
    kind = reading.kind if cell is None else "cell"
    left, se = mean_and_se(_left(units.values, units.lad, named, reading.kind), units.share)
    return Explanation(
        kind=reading.kind,
        stability=agreeing,
        latent=on_latent,
        cells=cells,
        culprits=_culprits(panel, cells, asked, naming.ravel()),
        named_cells=_culprits(panel, cells, named, naming.ravel()),
        worst=_worst(panel, _gaps(estimate.influence, units.lad, asked, kind), asked, cells, most),
        largest=float(np.abs(estimate.interaction).max()),
        largest_without=float(np.abs(left).max()),
        clear=bands.clear,
        clear_without=int((np.abs(left) > bands.critical * np.maximum(se, panel.tie_gap)).sum()),
        material_without=int((np.abs(left) - bands.critical * se > matters).sum()),
        matters=matters,
        scale=scale_of(panel),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def _halves(
    deciding: Units, units: Units, reading: Reading, draws: int, level: float, seed: int
) -> tuple[float, Array]:
    """Share of random halves of the tasks that give the same explanation, and that name each cell, (k, m)."""
    kept = half_masks(len(deciding.values), draws, seed, deciding.strata)
    found = choose_each(deciding, kept, level, seed)
    same = np.mean([r.kind == reading.kind and np.array_equal(r.named, reading.named) for r in found])
    if len(units.values) != len(deciding.values):  # a part of the tasks was fitted: its halves are no halves of all
        return float(same), np.mean([r.named for r in found], axis=0)
    shares = units.shares(kept)
    means = np.tensordot(shares / shares.sum(axis=1, keepdims=True), units.values, 1)
    lad = sparse_reading(means, units.lad)
    return float(same), np.mean([named_cells(r, x) for r, x in zip(found, lad, strict=True)], axis=0)


def without_cells(panel: Panel, cells: list[tuple[str, str]]) -> Panel:
    """The panel without the scores of some (language, judge) cells.

    A panel needs every judge in every language, so their places are filled, task by task, with what the other cells
    lead to expect when judges and languages add up. That says nothing new: they can show no deviation of their own.
    Entries whose task lacks other scores are left missing; where no tasks join the languages, an answer stands at what
    its other judges say, and the judges differ as elsewhere.
    """
    named = np.zeros(panel.shape[1:], bool)
    for cell in cells:
        named |= _one(panel, cell)
    places = np.flatnonzero(named)
    k, m = named.shape
    language, judge = np.nonzero(~named)
    design = np.hstack([language[:, None] == np.arange(k), judge[:, None] == np.arange(m)]).astype(np.float64)
    if np.linalg.matrix_rank(design) < k + m - 1:
        raise PanelError(
            "Too many cells are left out: what is left of a language or judge does not say what to expect there. Leave "
            "the whole language or judge out (--languages, --judges)."
        )
    maps = offset_maps(places, np.ones(named.shape))
    alone = identified_design(panel) == "answers"
    if alone:
        expected = estimate_interaction(panel).cells.copy()
        expected[named] -= np.tensordot(maps, expected, ((1, 2), (0, 1)))

    def filled(array: Array | None, first: int) -> Array | None:
        """`first` is the axis of languages; judges follow."""
        if array is None:
            return None
        before = np.moveaxis(array, (first, first + 1), (-2, -1))
        moved = before.copy()
        moved[..., named] -= np.tensordot(moved, maps, ((-2, -1), (1, 2)))
        if alone:
            level = mean_there(np.where(named, np.nan, before) - expected, -1, keepdims=True)
            moved = np.where(named & ~np.isnan(before), level + expected, before)
        return np.moveaxis(moved, (-2, -1), (first, first + 1))

    out = replace(panel, absent=named, observed_range=None).with_scores(  # type: ignore[arg-type]
        filled(panel.scores, 1),  # type: ignore[arg-type]
        filled(panel.replicate_scores, 1),
        filled(panel.system_scores, 2),
        filled(panel.system_replicates, 2),
    )
    note = say("panel.left-out", cells=[(str(language), str(judge)) for language, judge in cells])
    return replace(out, notes=(*panel.notes, note), declared_range=panel.declared_range)


def parse_cell(text: str, panel: Panel) -> tuple[str, str]:
    """LANGUAGE,JUDGE as two labels of the panel; labels may hold commas themselves."""
    parts = text.split(",")
    splits = [(",".join(parts[:i]).strip(), ",".join(parts[i:]).strip()) for i in range(1, len(parts))]
    for language, judge in splits:
        if language in panel.languages and judge in panel.judges:
            return language, judge
    if not splits:
        raise UsageError(
            f"A place is written LANGUAGE,JUDGE, such as {panel.languages[0]},{panel.judges[0]}, not {text!r}."
        )
    _one(panel, splits[0])  # says which of the two is unknown
    return splits[0]


def _cells(bands: Uncertainty, excess: Array, limits: Array, named: NDArray[np.bool_], matters: float) -> pd.DataFrame:
    """Sparse and double-centred reading of every cell."""
    out = bands.cells[["language", "judge"]].copy()
    out["excess"], out["low"], out["high"] = excess.ravel(), limits[0].ravel(), limits[1].ravel()
    for name in ("interaction", "band_low", "band_high"):
        out[name] = bands.cells[name]
    out["named"] = named.ravel()
    out["matter"] = [materiality(a, b, matters) for a, b in zip(out["low"], out["high"], strict=True)]
    return out


def _one(panel: Panel, cell: tuple[str, str]) -> NDArray[np.bool_]:
    """The mask of one cell, which must be in the panel."""
    language, judge = cell
    for word, asked, known in (("language", language, panel.languages), ("judge", judge, panel.judges)):
        if asked not in known:
            raise PanelError(
                f"There is no {word} {clean(asked)!r} in this panel; it has {', '.join(map(clean, known[:12]))}."
            )
    out = np.zeros(panel.shape[1:], bool)
    out[panel.languages.index(language), panel.judges.index(judge)] = True
    return out


def _gaps(values: Array, lad: Array, named: NDArray[np.bool_], kind: Kind) -> Array:
    """How far each unit's named cells are off what the other cells lead to expect: (n, k, m), 0 elsewhere."""
    out = np.zeros_like(values)
    if kind in ("judge", "language"):
        size = values.shape[2 if kind == "judge" else 1]
        return np.where(named, values * (size / (size - 1)), 0.0)
    if named.any():
        places = np.flatnonzero(named)
        out.reshape(len(values), -1)[:, places] = np.tensordot(values, offset_maps(places, lad**2), ((1, 2), (1, 2)))
    return out


def _left(values: Array, lad: Array, named: NDArray[np.bool_], kind: Kind) -> Array:
    """The interaction of every unit without the named cells."""
    if kind == "judge":
        return double_centre(values[:, :, ~named.all(axis=0)])
    if kind == "language":
        return double_centre(values[:, ~named.all(axis=1)])
    return values - double_centre(_gaps(values, lad, named, kind))


def _culprits(panel: Panel, cells: pd.DataFrame, named: NDArray[np.bool_], naming: Array) -> pd.DataFrame:
    """The numbers of the named cells, beside those of the same judge in its other languages."""
    at = np.flatnonzero(named)
    at = at[np.argsort(-cells["excess"].abs().to_numpy()[at], kind="stable")][:MOST_SHOWN]
    out = cells.iloc[at][["language", "judge", "excess", "low", "high", "interaction"]].reset_index(drop=True)
    out["share"] = naming[at]
    for name, count, of in _shares(panel):
        language, judge = np.divmod(at, panel.shape[2])
        there = of[:, judge].sum(axis=0) - of[language, judge]
        with np.errstate(divide="ignore", invalid="ignore"):
            out[name] = count[language, judge] / of[language, judge]
            out[f"{name}_elsewhere"] = (count[:, judge].sum(axis=0) - count[language, judge]) / there
    return out


def _shares(panel: Panel) -> list[tuple[str, Array, Array]]:
    """Of each cell: scores at the floor, at the ceiling and entries missing, with the number they are a share of."""
    values = panel.finest  # task, [system], language, judge, [replicate]
    first = 2 if panel.system_scores is not None else 1
    over = tuple(axis for axis in range(values.ndim) if axis not in (first, first + 1))
    gap, scale = panel.tie_gap, scale_of(panel)
    there = (~np.isnan(values)).sum(axis=over).astype(np.float64)
    # The mean of several tasks hides how many of them lie at an end.
    known = np.all(panel.weights == 1)
    ends = [(values <= scale.low + gap).sum(axis=over), (values >= scale.high - gap).sum(axis=over)]
    floor, ceiling = (np.where(known, end, np.nan) for end in ends)
    missing, asked = panel.lost.astype(np.float64), np.maximum(panel.asked, 1).astype(np.float64)
    return [("floor", floor, there), ("ceiling", ceiling, there), ("missing", missing, asked)]


def _worst(panel: Panel, gaps: Array, named: NDArray[np.bool_], cells: pd.DataFrame, most: int) -> pd.DataFrame:
    """The answers whose scores in the named cells lie furthest to the side on which the cell is off."""
    head = ["task", *(["system"] if panel.systems else []), "language", "judge", "score", "others", "expected", "gap"]
    rows: list[tuple[Any, ...]] = []
    for at in np.flatnonzero(named) if np.all(panel.weights == 1) else []:
        language, judge = divmod(int(at), panel.shape[2])
        there = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
        own, others = there[:, :, language, judge], mean_there(np.delete(there[:, :, language], judge, axis=2), 2)
        if panel.system_scores is None:
            gap = gaps[:, None, language, judge]
        else:  # an answer is measured by what its judge usually gives beside the others
            rest = mean_there(np.delete(there, judge, axis=3), 3)
            usual = np.delete(there[..., judge] - rest, language, axis=2)
            gap = own - others - float(np.nanmean(usual))
        side = np.sign(cells["excess"].iloc[at]) or 1.0
        gap = np.where(np.isnan(own), np.nan, gap)
        order = np.argsort(-side * gap, axis=None, kind="stable")[:most]
        for t, s in zip(*np.unravel_index(order, gap.shape), strict=True):
            if side * gap[t, s] > 0:
                place = (panel.tasks[t], *((panel.systems[s],) if panel.systems else ()))
                size = (own[t, s], others[t, s], own[t, s] - gap[t, s], gap[t, s])
                rows.append((*place, panel.languages[language], panel.judges[judge], *map(float, size)))
    return pd.DataFrame(rows, columns=head)


def distribution(panel: Panel, cells: NDArray[np.bool_] | None = None) -> pd.DataFrame:
    """Shares of the single scores: language, judge, low, high, share.

    cells : (k, m) cells to show in a panel of more than `MOST_CELLS`, with those around them left out

    Binary and rating scales have one step for each value (`low` equals `high`); other scales ten equal ones.
    """
    scale = scale_of(panel)
    values = panel.finest
    first = 2 if panel.system_scores is not None else 1
    values = np.moveaxis(values, (first, first + 1), (0, 1))
    k, m = values.shape[:2]
    flat = values.reshape(k, m, -1)
    if scale.kind in ("binary", "likert"):
        low = np.unique(flat[~np.isnan(flat)])
        high = low
    else:
        edges = np.linspace(scale.low, scale.high if scale.width > 0 else scale.low + 1, STEPS + 1)
        low, high = edges[:-1], edges[1:]
    shown = np.ones((k, m), bool)
    if k * m > MOST_CELLS:
        shown = np.zeros((k, m), bool) if cells is None else cells
    rows = []
    for i, j in np.argwhere(shown):
        there = flat[i, j][~np.isnan(flat[i, j])]
        step = np.maximum(np.searchsorted(low, there, side="right") - 1, 0)
        share = np.bincount(step, minlength=len(low)) / max(len(there), 1)
        rows += [
            (panel.languages[i], panel.judges[j], a, b, s) for a, b, s in zip(low, high, share.tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["language", "judge", "low", "high", "share"])
