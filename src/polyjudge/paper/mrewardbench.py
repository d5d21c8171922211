"""The M-RewardBench part of the paper: from the panel if given, from the published matrices where they suffice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from polyjudge.core.arrays import Array, tie_gap
from polyjudge.core.panel import Panel
from polyjudge.estimate.kernels import double_centre, mean_tau
from polyjudge.paper import published
from polyjudge.paper.external import External, held_out
from polyjudge.paper.human_anchor import MARGIN_RANGE, HumanAnchor, draw_sample, human_anchor
from polyjudge.paper.ledger import Answer, Answers, label, scattered, setting, settle, within
from polyjudge.paper.result import Correction, Reproduction, notes
from polyjudge.paper.scatter import of_draws
from polyjudge.paper.tables import Table

MATRIX = "published matrix"
PANEL = "released panel"
SAMPLE = "released sample"
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
METHODS = {"raw": "raw", "cbc": "CBC", "judge_aware_btl": "judge-aware BTL"}
FULL_FIT = "Full fit: after subtracting its own interaction every language ranks alike (identity I3). Not evidence."
CONSISTENCY = "Consistency between languages, not accuracy."
SEVERITY = "The order of mean margins: how wide a judge's margins are, not how good the judge is."


def reproduce_mrewardbench(
    panel: Panel | None = None,
    sample: pd.DataFrame | None = None,
    *,
    seed: int | None = None,
    inputs: dict[str, str] | None = None,
) -> Reproduction:
    """The published numbers of the M-RewardBench part.

    Parameters
    ----------
    panel : of `sources.mrewardbench_panel`; without it only what follows from the published matrices is computed
    sample : of `sources.anchor_sample`; without it the sample is drawn from the panel
    seed : own random draws from this seed; without it the published seeds are used
    """
    book = published.load("mrewardbench")
    external = None
    if panel is not None:
        spec = book["held_out"]
        external = held_out(panel, spec["replicates"], spec["seed"] if seed is None else seed)
    means = pd.DataFrame(book["raw_mean_margin"]).T
    if external is not None and panel is not None:
        means = panel.matrix(external.means)
    anchor = None
    spec = book["human_anchor"]
    drawn = sample is None and panel is not None
    if sample is None and panel is not None:
        sample = draw_sample(panel, spec["sample_per_language"], spec["seed"])
    if sample is not None:
        anchor = human_anchor(
            sample, book["panel"]["languages"], spec["bootstrap"], spec["seed"] if seed is None else seed
        )
    answers: Answers = {
        **_panel(book, panel),
        **_matrices(book, external, means),
        **_held_out(book, external, means),
        **_anchor(book, anchor, drawn),
    }
    if seed is not None:
        answers = scattered(answers, _scatter(external, anchor))
    return Reproduction(
        ledger=settle("mrewardbench", answers),
        corrections=_corrections(means, external, anchor),
        tables=tuple(t for t in (_external_table(book, external), _anchor_table(anchor)) if t is not None),
        figures={"external_ranks_before_after": lambda: _figure(means, external is None)},
        inputs=inputs or {"panel": "not given" if panel is None else panel.fingerprint},
        notes=notes(seed)
        if panel is not None
        else (*notes(seed), "The panel was not given. Rows marked so come from the published matrices."),
    )


def _figure(means: pd.DataFrame, from_matrix: bool) -> Any:
    from polyjudge.paper import figures

    note = "From the published matrix of mean margins, not from the panel." if from_matrix else ""
    title = "Ranks of the judges, M-RewardBench"
    return figures.before_after(means.rename(columns=SHORT), tie_gap(*MARGIN_RANGE), title, "margin", note)


def missing_behind(means: pd.DataFrame, items: int) -> int:
    """How many margins are missing, read off the means: whole margins add up to a whole number over those present.

    The smallest number of gaps in each cell under which its mean is a whole number over the rest.
    """
    count = np.arange(items, items // 2, -1)
    total = means.to_numpy()[..., None] * count
    whole = np.abs(total - np.round(total)) < 1e-8
    return int(whole.argmax(axis=-1).sum())


def _panel(book: dict[str, Any], panel: Panel | None) -> Answers:
    shape = book["panel"]
    out: Answers = {}
    matrix = pd.DataFrame(book["raw_mean_margin"]).T
    basis = MATRIX if panel is None else PANEL
    languages, judges = (
        (list(matrix.index), list(matrix.columns)) if panel is None else (list(panel.languages), list(panel.judges))
    )
    for word, have in (("languages", languages), ("judges", judges)):
        for i, name in enumerate(have):
            out["panel", word, str(i)] = label(f"{word[:-1]} {i + 1}", name)
    items = None if panel is None else len(panel.tasks)
    out["panel", "items_per_language"] = Answer("items in each language", items, basis=PANEL, reading=_why(panel))
    for key, word, each in (
        ("language_item_instances", "items over all languages", len(languages)),
        ("judged_pairs", "margins of all languages and judges", len(languages) * len(judges)),
    ):
        count = None if items is None else items * each
        out["panel", key] = Answer(word, count, basis=PANEL, reading=_why(panel))
    for name in shape["subsets"]:
        size = None if panel is None else len(panel.slice(name).tasks)
        out["panel", "subsets", name] = Answer(f"items of {name}", size, basis=PANEL, reading=_why(panel))
    missing = (
        missing_behind(matrix, shape["items_per_language"]) if panel is None else int(np.isnan(panel.scores).sum())
    )
    out["panel", "missing_margins"] = Answer(
        "margins missing",
        missing,
        basis=basis,
        reading="Fewest gaps under which each published mean is a whole sum of margins over the rest."
        if panel is None
        else "",
    )
    return out


def _matrices(book: dict[str, Any], external: External | None, means: pd.DataFrame) -> Answers:
    out: Answers = {}
    beta = means.copy()
    beta[:] = double_centre(means.to_numpy())
    for l, row in book["raw_mean_margin"].items():  # noqa: E741
        for b in row:
            have = None if external is None else float(means.loc[l, b])
            out["raw_mean_margin", l, b] = Answer(
                f"mean margin, {l} x {b}", have, basis=PANEL, reading="" if external else NEED_PANEL
            )
            out["beta_hat", l, b] = Answer(
                f"interaction, {l} x {b}",
                float(beta.loc[l, b]),
                "reproduced" if external else "file check",
                PANEL if external else MATRIX,
                reading="" if external else "Double centring of the published means: it checks the published file.",
            )
    for i, (l, row) in enumerate(book["judge_aware_btl"].items()):  # noqa: E741
        for j, b in enumerate(row):
            have = None if external is None else float(external.btl[i, j])
            out["judge_aware_btl", l, b] = Answer(
                f"judge-aware BTL strength, {l} x {b}",
                have,
                basis=PANEL,
                reading="" if external else NEED_PANEL,
            )
    return out


def _held_out(book: dict[str, Any], external: External | None, means: pd.DataFrame) -> Answers:
    out: Answers = {}
    used = external is not None
    for name, word in (
        ("replicates", "resamples of the held-out protocol"),
        ("seed", "seed of the held-out protocol"),
    ):
        out["held_out", name] = (
            setting(word, book["held_out"][name]) if used else Answer(word, None, reading=NEED_PANEL)
        )
    for name, word in METHODS.items():
        have = external.tau[name] if external else None
        for i, part in enumerate(("held-out tau", "low end of tau", "high end of tau")):
            out["held_out", name, str(i)] = Answer(
                f"{word}: {part}",
                have[i] if have else None,
                basis=PANEL,
                reading=(CONSISTENCY if name == "cbc" else "") if have else NEED_PANEL,
                corrected=_gain_text(external) if name == "cbc" and i == 0 and external else "",
            )
    gap = tie_gap(*MARGIN_RANGE)

    def tau_of(cells: Array) -> float:
        return float(mean_tau(cells[None], gap)[0])

    matrix = means.to_numpy()
    btl = pd.DataFrame(book["judge_aware_btl"]).T.to_numpy()
    if external is not None:
        btl = external.btl
    basis = PANEL if external else MATRIX
    note = "" if external else FROM_MATRIX
    out["full_fit", "raw"] = Answer("raw: full-fit tau", tau_of(matrix), basis=basis, reading=note)
    out["full_fit", "judge_aware_btl"] = Answer(
        "judge-aware BTL: full-fit tau",
        tau_of(btl),
        basis=basis,
        reading="" if external else "Computed from the published matrix of BTL strengths, not from the panel.",
    )
    out["full_fit", "cbc"] = Answer(
        "CBC: full-fit tau", tau_of(matrix - double_centre(matrix)), "identity", basis, reading=FULL_FIT
    )
    order = means.columns[np.argsort(-matrix.mean(axis=0), kind="stable")]
    for i, judge in enumerate(order):
        out["calibrated_order", str(i)] = Answer(
            f"calibrated order, place {i + 1}", str(judge), basis=basis, reading=f"{SEVERITY} {note}".strip()
        )
    return out


def _anchor(book: dict[str, Any], anchor: HumanAnchor | None, drawn: bool) -> Answers:
    """`drawn`: the sample comes from the panel. Which of its ties rounding tips then depends on the order of sums."""
    out: Answers = {}
    head = ("human_anchor",)
    spec = book["human_anchor"]
    if anchor is None:
        return {
            (*head, *path): Answer(_anchor_name(path), None, reading=NEED_SAMPLE) for path, _ in published.leaves(spec)
        }
    table: dict[str, dict[str, int]] = anchor.by_language.set_index("language").to_dict("index")  # type: ignore[assignment]
    total = table["all"]
    rows = total["rows"]
    basis = "sample drawn from the panel" if drawn else SAMPLE
    out[(*head, "sample_per_language")] = Answer("sampled items per language", rows / (len(table) - 1), basis=basis)
    languages = sorted(set(table) - {"all"})
    for name in spec["strata"]:
        size = anchor.strata[name] / len(languages)
        out[(*head, "strata", name)] = Answer(f"sampled items of {name} per language", size, basis=basis)
    out[(*head, "seed")] = setting("seed of the bootstrap", spec["seed"])
    out[(*head, "bootstrap")] = setting("resamples of the bootstrap", anchor.resamples)
    why = (
        f"{total['counted']} ties became about 1e-17 by rounding and were counted as agreement; with a tie tolerance "
        f"agreement is {total['raw']} before and {total['calibrated']} of {rows} after. Retracted by the authors "
        f"(docs/RELEASE_AUDIT.md)."
    )
    true = _rate(anchor, "calibrated")
    change = f"{anchor.interval('gain')[0]:.1%} ({total['changed']} of {rows} decisions changed)"
    for name, key in (("raw", "raw_published"), ("cbc", "calibrated_published"), ("gain", "gain_published")):
        rate, low, high = anchor.interval(key)
        ends = ("agreement", "ci_low", "ci_high") if name != "gain" else ("", "ci_low", "ci_high")
        for end, value in zip(ends, (rate, low, high), strict=True):
            path = (*head, "overall", f"{name}_{end}".rstrip("_"))
            if name == "raw":
                out[path] = Answer(_anchor_name(path[1:]), value, basis=basis)
            else:
                out[path] = Answer(
                    _anchor_name(path[1:]),
                    value,
                    "artefact",
                    basis,
                    true if name == "cbc" else change,
                    why,
                    within(total["ties"] / rows) if drawn else 0.0,
                )
    return out | _anchor_languages(spec, table, basis, drawn)


def _anchor_languages(spec: dict[str, Any], table: dict[str, dict[str, int]], basis: str, drawn: bool) -> Answers:
    """The anchor's agreement in each language, before and after calibrating."""
    out: Answers = {}
    languages = sorted(set(table) - {"all"})
    for i, row in enumerate(spec["by_language"]):
        here = ("human_anchor", "by_language", str(i))
        mine = table[row["language"]]
        n = mine["rows"]
        out[(*here, "language")] = label("language", languages[i])
        out[(*here, "raw_agreement")] = Answer(
            f"raw agreement, {row['language']}", mine["raw_published"] / n, basis=basis
        )
        same = mine["calibrated_published"] == mine["calibrated"]
        out[(*here, "cbc_agreement")] = Answer(
            f"CBC agreement, {row['language']}",
            mine["calibrated_published"] / n,
            "identity" if same else "artefact",
            basis,
            f"{mine['calibrated'] / n:.0%}" + (f" ({mine['counted']} of {n} were ties)" if mine["counted"] else ""),
            "Equal to the raw agreement by identity I1." if same else "Rounding turned ties into agreement.",
            within(mine["ties"] / n) if drawn else 0.0,
        )
    return out


