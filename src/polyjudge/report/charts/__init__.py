"""Charts: one function each, results in and a Vega-Lite picture out, for page, notebooks and files alike."""

from dataclasses import replace
from weakref import WeakKeyDictionary

from polyjudge.report.charts.grids import (
    MOST_PAIRS,
    deviations,
    helped_grid,
    interaction_heatmap,
    pair_gaps,
    pass_rates,
    score_shares,
    signal_heatmap,
)
from polyjudge.report.charts.lines import (
    bars,
    curves,
    few_shot_curve,
    frontier,
    gate_sweep,
    intervals,
    rank_intervals,
    rank_lines,
    rank_probabilities,
    ranks_before_after,
    variance_shares,
)
from polyjudge.report.charts.vega import Picture
from polyjudge.report.fit import Tongue
from polyjudge.report.sections import Chart

__all__ = [
    "MOST_PAIRS",
    "bars",
    "curves",
    "deviations",
    "draw",
    "few_shot_curve",
    "frontier",
    "gate_sweep",
    "helped_grid",
    "interaction_heatmap",
    "intervals",
    "pair_gaps",
    "pass_rates",
    "rank_intervals",
    "rank_lines",
    "rank_probabilities",
    "ranks_before_after",
    "score_shares",
    "signal_heatmap",
    "variance_shares",
]


_drawn: WeakKeyDictionary[Chart, list[Picture]] = WeakKeyDictionary()


def draw(block: Chart) -> list[Picture]:
    """The pictures of a chart. The page and the saved figures share them."""
    if block not in _drawn:
        drawn = [globals()[block.draw](**data) for data in block.data]
        words = Tongue(block.noun, block.unit)
        _drawn[block] = [replace(p, spec=words.picture(p.spec)) for p in drawn]
    return _drawn[block]
