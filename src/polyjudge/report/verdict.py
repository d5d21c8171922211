"""The verdict of an audit in three sentences: does language change the ranking, how sure, what calibrating gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyjudge.core.labels import label

if TYPE_CHECKING:
    from polyjudge.analyse.audit import Audit


def verdict(audit: Audit) -> tuple[str, str, str]:
    """Three sentences."""
    return _change(audit), _sure(audit), _gain(audit)


def _change(audit: Audit) -> str:
    r, u = audit.reversals, audit.uncertainty
    cells = f"{u.clear} of {len(u.cells)} cells of the interaction are clear of the {u.level:.0%} band over all cells"
    if r.count_selected:
        return (
            f"Language changes the ranking of the judges: {r.count_selected} of {len(r.pairs)} pairs change places "
            f"between languages, and {cells}."
        )
    if u.clear:
        return f"The judges react differently to the languages ({cells}), but no pair of judges surely changes places."
    return f"No sure sign that language changes the ranking: no pair of judges surely changes places, and {cells}."


def _sure(audit: Audit) -> str:
    r = audit.reversals
    chance = (
        f"a panel in which language and judge do not interact shows {r.count} or more reversing pairs with probability "
        f"{r.p_global:.2g}"
    )
    if r.count_selected:
        first = r.pairs[r.pairs["reverses"]].sort_values(["p_selected", "delta"], ascending=[True, False]).iloc[0]
        return (
            f"How sure: the clearest pair, {label(first['judge_i'])} and {label(first['judge_j'])} between "
            f"{label(first['language_a'])} and {label(first['language_b'])}, has an adjusted p of "
            f"{_p(first['p_selected'])} after allowing for the choice of the languages; {chance}."
        )
    turned = f"How sure: {r.count} of {len(r.pairs)} pairs change places in the means"
    if r.count and r.p_global <= r.alpha:
        return f"{turned}; none of them is sure by itself, yet {chance}."
    return f"{turned}, and {chance}."


def _gain(audit: Audit) -> str:
    unknown = "which judges and languages gain and which lose is not known without human labels"
    rows = audit.held_out.table[audit.held_out.table["method"] == "cbc"]
    if rows.empty or not np.isfinite(rows["gain"].iloc[0]):
        return f"What calibrating gains on tasks it has not seen was not measured here, and {unknown}."
    row = rows.iloc[0]
    size = f"{row['gain']:.3g} points squared [{row['gain_low']:.3g}, {row['gain_high']:.3g}]"
    if row["gain_low"] > 0:
        return (
            f"Who uses one judge drawn at random comes nearer to the panel by calibrating, by {size}; who uses the "
            f"panel mean gains nothing; {unknown}."
        )
    return (
        f"Calibrating is not advised: for one judge drawn at random it is not surely a gain ({size}), who uses the "
        f"panel mean gains nothing, and {unknown}."
    )


def _p(value: float) -> str:
    return "under 1e-15" if value < 1e-15 else f"{value:.2g}"
