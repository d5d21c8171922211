"""The M-RewardBench part of the paper: from the panel if given, from the published matrices where they suffice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.estimate.kernels import BLOCK, double_centre, mean_tau
from polyjudge.panel.arrays import Array, tie_gap
from polyjudge.panel.panel import Panel
from polyjudge.panel.progress import track
from polyjudge.paper import figures, ledger, published
from polyjudge.paper.anchor_check import MARGIN_RANGE, HumanAnchor, draw_sample, human_anchor
from polyjudge.paper.draws import item_draws, of_draws, summary
from polyjudge.paper.ledger import Answer, Answers, Correction, Reproduction, correction, notes, value, within
from polyjudge.paper.methods.btl import fit_btl, pair_counts
from polyjudge.paper.printed import Table, table

MATRIX = "published matrix"
PANEL = "released panel"
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
    given: Answers = {
        **_panel(book, panel),
        **_matrices(external, means),
        **_held_out(external),
        **_full_fit(book, external, means),
        **({} if anchor is None else _anchor(book["human_anchor"], anchor, drawn)),
    }
    sources = {"held_out": external, "human_anchor": anchor}
    lacking = {path for path, _ in published.leaves(book) if sources.get(path[0]) is None} - given.keys()
    names = [row["language"] for row in book["human_anchor"]["by_language"]]
    answers = ledger.worded("mrewardbench", given | {path: _needed(path) for path in lacking}, {"human_anchor": names})
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
    out: Array = (total / count).reshape(-1, k, m)
    return out


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


def _needed(path: tuple[str, ...]) -> Answer:
    """A value that what is at hand does not give."""
    if path[0] != "human_anchor":
        return value(None, reading=NEED_PANEL)
    return Answer("human anchor: " + " ".join(path[1:]).replace("_", " "), None, reading=NEED_SAMPLE)


def missing_behind(means: pd.DataFrame, items: int) -> int:
    """How many margins are missing, read off the means: whole margins add up to a whole number over those present.

    The smallest number of gaps in each cell under which its mean is a whole number over the rest.
    """
    count = np.arange(items, items // 2, -1)
    total = means.to_numpy()[..., None] * count
    whole = np.abs(total - np.round(total)) < 1e-8
    return int(whole.argmax(axis=-1).sum())


def _panel(book: dict[str, Any], panel: Panel | None) -> Answers:
    matrix = _matrix(book, "raw_mean_margin")
    languages, judges = (matrix.index, matrix.columns) if panel is None else (panel.languages, panel.judges)
    out: Answers = {}
    for word, names in (("languages", languages), ("judges", judges)):
        out |= {("panel", word, str(i)): value(name) for i, name in enumerate(names)}
    if panel is None:
        missing = missing_behind(matrix, book["panel"]["items_per_language"])
        why = "Fewest gaps under which each published mean is a whole sum of margins over the rest."
        return out | {("panel", "missing_margins"): value(missing, basis=MATRIX, reading=why)}
    n, k, m = panel.shape
    sizes: dict[tuple[str, ...], int]
    sizes = {("items_per_language",): n, ("language_item_instances",): n * k, ("judged_pairs",): n * k * m}
    sizes |= {("subsets", name): len(panel.slice(name).tasks) for name in book["panel"]["subsets"]}
    sizes |= {("missing_margins",): int(np.isnan(panel.scores).sum())}
    return out | {("panel", *path): value(size, basis=PANEL) for path, size in sizes.items()}


def _matrices(external: External | None, means: pd.DataFrame) -> Answers:
    tables = {"beta_hat": pd.DataFrame(double_centre(means.to_numpy()), means.index, means.columns)}
    why = "Double centring of the published means, against the published matrix: two releases that agree."
    more = {"basis": MATRIX, "reading": why}
    if external is not None:
        tables |= {"raw_mean_margin": external.means, "judge_aware_btl": external.btl}
        more = {"basis": PANEL}
    return {
        (name, str(language), str(judge)): value(cell, **more)
        for name, table in tables.items()
        for language, row in table.iterrows()
        for judge, cell in row.items()
    }


def _held_out(external: External | None) -> Answers:
    out: Answers = {}
    for name, tau in external.tau.items() if external else ():
        out |= {("held_out", name, str(i)): value(x, basis=PANEL) for i, x in enumerate(summary(tau))}
    if external:
        best = ("held_out", "cbc", "0")
        out[best] = replace(out[best], corrected=_gain_text(external))
    return out


def _full_fit(book: dict[str, Any], external: External | None, means: pd.DataFrame) -> Answers:
    matrix, basis, note = means.to_numpy(), PANEL if external else MATRIX, "" if external else FROM_MATRIX
    btl = external.btl if external else _matrix(book, "judge_aware_btl")
    of_btl = "" if external else "Computed from the published matrix of BTL strengths, not from the panel."
    out: Answers = {}
    for name, cells, reading in (
        ("raw", matrix, note),
        ("judge_aware_btl", btl.to_numpy(), of_btl),
        ("cbc", matrix - double_centre(matrix), FULL_FIT),
    ):
        out["full_fit", name] = value(float(mean_tau(cells[None], GAP)[0]), basis=basis, reading=reading)
    reading = f"{SEVERITY} {note}".strip()
    order = means.columns[np.argsort(-matrix.mean(axis=0), kind="stable")]
    return out | {
        ("calibrated_order", str(i)): value(str(b), basis=basis, reading=reading) for i, b in enumerate(order)
    }


def _anchor(spec: dict[str, Any], anchor: HumanAnchor, drawn: bool) -> Answers:
    """`drawn`: the sample comes from the panel. Which of its ties rounding tips then depends on the order of sums."""
    head = "human_anchor"
    table: dict[str, dict[str, int]] = anchor.by_language.set_index("language").to_dict("index")  # type: ignore[assignment]
    total = table["all"]
    rows, languages = total["rows"], len(table) - 1
    basis = "sample drawn from the panel" if drawn else "released sample"
    out: Answers = {(head, "sample_per_language"): value(rows / languages, basis=basis)}
    for name in spec["strata"]:
        out[head, "strata", name] = value(anchor.strata[name] / languages, basis=basis)
    why = (
        f"{total['counted']} ties became about 1e-17 by rounding and were counted as agreement; with a tie tolerance "
        f"agreement is {total['raw']} before and {total['calibrated']} of {rows} after. Retracted by the authors "
        f"(docs/RELEASE_AUDIT.md)."
    )
    change = f"{anchor.interval('gain')[0]:.1%} ({total['changed']} of {rows} decisions changed)"
    scatter = within(total["ties"] / rows) if drawn else 0.0
    for name, key, instead in (
        ("raw", "raw_published", ""),
        ("cbc", "calibrated_published", _rate(anchor, "calibrated")),
        ("gain", "gain_published", change),
    ):
        ends = (name if name == "gain" else f"{name}_agreement", f"{name}_ci_low", f"{name}_ci_high")
        more = {} if name == "raw" else {"kind": "artefact", "reading": why, "scatter": scatter}
        for end, share in zip(ends, anchor.interval(key), strict=True):
            out[head, "overall", end] = value(share, instead, basis=basis, **more)
    return out | _anchor_languages(spec, table, basis, drawn)


def _anchor_languages(spec: dict[str, Any], table: dict[str, dict[str, int]], basis: str, drawn: bool) -> Answers:
    """The anchor's agreement in each language, before and after calibrating."""
    out: Answers = {}
    languages = sorted(set(table) - {"all"})
    for i, row in enumerate(spec["by_language"]):
        here = ("human_anchor", "by_language", str(i))
        mine = table[row["language"]]
        n = mine["rows"]
        out[(*here, "language")] = value(languages[i])
        out[(*here, "raw_agreement")] = value(mine["raw_published"] / n, basis=basis)
        same = mine["calibrated_published"] == mine["calibrated"]
        ties = f" ({mine['counted']} of {n} were ties)" if mine["counted"] else ""
        out[(*here, "cbc_agreement")] = value(
            mine["calibrated_published"] / n,
            f"{mine['calibrated'] / n:.0%}{ties}",
            kind="identity" if same else "artefact",
            basis=basis,
            reading="Equal to the raw agreement by identity I1." if same else "Rounding turned ties into agreement.",
            scatter=within(mine["ties"] / n) if drawn else 0.0,
        )
    return out


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
    rate, low, high = anchor.interval(name)
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
    return (
        *(() if anchor is None else (_retracted(anchor),)),
        correction("m-instead", square=square, held=held),
        correction("m-agree", full_fit=FULL_FIT),
        correction("m-order", severity=SEVERITY),
    )


def _retracted(anchor: HumanAnchor) -> Correction:
    total = anchor.by_language.set_index("language").loc["all"]
    rates = {name: _rate(anchor, name) for name in ("raw", "calibrated")}
    return correction("m-retracted", total=total, proof=anchor.proof, **rates)


def _external_table(book: dict[str, Any], external: External | None, answers: Answers) -> Table:
    rows = []
    for name, word in METHODS.items():
        new = (*summary(external.tau[name]), answers["full_fit", name].value) if external else (None,) * 4
        rows.append((word, *book["held_out"][name], book["full_fit"][name], *new))
    columns = ["method", *(f"{x}_{w}" for w in ("published", "computed") for x in ("tau", "low", "high", "full_fit"))]
    more = "" if external else " Computed values need the panel."
    return table("mrewardbench", "external_validation", pd.DataFrame(rows, columns=columns), more=more)
