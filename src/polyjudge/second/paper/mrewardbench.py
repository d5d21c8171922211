"""The M-RewardBench part of the paper: from the panel if given, from the published matrices where they suffice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.estimate.kernels import BLOCK, double_centre, mean_tau
from polyjudge.second.panel.arrays import Array, tie_gap
from polyjudge.second.panel.gold import proportional
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track
from polyjudge.second.paper import figures, ledger, published
from polyjudge.second.paper.draws import item_draws, of_draws, strata_draws, summary
from polyjudge.second.paper.ledger import REACH, Answer, Answers, Correction, Reproduction, answers_of, correction, notes
from polyjudge.second.paper.methods.btl import fit_btl, pair_counts
from polyjudge.second.paper.printed import Table, table
from polyjudge.second.report.result import Result

MATRIX = "published matrix"
PANEL = "released panel"
DRAWN, RELEASED = "sample drawn from the panel", "released sample"
MARGIN_RANGE = (-4.0, 4.0)
"""Smallest and largest margin of two scores from 1 to 5."""
GAP = tie_gap(*MARGIN_RANGE)
NEED_PANEL = "Needs the full panel: give it with --data, or let it be fetched."
NEED_SAMPLE = "Needs the human-anchor sample (give it with --anchor) or the full panel, from which it can be drawn."
FROM_MATRIX = "Computed from the published matrix of mean margins, not from the panel."
SHORT = {
    "openrouter/anthropic/claude-sonnet-4.6": "Sonnet",
    "deepseek/deepseek-v3.2": "DeepSeek",
    "openrouter/google/gemini-3-flash-preview": "Gemini",
    "openrouter/openai/gpt-4o-2024-08-06": "GPT-4o",
    "openrouter/openai/gpt-5.4": "GPT-5.4",
}
"""The judges as the paper displays them."""
STRENGTH_GAP = tie_gap(0.0, 1.0)
"""Strengths closer than this count as tied."""
METHODS = {"raw": "raw", "cbc": "CBC", "judge_aware_btl": "judge-aware BTL"}
FULL_FIT = "Full fit: after subtracting its own interaction every language ranks alike (identity I3). Not evidence."
SEVERITY = "The order of mean margins: how wide a judge's margins are, not how good the judge is."


def reproduce_mrewardbench(
    panel: Panel | None = None, sample: pd.DataFrame | None = None, *, seed: int | None = None
) -> Reproduction:
    """The published numbers of the M-RewardBench part.

    panel : of `sources.mrewardbench_panel`; without it only what follows from the published matrices is computed
    sample : of `sources.anchor_sample`; without it the sample is drawn from the panel
    seed : own random draws from this seed; without it the published seeds are used
    """
    book = published.load("mrewardbench")
    external = anchor = None
    if panel is not None:
        spec = book["held_out"]
        external = held_out(panel, spec["replicates"], spec["seed"] if seed is None else seed)
    means = external.means if external else _matrix(book, "raw_mean_margin")
    spec = book["human_anchor"]
    drawn = sample is None and panel is not None
    if sample is None and panel is not None:
        sample = draw_sample(panel, spec["sample_per_language"], spec["seed"])
    if sample is not None:
        draws = spec["seed"] if seed is None else seed
        anchor = human_anchor(sample, book["panel"]["languages"], spec["bootstrap"], draws)
    basis = PANEL if external else MATRIX
    computed = {"panel": _panel(book, panel), **_matrices(external, means), **_full_fit(book, external, means)}
    if external:
        taus: dict[str, list[Any]] = {name: list(summary(tau)) for name, tau in external.tau.items()}
        taus["cbc"][0] = Answer(taus["cbc"][0], _gain_text(external), basis=basis)
        computed["held_out"] = taus
    given = answers_of(computed, basis)
    if anchor:
        given |= answers_of({"human_anchor": _anchor(spec, anchor, drawn)}, DRAWN if drawn else RELEASED)
    lacking = {
        path: Answer(None, reading=NEED_SAMPLE if path[0] == "human_anchor" else NEED_PANEL)
        for path, _ in published.leaves(book)
        if (anchor if path[0] == "human_anchor" else external) is None
    }
    names = [row["language"] for row in spec["by_language"]]
    answers = ledger.worded("mrewardbench", lacking | given, {"human_anchor": names})
    if seed is not None:
        answers = ledger.scattered(answers, _scatter(external, anchor))
    note = "" if external else "From the published matrix of mean margins, not from the panel."
    more = () if external else ("The panel was not given. Rows marked so come from the published matrices.",)
    return Reproduction(
        ledger=ledger.settle("mrewardbench", answers),
        corrections=_corrections(means, external, anchor),
        tables=(
            _external_table(book, external, answers),
            *(() if anchor is None else (table("mrewardbench", "human_anchor", anchor.by_language),)),
        ),
        figures={
            "external_ranks_before_after": lambda: figures.before_after(
                means.rename(columns=SHORT), GAP, "Ranks of the judges, M-RewardBench", "margin", note
            )
        },
        inputs={"panel": "not given" if panel is None else panel.fingerprint},
        notes=(*notes(seed), *more),
    )


@dataclass(frozen=True, kw_only=True)
class External:
    """Mean margins and BTL strengths (language x judge) of all items; tau by method and gain of every resample."""

    means: pd.DataFrame
    btl: pd.DataFrame
    tau: dict[str, Array]
    gain: Array


def available_means(panel: Panel, weights: Array) -> Array:
    """Weighted mean over the units that have a score, for every row of weights (R, n): (R, k, m)."""
    n, k, m = panel.shape
    there = ~np.isnan(panel.scores)
    total = weights @ np.where(there, panel.scores, 0.0).reshape(n, k * m)
    count = weights @ there.reshape(n, k * m).astype(float)
    return (total / count).reshape(-1, k, m)


def held_out(panel: Panel, resamples: int, seed: int) -> External:
    """Raw, CBC and judge-aware BTL: trained on drawn items, evaluated on the left-out ones.

    See docs/methods.md, sections 7 and 11.
    """
    gap = panel.tie_gap
    n = len(panel.tasks)
    tau: dict[str, list[Array]] = {"raw": [], "cbc": [], "judge_aware_btl": []}
    gains = []
    whole = fit_btl(*pair_counts(panel, np.ones((1, n))))
    draws = item_draws(panel.tasks, resamples, seed)
    starts = range(0, resamples, BLOCK)
    for drawn in track((draws[s : s + BLOCK] for s in starts), len(starts), "left-out items"):
        held = (drawn == 0).astype(float)
        train, left = available_means(panel, drawn.astype(float)), available_means(panel, held)
        beta, own = double_centre(train), double_centre(left)
        tau["raw"].append(mean_tau(left, gap))
        tau["cbc"].append(mean_tau(left - beta, gap))
        strength = fit_btl(*pair_counts(panel, held), start=whole)[0]
        tau["judge_aware_btl"].append(mean_tau(strength, STRENGTH_GAP))
        gains.append((2 * own * beta - beta**2).mean(axis=(1, 2)))
    return External(
        means=panel.matrix(available_means(panel, np.ones((1, n)))[0]),
        btl=panel.matrix(whole[0][0]),
        tau={name: np.concatenate(parts) for name, parts in tau.items()},
        gain=np.concatenate(gains),
    )


def _matrix(book: dict[str, Any], name: str) -> pd.DataFrame:
    return pd.DataFrame(book[name]).T


def missing_behind(means: pd.DataFrame, items: int) -> int:
    """How many margins are missing, read off the means: whole margins add up to a whole number over those present.

    The smallest number of gaps in each cell under which its mean is a whole number over the rest.
    """
    count = np.arange(items, items // 2, -1)
    total = means.to_numpy()[..., None] * count
    whole = np.abs(total - np.round(total)) < 1e-8
    return int(whole.argmax(axis=-1).sum())


def _panel(book: dict[str, Any], panel: Panel | None) -> dict[str, Any]:
    if panel is None:
        matrix = _matrix(book, "raw_mean_margin")
        why = "Fewest gaps under which each published mean is a whole sum of margins over the rest."
        missing = Answer(missing_behind(matrix, book["panel"]["items_per_language"]), basis=MATRIX, reading=why)
        return {"languages": list(matrix.index), "judges": list(matrix.columns), "missing_margins": missing}
    n, k, m = panel.shape
    return {
        "languages": list(panel.languages),
        "judges": list(panel.judges),
        "items_per_language": n,
        "language_item_instances": n * k,
        "judged_pairs": n * k * m,
        "subsets": {name: len(panel.slice(name).tasks) for name in book["panel"]["subsets"]},
        "missing_margins": int(np.isnan(panel.scores).sum()),
    }


def _matrices(external: External | None, means: pd.DataFrame) -> dict[str, Any]:
    beta = pd.DataFrame(double_centre(means.to_numpy()), means.index, means.columns)
    if external is not None:
        tables = {"beta_hat": beta, "raw_mean_margin": external.means, "judge_aware_btl": external.btl}
        return {name: table.T.to_dict() for name, table in tables.items()}
    why = "Double centring of the published means, against the published matrix: two releases that agree."
    return {"beta_hat": beta.map(lambda cell: Answer(cell, basis=MATRIX, reading=why)).T.to_dict()}


def _full_fit(book: dict[str, Any], external: External | None, means: pd.DataFrame) -> dict[str, Any]:
    matrix, basis, note = means.to_numpy(), PANEL if external else MATRIX, "" if external else FROM_MATRIX
    btl = external.btl if external else _matrix(book, "judge_aware_btl")
    of_btl = "" if external else "Computed from the published matrix of BTL strengths, not from the panel."
    fits = {
        name: Answer(float(mean_tau(cells[None], GAP)[0]), basis=basis, reading=reading)
        for name, cells, reading in (
            ("raw", matrix, note),
            ("judge_aware_btl", btl.to_numpy(), of_btl),
            ("cbc", matrix - double_centre(matrix), FULL_FIT),
        )
    }
    order = means.columns[np.argsort(-matrix.mean(axis=0), kind="stable")]
    reading = f"{SEVERITY} {note}".strip()
    return {"full_fit": fits, "calibrated_order": [Answer(str(b), basis=basis, reading=reading) for b in order]}


def _anchor(spec: dict[str, Any], anchor: HumanAnchor, drawn: bool) -> dict[str, Any]:
    """`drawn`: the sample comes from the panel. Which of its ties rounding tips then depends on the order of sums."""
    table: dict[str, dict[str, int]] = anchor.by_language.set_index("language").to_dict("index")  # type: ignore[assignment]
    total, basis = table.pop("all"), DRAWN if drawn else RELEASED
    rows = total["rows"]
    why = (
        f"{total['counted']} ties became about 1e-17 by rounding and were counted as agreement; with a tie tolerance "
        f"agreement is {total['raw']} before and {total['calibrated']} of {rows} after. Retracted by the authors "
        f"(docs/RELEASE_AUDIT.md)."
    )
    change = f"{anchor.intervals['gain'][0]:.1%} ({total['changed']} of {rows} decisions changed)"
    artefact = Answer(None, kind="artefact", basis=basis, reading=why, scatter=_tips(total) if drawn else 0.0)
    overall: dict[str, Answer] = {}
    for name, key, instead in (
        ("raw", "raw_published", ""),
        ("cbc", "calibrated_published", _rate(anchor, "calibrated")),
        ("gain", "gain_published", change),
    ):
        ends = (name if name == "gain" else f"{name}_agreement", f"{name}_ci_low", f"{name}_ci_high")
        more = Answer(None, basis=basis) if name == "raw" else replace(artefact, corrected=instead)
        overall |= {end: replace(more, value=x) for end, x in zip(ends, anchor.intervals[key], strict=True)}
    by_language = []
    for language, row in zip(sorted(table), spec["by_language"], strict=True):
        mine = table[row["language"]]
        n = mine["rows"]
        same = mine["calibrated_published"] == mine["calibrated"]
        ties = f" ({mine['counted']} of {n} were ties)" if mine["counted"] else ""
        calibrated = Answer(
            mine["calibrated_published"] / n,
            f"{mine['calibrated'] / n:.0%}{ties}",
            kind="identity" if same else "artefact",
            basis=basis,
            reading="Equal to the raw agreement by identity I1." if same else "Rounding turned ties into agreement.",
            scatter=_tips(mine) if drawn else 0.0,
        )
        share = mine["raw_published"] / n
        by_language.append({"language": language, "raw_agreement": share, "cbc_agreement": calibrated})
    return {
        "sample_per_language": rows / len(table),
        "strata": {name: anchor.strata[name] / len(table) for name in spec["strata"]},
        "overall": overall,
        "by_language": by_language,
    }


def _tips(row: dict[str, int]) -> float:
    """The scatter under which all ties may lie on the other side."""
    return row["ties"] / row["rows"] / (REACH * 2**0.5)


def _scatter(external: External | None, anchor: HumanAnchor | None) -> dict[str, float]:
    """What independent draws scatter, measured on the draws at hand."""
    out: dict[str, float] = {}
    for name, values in external.tau.items() if external else ():
        out |= {f"held_out > {name} > {i}": sd for i, sd in enumerate(of_draws(values))}
    for name, values in anchor.published_draws.items() if anchor else ():
        _, low, high = of_draws(values)
        out |= {f"human_anchor > overall > {name}_ci_low": low, f"human_anchor > overall > {name}_ci_high": high}
    return out


def _rate(anchor: HumanAnchor, name: str) -> str:
    rate, low, high = anchor.intervals[name]
    return f"{rate:.1%} [{low:.1%}, {high:.1%}]"


def _gain_text(external: External) -> str:
    mean, low, high = summary(external.gain)
    return (
        f"label-free accuracy gain on left-out items {mean:.4f} [{low:.4f}, {high:.4f}] squared margin points, "
        f"above 0 in {(external.gain > 0).mean():.1%} of resamples"
    )


def _corrections(means: pd.DataFrame, external: External | None, anchor: HumanAnchor | None) -> tuple[Correction, ...]:
    square = float((double_centre(means.to_numpy()) ** 2).mean())
    held = _gain_text(external) if external else "held out it needs the panel"
    retracted = []
    if anchor is not None:
        total = anchor.by_language.set_index("language").loc["all"]
        rates = {name: _rate(anchor, name) for name in ("raw", "calibrated")}
        retracted.append(correction("m-retracted", total=total, proof=anchor.proof, **rates))
    return (
        *retracted,
        correction("m-instead", square=square, held=held),
        correction("m-agree", full_fit=FULL_FIT),
        correction("m-order", severity=SEVERITY),
    )


def _external_table(book: dict[str, Any], external: External | None, answers: Answers) -> Table:
    rows = []
    for name, word in METHODS.items():
        new = (*summary(external.tau[name]), answers["full_fit", name].value) if external else (None,) * 4
        rows.append((word, *book["held_out"][name], book["full_fit"][name], *new))
    columns = ["method", *(f"{x}_{w}" for w in ("published", "computed") for x in ("tau", "low", "high", "full_fit"))]
    more = "" if external else " Computed values need the panel."
    return table("mrewardbench", "external_validation", pd.DataFrame(rows, columns=columns), more=more)


# --- the human-anchor check, end to end: a gain of 55 decisions that rounding made (docs/methods.md, section 12) ---

PROOF = (
    "Identity I1: the interaction sums to zero over judges, so the mean over judges of S - beta is the mean over "
    "judges of S, for every item and language. The panel-mean decision cannot change; where it seems to, rounding "
    "decided a tie."
)


class HumanAnchor(Result):
    """Agreement of the panel-mean decision with the human preference, as published and with a tie tolerance.

    `by_language` ends with the row "all": rows, agreement counts as published (raw_published, calibrated_published) and
    with the tolerance (raw, calibrated), `ties` (exact ties of the raw margin), `rounding` (ties that rounding gave a
    sign: a margin of 0 became about 1e-17), `counted` (those of them that were then counted as agreement), `shifted`
    (margins that moved by more than the tolerance: items that lack a judge's score, so that I1 does not bind),
    `changed` (decisions that changed by more than the tolerance).
    `intervals`: rate, low and high of each agreement and gain: bootstrap over items inside language and subset.
    """

    by_language: pd.DataFrame
    intervals: dict[str, tuple[float, float, float]]
    strata: dict[str, int]
    """Sampled items of each subset, over all languages."""
    tolerance: float
    resamples: int
    seed: int
    published_draws: dict[str, Array]
    """Agreement as published in every resample: raw, cbc, gain."""
    proof: str = PROOF


def draw_sample(panel: Panel, per_language: int = 100, seed: int = 107) -> pd.DataFrame:
    """The sampled items of the check, drawn from the panel as published, with the panel-mean margin before and after.

    In each language every subset gives its share of items (largest remainder), without replacement. The columns are
    those of `sources.anchor_sample`.
    """
    assert panel.grouping is not None
    assert panel.grouping.task is not None
    rng = np.random.default_rng(seed)
    by_name = np.argsort(np.array(panel.tasks), kind="stable")
    subset = panel.grouping.task[by_name]
    size = proportional(np.bincount(subset, minlength=len(panel.grouping.labels)), per_language)
    beta = double_centre(np.nanmean(panel.scores, axis=0))
    parts = []
    for language in sorted(panel.languages):
        l = panel.languages.index(language)  # noqa: E741
        for s in np.argsort(panel.grouping.labels):
            members = by_name[subset == s]
            chosen = members[rng.choice(len(members), size[s], replace=False)]
            margins = panel.scores[chosen, l]
            part = pd.DataFrame({"item": [panel.tasks[i] for i in chosen], "subset": panel.grouping.labels[s]})
            part["language"] = language
            part["raw_margin"] = np.nanmean(margins, axis=1)
            part["cbc_margin"] = np.nanmean(margins - beta[l], axis=1)
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def human_anchor(sample: pd.DataFrame, languages: list[str], resamples: int = 1000, seed: int = 107) -> HumanAnchor:
    """The check on the authors' sample (columns of `sources.anchor_sample`)."""
    raw, calibrated = (sample[name].to_numpy(float) for name in ("raw_margin", "cbc_margin"))
    decision, after = (np.where(np.abs(x) <= GAP, 0, np.sign(x)) for x in (raw, calibrated))
    facts = pd.DataFrame(
        {
            "language": sample["language"].to_numpy(),
            "rows": 1,
            # As published: the bare sign of a floating-point mean.
            "raw_published": raw > 0,
            "calibrated_published": calibrated > 0,
            "raw": decision > 0,
            "calibrated": after > 0,
            "ties": decision == 0,
            "rounding": (np.sign(raw) != np.sign(calibrated)) & (decision == after),
            "counted": (raw <= 0) & (calibrated > 0) & (decision == after),
            "shifted": np.abs(calibrated - raw) > GAP,
            "changed": decision != after,
        }
    )
    table = facts.groupby("language").sum().loc[languages]
    table.loc["all"] = table.sum()
    table = table.astype(np.int64).reset_index()
    # Items with replacement inside each language and subset, as sampled.
    strata = np.asarray(sample.groupby(["language", "subset"]).ngroup(), dtype=np.int64)
    flags = facts[["raw_published", "calibrated_published", "raw", "calibrated"]].astype(float)
    rates = pd.DataFrame(strata_draws(strata, resamples, seed) @ flags.to_numpy() / len(flags), columns=flags.columns)
    rates = pd.concat([flags.mean().to_frame().T, rates])
    rates = rates.assign(
        gain_published=rates["calibrated_published"] - rates["raw_published"], gain=rates["calibrated"] - rates["raw"]
    )
    each = {name: column.to_numpy() for name, column in rates.items()}  # the sample itself, then the draws
    return HumanAnchor(
        by_language=table,
        intervals={str(name): (float(x[0]), *summary(x[1:])[1:]) for name, x in each.items()},
        strata={str(k): int(v) for k, v in sample["subset"].value_counts().items()},
        tolerance=GAP,
        resamples=resamples,
        seed=seed,
        published_draws={
            short: each[f"{name}_published"][1:]
            for short, name in (("raw", "raw"), ("cbc", "calibrated"), ("gain", "gain"))
        },
    )
