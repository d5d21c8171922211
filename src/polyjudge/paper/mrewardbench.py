"""The paper's numbers on the M-RewardBench panel (section 5.5, Tables 4 and 5, Figure 3): from the authors' panel of
margins where it is given, else what their published matrices (claims.csv) allow. `values` returns them by its keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.base.text import name
from polyjudge.paper import protocols
from polyjudge.paper.devai import array_of, read_csv
from polyjudge.paper.protocols import Array, Counts, draws, summary

LANGUAGES = ("eng_Latn", "arb_Arab", "tur_Latn", "zho_Hans", "hin_Deva", "jpn_Jpan", "spa_Latn")
JUDGES = (
    "openrouter/anthropic/claude-sonnet-4.6",
    "deepseek/deepseek-v3.2",
    "openrouter/google/gemini-3-flash-preview",
    "openrouter/openai/gpt-4o-2024-08-06",
    "openrouter/openai/gpt-5.4",
)
SUBSETS = ("alpacaeval-easy", "alpacaeval-hard")
TINY = 8e-9
"""Margins run from -4 to 4."""


class Margins(NamedTuple):
    """scores : (items, languages, judges) chosen less rejected, NaN where missing; subset : (items,) of `SUBSETS`"""

    scores: Array
    items: tuple[str, ...]
    subset: Counts


def read_margins(path: str | Path) -> Margins:
    """The released pilot_complete_panel.csv."""
    columns = ("item_id", "subset", "language", "evaluator_model", "margin")
    table = read_csv(path, columns, "pilot_complete_panel.csv")
    subsets = table.drop_duplicates("item_id").set_index("item_id")["subset"]
    items = tuple(map(str, subsets.index))
    keys = ("item_id", "language", "evaluator_model")
    scores = array_of(table, keys, (subsets.index, LANGUAGES, JUDGES), "margin", path)
    known = pd.Index(SUBSETS).get_indexer(pd.Index(subsets))
    if (known < 0).any() or np.nanmax(np.abs(scores)) > 4:
        raise PanelError(f"{name(path, 200)} has margins outside -4 to 4, or other subsets than {', '.join(SUBSETS)}.")
    return Margins(scores, items, known.astype(np.int64))


def values(
    margins: Margins | None, sample: pd.DataFrame | None, published: dict[str, Any], seed: int = 0
) -> dict[str, Any]:
    """Every number of claims.csv that these inputs give. seed 0: the authors' own draws.

    published : the claims' printed values, for the matrices; margins that are given take their place
    """
    matrix, btl = (array_by_name(published[x]) for x in ("raw_mean_margin", "judge_aware_btl"))
    out: dict[str, Any] = {
        "panel": {"languages": LANGUAGES, "judges": JUDGES, "missing_margins": missing_behind(matrix, 1500)}
    }
    if margins is not None:
        n, k, m = margins.scores.shape
        matrix, (btl, held_out) = cbc.cell_means(margins.scores), table_4(margins, 7 if seed == 0 else seed)
        out["panel"] |= {
            "items_per_language": n, "language_item_instances": n * k, "judged_pairs": n * k * m,
            "subsets": {x: int((margins.subset == s).sum()) for s, x in enumerate(SUBSETS)},
            "missing_margins": int(np.isnan(margins.scores).sum()),
        }  # fmt: skip
        out |= {"raw_mean_margin": by_name(matrix), "judge_aware_btl": by_name(btl), "held_out": held_out}
        sample = draw_sample(margins) if sample is None else sample
    beta = cbc.double_centre(matrix)
    fits = {"raw": matrix, "cbc": matrix - beta, "judge_aware_btl": btl}
    order = np.argsort(-matrix.mean(0), kind="stable")
    out |= {
        "beta_hat": by_name(beta),
        "full_fit": {x: float(cbc.mean_tau(cells, TINY)) for x, cells in fits.items()},
        "calibrated_order": [JUDGES[b] for b in order],
    }
    return out if sample is None else out | {"human_anchor": table_5(sample, 107 if seed == 0 else seed)}


def by_name(cells: Array) -> dict[str, dict[str, float]]:
    """A matrix as {language: {judge: value}}."""
    return {x: dict(zip(JUDGES, map(float, row), strict=True)) for x, row in zip(LANGUAGES, cells, strict=True)}


def array_by_name(cells: dict[str, dict[str, Any]]) -> Array:
    """{language: {judge: value}} as a matrix."""
    return np.array([[float(cells[x][b]) for b in JUDGES] for x in LANGUAGES])


def missing_behind(means: Array, items: int) -> int:
    """How many margins are missing, read off the means: the fewest in each cell with which its mean is a whole sum."""
    count = np.arange(items, items // 2, -1)
    total = means[..., None] * count
    return int((np.abs(total - np.round(total)) < 1e-8).argmax(-1).sum())


def table_4(margins: Margins, seed: int, replicates: int = 1000) -> tuple[Array, dict[str, list[float]]]:
    """Table 4: BTL strengths of all items; held-out tau of raw, CBC and judge-aware BTL with their intervals."""
    n = len(margins.scores)
    drawn = np.empty((replicates, n), np.int64)
    drawn[:, np.argsort(np.array(margins.items), kind="stable")] = draws(n, replicates, seed)
    strength = protocols.btl(*protocols.wins(margins.scores, np.ones((1, n)), margins.subset, TINY))[0]
    taus: dict[str, list[Array]] = {"raw": [], "cbc": [], "judge_aware_btl": []}
    for start in range(0, replicates, 100):
        s = cbc.split(margins.scores, drawn[start : start + 100], tiny=TINY)
        left = protocols.btl(*protocols.wins(margins.scores, s.held, margins.subset, TINY))
        found = (*(cbc.held_out(s)[x] for x in ("raw", "cbc")), cbc.mean_tau(left, 1e-9))
        for part, values in zip(taus.values(), found, strict=True):
            part.append(values)
    return strength, {x: list(summary(np.concatenate(part))) for x, part in taus.items()}


# --- Table 5: the human anchor, and why its gain is no gain (METHODS 12 and 16) ---

SAMPLE = ("item", "subset", "language", "raw_margin", "cbc_margin")


def read_sample(path: str | Path) -> pd.DataFrame:
    """The released human_anchor_sample.csv: margins of the panel's mean before and after calibrating."""
    sample = read_csv(path, SAMPLE, "human_anchor_sample.csv")
    if set(sample["language"]) != set(LANGUAGES) or not np.isfinite(sample[list(SAMPLE[3:])].to_numpy(float)).all():
        raise PanelError(f"{name(path, 200)} has other languages than the paper's sample, or margins missing.")
    return sample