def _scatter(external: External | None, anchor: HumanAnchor | None) -> dict[str, float]:
    """What independent draws scatter, measured on the draws at hand."""
    out: dict[str, float] = {}
    for name, values in external.resample_tau.items() if external else ():
        out |= {f"held_out > {name} > {i}": sd for i, sd in enumerate(of_draws(values))}
    for name, values in anchor.published_draws.items() if anchor else ():
        _, low, high = of_draws(values)
        out |= {f"human_anchor > overall > {name}_ci_low": low, f"human_anchor > overall > {name}_ci_high": high}
    return out


def _rate(anchor: HumanAnchor, name: str) -> str:
    rate, low, high = anchor.interval(name)
    return f"{rate:.1%} [{low:.1%}, {high:.1%}]"


def _anchor_name(path: tuple[str, ...]) -> str:
    return "human anchor: " + " ".join(path).replace("_", " ")


def _why(panel: Panel | None) -> str:
    return NEED_PANEL if panel is None else ""


def _gain_text(external: External) -> str:
    mean, low, high = external.gain
    return (
        f"label-free accuracy gain on left-out items {mean:.4f} [{low:.4f}, {high:.4f}] squared margin points, "
        f"above 0 in {external.gain_positive:.1%} of resamples"
    )


def _corrections(means: pd.DataFrame, external: External | None, anchor: HumanAnchor | None) -> tuple[Correction, ...]:
    out = []
    if anchor is not None:
        total = anchor.by_language.set_index("language").loc["all"]
        out.append(
            Correction(
                "Calibration raises agreement with human preferences",
                '"Raw agreement is 68.7%", "CBC-aligned panel agreement rises to 76.6%"',
                f"{total['raw']} and {total['calibrated']} of {total['rows']}: {_rate(anchor, 'raw')} and "
                f"{_rate(anchor, 'calibrated')}; {total['changed']} decisions changed; {total['rounding']} ties got a "
                f"sign by rounding, {total['counted']} of them were counted as agreement",
                f"{anchor.proof} The authors have retracted the gain (docs/RELEASE_AUDIT.md of their repository).",
            )
        )
    square = float((double_centre(means.to_numpy()) ** 2).mean())
    held = f"; {_gain_text(external)}" if external else "; held out it needs the panel"
    out.append(
        Correction(
            "What can be claimed instead of the retracted gain",
            '"our strongest external evidence of downstream usefulness"',
            f"mean squared error to any truth that no judge changes falls by {square:.4f} squared margin points in "
            f"sample{held}",
            "Identity I7: double centring is an orthogonal projection. It holds on average over the panel; it does not "
            "say that each judge or language gains, nor that a decision is right.",
        )
    )
    out.append(
        Correction(
            "After calibration all languages agree",
            '"all seven languages align on the order DeepSeek > Sonnet > GPT-4o > GPT-5.4 > Gemini with τ=1.000"',
            "true by arithmetic for any scores",
            FULL_FIT,
            '"an in-sample sanity check, not an independent generalization estimate"',
        )
    )
    out.append(
        Correction(
            "Calibrated order of the judges",
            '"DeepSeek > Sonnet > GPT-4o > GPT-5.4 > Gemini"',
            "a severity order",
            SEVERITY,
        )
    )
    return tuple(out)


def _external_table(book: dict[str, Any], external: External | None) -> Table:
    rows = []
    for name, word in METHODS.items():
        old = book["held_out"][name]
        new = external.tau[name] if external else (None,) * 3
        rows.append((word, *old, book["full_fit"][name], *new, external.full_fit[name] if external else None))
    columns = ["method", *(f"{x}_{w}" for w in ("published", "computed") for x in ("tau", "low", "high", "full_fit"))]
    return Table(
        "external_validation",
        "Rank consistency on left-out items, M-RewardBench",
        pd.DataFrame(rows, columns=columns),
        dict.fromkeys(columns[1:], 3),
        "The full-fit value of CBC is 1 by arithmetic." + ("" if external else " Computed values need the panel."),
    )


def _anchor_table(anchor: HumanAnchor | None) -> Table | None:
    if anchor is None:
        return None
    return Table(
        "human_anchor",
        "Agreement of the panel mean with the human preference, as published and with a tie tolerance",
        anchor.by_language,
        {},
        PROOF_NOTE,
    )


PROOF_NOTE = (
    "counted: ties that rounding gave a positive sign and that were counted as agreement. shifted: items that lack a "
    "judge's score, so that their panel mean can move. changed: decisions that truly changed."
)
