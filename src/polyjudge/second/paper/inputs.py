"""Reading the authors' files. Each is checked by its content before a number is computed from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.files import read_csv
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Grouping, Panel
from polyjudge.second.paper import published

DEVAI_COLUMNS = ["backbone", "language", "framework", "task", "score"]
MREWARDBENCH_COLUMNS = ["item_id", "subset", "language", "evaluator_model", "margin"]
ANCHOR_COLUMNS = ["item", "subset", "language", "raw_margin", "cbc_margin", "raw_correct", "cbc_correct"]
OWN = "For a panel of your own: polyjudge paper report SCORES."
SAME_CELL = 1e-9
"""Interaction cells of the right file agree with the published ones to this many points."""


def devai_panel(path: str | Path) -> Panel:
    """The DevAI panel: 55 tasks x 8 languages x 6 judges x 3 replicates, its 48 interaction cells as published."""
    expected = published.load("devai")
    table, where = table_of(path, DEVAI_COLUMNS, "run_level_scores.csv")
    shape = expected["panel"]
    for word, name in (("languages", "language"), ("judges", "backbone"), ("replicates", "framework")):
        _same_labels(where, word, table[name].unique(), shape[word])
    tasks = table["task"].unique()
    score = pd.to_numeric(table["score"], errors="coerce")
    axes = [tasks, shape["languages"], shape["judges"], shape["replicates"]]
    keys = ["task", "language", "backbone", "framework"]
    counts = ("tasks", "rows", "scores from 0 to 100", "rows that stand twice")
    found = len(tasks), len(table), int(score.between(0, 100).sum()), int(table.duplicated(keys).sum())
    released = shape["tasks"], shape["runs"], shape["runs"], 0
    _same_counts(where, *(dict(zip(counts, values, strict=True)) for values in (found, released)))
    array = array_of(table.assign(score=score), keys, axes, "score")
    panel = Panel.from_array(array, *axes, declared_range=(0.0, 100.0))
    cells = panel.matrix(double_centre(panel.cell_means))
    wanted = pd.DataFrame(expected["beta_hat"]).T.loc[cells.index, cells.columns]
    off = (cells - wanted).abs().to_numpy()
    if off.max() > SAME_CELL:
        l, b = (int(i) for i in np.unravel_index(off.argmax(), off.shape))  # noqa: E741
        raise PanelError(
            f"{where} has the right shape, but {int((off > SAME_CELL).sum())} of {off.size} interaction cells are not "
            f"the published ones (furthest: {panel.languages[l]} x {panel.judges[b]}, {cells.to_numpy()[l, b]:.6f} "
            f"against {wanted.to_numpy()[l, b]:.6f}). It is not the released file, or comes from another commit. {OWN}"
        )
    return panel


def mrewardbench_panel(path: str | Path) -> Panel:
    """The M-RewardBench panel: margins of 1,500 items x 7 languages x 5 judges, subsets as groups, gaps kept."""
    expected = published.load("mrewardbench")["panel"]
    table, where = table_of(path, MREWARDBENCH_COLUMNS, "pilot_complete_panel.csv")
    margin = pd.to_numeric(table["margin"], errors="coerce")
    if margin.isna().sum() != table["margin"].isna().sum() or np.isinf(margin).any():
        bad = table.index[(margin.isna() & table["margin"].notna()) | np.isinf(margin)][0]
        raise PanelError(f"{where}: the margin in line {bad + 2} is not a number.")
    if (margin.abs() > 4).any():
        raise PanelError(f"{where}: a margin is outside -4..4, which two scores of 1 to 5 cannot give.")
    _same_labels(where, "languages", table["language"].unique(), expected["languages"])
    _same_labels(where, "judges", table["evaluator_model"].unique(), expected["judges"])
    keys = ["item_id", "language", "evaluator_model"]
    subsets = table.drop_duplicates("item_id").set_index("item_id")["subset"]
    axes = [subsets.index, expected["languages"], expected["judges"]]
    counts = ("rows", "rows that stand twice", "rows without a margin", "items")
    found = len(table), int(table.duplicated(keys).sum()), int(margin.isna().sum()), len(subsets)
    items = expected["items_per_language"]
    released = items * len(axes[1]) * len(axes[2]), 0, expected["missing_margins"], items
    parts = (found, subsets.value_counts()), (released, expected["subsets"])
    _same_counts(where, *({**dict(zip(counts, values, strict=True)), **of} for values, of in parts))
    array = array_of(table.assign(margin=margin), keys, axes, "margin")
    labels = tuple(expected["subsets"])
    group = Grouping("subset", labels, subsets.map(labels.index).to_numpy(np.int64))
    return Panel.from_array(array, *axes, grouping=group, declared_range=(-4.0, 4.0))


def anchor_sample(path: str | Path) -> pd.DataFrame:
    """The 700 sampled item-language rows of the human-anchor check, as the authors computed them."""
    expected = published.load("mrewardbench")
    sample, where = table_of(path, ANCHOR_COLUMNS, "human_anchor_sample.csv")
    for name in ANCHOR_COLUMNS[3:]:
        sample[name] = pd.to_numeric(sample[name], errors="coerce")
    if not np.isfinite(sample[ANCHOR_COLUMNS[3:]].to_numpy(float)).all():
        raise PanelError(f"{where}: a margin or an agreement flag is missing or not a number.")
    _same_labels(where, "languages", sample["language"].unique(), expected["panel"]["languages"])
    strata = sample.groupby(["language", "subset"]).size()
    wanted = expected["human_anchor"]["strata"]
    if any(dict(strata[language]) != wanted for language in expected["panel"]["languages"]):
        raise PanelError(
            f"{where} has {len(sample)} rows; the sample has {sum(wanted.values())} rows in each language "
            f"({', '.join(f'{k}: {v}' for k, v in wanted.items())}). It may be cut: get it again."
        )
    return sample


def table_of(path: str | Path, names: list[str], original: str) -> tuple[pd.DataFrame, str]:
    """A CSV file with these columns, and its name to be shown. `original`: what the released one is called."""
    where, table = clean(str(path), 300), read_csv(path)
    lacking = [n for n in names if n not in table.columns]
    if lacking:
        raise PanelError(
            f"{where} has no column {', '.join(lacking)}; it has "
            f"{', '.join(clean(c) for c in table.columns[:12])}. The released {original} has them: pass it unchanged. "
            f"{OWN}"
        )
    return table, where


def array_of(table: pd.DataFrame, keys: list[str], axes: list[Any], value: str) -> Array:
    """A long table without duplicates as an array with the given labels along its axes."""
    out: Array = np.full([len(a) for a in axes], np.nan)
    codes = tuple(pd.Index(a).get_indexer(pd.Index(table[k])) for k, a in zip(keys, axes, strict=True))
    out[codes] = table[value].to_numpy(float)
    return out


def _same_counts(where: str, found: dict[str, int], wanted: dict[str, int]) -> None:
    if found != wanted:
        have, should = (", ".join(f"{clean(k)}: {v}" for k, v in counts.items()) for counts in (found, wanted))
        raise PanelError(f"{where} has {have}; the released file has {should}. It may be cut: get it again. {OWN}")


def _same_labels(where: str, word: str, found: Any, wanted: list[str]) -> None:
    if set(found) != set(wanted):
        strange = sorted(map(str, set(found) ^ set(wanted)))
        raise PanelError(
            f"{where}: its {word} are not those of the released file ({', '.join(clean(s) for s in strange[:6])} "
            f"stand in one but not in the other). It may be cut or changed: get it again. {OWN}"
        )
