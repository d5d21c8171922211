"""What the authors found later on the same scores (`data/later.json`), beside what polyjudge computes.

The logit link is told differently how far a score of 0 or 100 lies from the others: the authors cut it off at 0.0001,
polyjudge moves it half a task inwards; both are given.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logit

from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.paper.inputs import table_of
from polyjudge.second.paper.published import data
from polyjudge.second.questions.audit.orders import RankReversals
from polyjudge.second.questions.audit.pass_rates import gates, pass_rates, spread
from polyjudge.second.questions.audit.robustness import link_functions, sensitivity, spearman

CLIP = 1e-4
OWN = "logit, squeezed by half a task"
"""What polyjudge takes as the logit."""


def follow_up(panel: Panel, reversals: RankReversals, replication: str | Path | None = None) -> pd.DataFrame:
    """The authors' figures beside ours; `agrees`: ours prints as theirs."""
    theirs: dict[str, float] = data("later")["values"]
    mine = {**_gates(panel), **_left_out(panel), **_descriptions(panel), **_links(panel)}
    mine["p of the number of reversals"] = reversals.p_global
    mine |= {} if replication is None else _repeat_calls(panel, replication)
    names = [*theirs, *(name for name in mine if name not in theirs)]
    rows = [(name, theirs.get(name), mine.get(name), agrees(theirs.get(name), mine.get(name))) for name in names]
    return pd.DataFrame(rows, columns=["quantity", "authors_later", "computed", "agrees"])


def agrees(theirs: float | None, mine: float | None) -> str:
    """Whether a value prints as theirs: within half a unit of their last digit."""
    if theirs is None or mine is None:
        return ""
    unit = 10.0 ** int(Decimal(repr(theirs)).as_tuple().exponent)
    return "yes" if abs(mine - theirs) <= 0.5 * unit * (1 + 1e-9) else "no"


def _spread(panel: Panel, scores: Array, q: float) -> float:
    return float(spread(pass_rates(panel, scores > q + panel.tie_gap)[0]))


def _gates(panel: Panel) -> dict[str, float]:
    means = panel.cell_means
    beta, shift = double_centre(means), (means.mean(axis=1) - means.mean())[:, None]
    rest = panel.select(judges=[b for b in panel.judges if b != "GPT-4o"])
    out = {}
    for q in (10, 25, 50):
        for name, off in (("raw", 0.0), ("each language centred", shift), ("calibrated", beta)):
            out[f"gate {q}: spread, {name}"] = _spread(panel, panel.scores - off, q)
        for name, less in (("raw", 0.0), ("calibrated", double_centre(rest.cell_means))) if q < 50 else ():
            out[f"gate {q}: spread without GPT-4o, {name}"] = _spread(rest, rest.scores - less, q)
    rates = panel.matrix(pass_rates(panel, panel.scores > 25 + panel.tie_gap)[0] * 100)
    for language in ("Hindi", "Spanish"):
        out[f"gate 25: GPT-4o passes in {language} (%)"] = float(rates["GPT-4o"][language])
    for judge in ("GPT-4o", "Gemini", "GPT-5.4"):
        column = rates[judge].to_numpy(float)
        english = float(column[panel.languages.index("English")])
        out[f"gate 25: {judge}, localised less English"] = (float(column.sum()) - english) / (len(column) - 1) - english
    out["gate 25: reduction on left-out tasks"] = gates(panel, 25.0).held_out_reduction
    angle = np.arcsin(np.sqrt(panel.scores / 100))
    turned = 100 * np.sin(np.clip(angle - double_centre(angle.mean(axis=0)), 0, np.pi / 2)) ** 2
    out["gate 25: reduction, arcsine scale"] = _spread(panel, panel.scores, 25) - _spread(panel, turned, 25)
    return out


def _left_out(panel: Panel) -> dict[str, float]:
    beta = panel.matrix(double_centre(panel.cell_means))
    found = sensitivity(panel, resamples=100)  # for what has no interval here
    rest, cell = found.judges.set_index("judge"), found.tasks["figure"] == "max_interaction"
    low, high = found.tasks.loc[cell, ["lowest", "highest"]].to_numpy(float)[0]
    out = {}
    for b, judge in enumerate(panel.judges):
        out[f"{judge}: mean score"] = float(panel.cell_means[:, b].mean())
        out[f"{judge}: zero cells (%)"] = float((panel.scores[..., b] <= panel.tie_gap).mean() * 100)
        out[f"{judge}: largest own cell"] = float(beta[judge].abs().max())
        out[f"without {judge}: reversing pairs"] = int(rest["reversing_pairs"][judge])
        out[f"without {judge}: largest cell"] = float(rest["max_interaction"][judge])
    out["one task left out: smallest largest cell"] = float(low)
    out["one task left out: largest largest cell"] = float(high)
    return out


def _descriptions(panel: Panel) -> dict[str, float]:
    assert panel.replicate_scores is not None
    means = panel.matrix(panel.cell_means)
    shift = means.mean(axis=1) - means.to_numpy().mean()
    each = double_centre(panel.scores)
    cell = panel.languages.index("Spanish"), panel.judges.index("GPT-4o")
    frameworks = panel.replicate_scores.mean(axis=(0, 2))  # language x framework
    judged = panel.replicate_scores.mean(axis=(0, 1))  # judge x framework
    return {
        "shared shift, Hindi": float(shift["Hindi"]),
        "shared shift, Spanish": float(shift["Spanish"]),
        "shared shift, range": float(shift.max() - shift.min()),
        "tasks on which GPT-4o in Spanish is below 0": int((each[:, cell[0], cell[1]] < 0).sum()),
        "root mean square of a task's own interaction": float(np.sqrt(((each - each.mean(axis=0)) ** 2).mean())),
        "largest gap of two frameworks in a language": float(np.ptp(frameworks, axis=1).max()),
        "largest cell of judge and framework": float(np.abs(double_centre(judged)).max()),
    }


def _links(panel: Panel) -> dict[str, float]:
    linear, ours = double_centre(panel.cell_means), link_functions(panel)
    scales = {
        "arcsine": np.arcsin(np.sqrt(panel.scores / 100)),
        "percentile ranks": pd.Series(panel.scores.ravel()).rank(pct=True).to_numpy().reshape(panel.shape),
        "logit, clipped at 1e-4": logit(np.clip(panel.scores / 100, CLIP, 1 - CLIP)),
        OWN: ours["logit"](panel.scores),
    }
    out: dict[str, float] = {}
    for name, bent in scales.items():
        other = double_centre(bent.mean(axis=0))
        out[f"{name}: Spearman"] = float(spearman(linear.reshape(1, -1), other.reshape(1, -1))[0])
        out[f"{name}: sign changes"] = int((np.sign(linear) != np.sign(other))[np.abs(linear) >= 1].sum())
    return out


def _repeat_calls(panel: Panel, path: str | Path) -> dict[str, float]:
    """Sd over repeats of the same call, averaged over cells, and its ratio to the largest interaction."""
    table, _ = table_of(path, ["task", "language", "evaluator", "repeat", "score"], "replication_scores.csv")
    each = table.groupby(["language", "evaluator", "task"])["score"].std(ddof=1)
    sd = float(each.groupby(level=["language", "evaluator"]).mean().mean())
    largest = float(np.abs(double_centre(panel.cell_means)).max())
    return {"repeat calls: mean sd": sd, "repeat calls: ratio to the largest cell": sd / largest}