def draw_sample(margins: Margins, per_language: int = 100, seed: int = 107) -> pd.DataFrame:
    """The sampled items, drawn from the panel as published: in each language each subset gives its share (largest
    remainder), without replacement."""
    rng = np.random.default_rng(seed)
    beta = cbc.double_centre(cbc.cell_means(margins.scores))  # 35 margins are missing: as published, of what is there
    order = np.argsort(np.array(margins.items), kind="stable")
    share = np.bincount(margins.subset, minlength=2) * per_language / len(margins.items)
    size = np.floor(share).astype(int)
    size[np.argsort(size - share, kind="stable")[: per_language - size.sum()]] += 1
    parts = []
    for language in sorted(LANGUAGES):
        at = LANGUAGES.index(language)
        for s, subset in enumerate(SUBSETS):
            members = order[margins.subset[order] == s]
            chosen = members[rng.choice(len(members), size[s], replace=False)]
            part = pd.DataFrame({"item": [margins.items[i] for i in chosen], "subset": subset, "language": language})
            scores = margins.scores[chosen, at]
            parts.append(part.assign(raw_margin=np.nanmean(scores, 1), cbc_margin=np.nanmean(scores - beta[at], 1)))
    return pd.concat(parts, ignore_index=True)


def anchor(sample: pd.DataFrame) -> pd.DataFrame:
    """Decisions of the panel's mean in each language and in "all": rows, how many agree with people as published (the
    bare sign of a floating-point mean) and with a tie tolerance, ties, those that rounding turned, those changed."""
    raw, calibrated = (sample[x].to_numpy(float) for x in SAMPLE[3:])
    before, after = (np.where(np.abs(x) <= TINY, 0, np.sign(x)) for x in (raw, calibrated))
    facts = pd.DataFrame(
        {
            "language": sample["language"].to_numpy(), "rows": 1,
            "raw_published": raw > 0, "cbc_published": calibrated > 0, "raw": before > 0, "cbc": after > 0,
            "ties": before == 0, "turned": (np.sign(raw) != np.sign(calibrated)) & (before == after),
            "counted": (raw <= 0) & (calibrated > 0) & (before == after),
            "moved": np.abs(calibrated - raw) > TINY, "changed": before != after,
        }
    )  # fmt: skip
    table = facts.groupby("language").sum().loc[sorted(LANGUAGES)]
    table.loc["all"] = table.sum()
    return table.astype(np.int64).reset_index()


def table_5(sample: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Table 5 as published: agreement of the bare signs, intervals by items drawn inside language and subset."""
    table, rows = anchor(sample), len(sample)
    group = sample.groupby(["language", "subset"]).ngroup().to_numpy()
    rng, members = np.random.default_rng(seed + 1), [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    signs = np.stack([sample[x].to_numpy(float) > 0 for x in SAMPLE[3:]], 1).astype(float)
    drawn = np.array(
        [signs[np.concatenate([at[rng.choice(len(at), len(at))] for at in members])].mean(0) for _ in range(1000)]
    )
    overall: dict[str, float] = {}
    rates = {"raw": (signs[:, 0].mean(), drawn[:, 0]), "cbc": (signs[:, 1].mean(), drawn[:, 1])}
    rates["gain"] = rates["cbc"][0] - rates["raw"][0], drawn[:, 1] - drawn[:, 0]
    for x, (rate, again) in rates.items():
        _, low, high = summary(again)
        overall |= {x if x == "gain" else f"{x}_agreement": float(rate), f"{x}_ci_low": low, f"{x}_ci_high": high}
    per = rows // len(LANGUAGES)
    each = table.iloc[:-1]
    return {
        "sample_per_language": per,
        "strata": {x: float((sample["subset"] == x).sum() / len(LANGUAGES)) for x in SUBSETS},
        "overall": overall,
        "by_language": [
            {"language": x, "raw_agreement": raw / of, "cbc_agreement": calibrated / of}
            for x, of, raw, calibrated in zip(
                each["language"], each["rows"], each["raw_published"], each["cbc_published"], strict=True
            )
        ],
    }
