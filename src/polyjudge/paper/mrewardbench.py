"""The M-RewardBench part of the paper: from the panel if given, from the published matrices where they suffice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.estimate.kernels import double_centre, mean_tau
from polyjudge.panel.arrays import tie_gap
from polyjudge.panel.panel import Panel
from polyjudge.paper import figures, published
from polyjudge.paper.anchor_check import MARGIN_RANGE, HumanAnchor, draw_sample, human_anchor
from polyjudge.paper.draws import of_draws, summary
from polyjudge.paper.external import External, held_out
from polyjudge.paper.ledger import Answer, Answers, Kind, label, labels, scattered, setting, settle, within
from polyjudge.paper.printed import Table
from polyjudge.paper.reproduction import Correction, Reproduction, correction, notes

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
METHODS = {"raw": "raw", "cbc": "CBC", "judge_aware_btl": "judge-aware BTL"}
FULL_FIT = "Full fit: after subtracting its own interaction every language ranks alike (identity I3). Not evidence."
CONSISTENCY = "Consistency between languages, not accuracy."
SEVERITY = "The order of mean margins: how wide a judge's margins are, not how good the judge is."


def reproduce_mrewardbench(
    panel: Panel | None = None, sample: pd.DataFrame | None = None, *, seed: int | None = None
) -> Reproduction:
    """The published numbers of the M-RewardBench part.

    Parameters
    ----------
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
    answers: Answers = {
        **_panel(book, panel),
        **_matrices(book, external, means),
        **_held_out(book, external),
        **_full_fit(book, external, means),
        **_anchor(book, anchor, drawn),
    }
    if seed is not None:
        answers = scattered(answers, _scatter(external, anchor))
    note = "" if external else "From the published matrix of mean margins, not from the panel."
    more = () if external else ("The panel was not given. Rows marked so come from the published matrices.",)
    return Reproduction(
        ledger=settle("mrewardbench", answers),
        corrections=_corrections(means, external, anchor),
        tables=(_external_table(book, external, answers), *_anchor_tables(anchor)),
        figures={
            "external_ranks_before_after": lambda: figures.before_after(
                means.rename(columns=SHORT), GAP, "Ranks of the judges, M-RewardBench", "margin", note
            )
        },
        inputs={"panel": "not given" if panel is None else panel.fingerprint},
        notes=(*notes(seed), *more),
    )


def _matrix(book: dict[str, Any], name: str) -> pd.DataFrame:
    return pd.DataFrame(book[name]).T


def _of_panel(number: str, value: float | None, reading: str = "", corrected: str = "") -> Answer:
    """A value that only the panel gives."""
    return Answer(number, value, "reproduced", PANEL, corrected, NEED_PANEL if value is None else reading)


def missing_behind(means: pd.DataFrame, items: int) -> int:
    """How many margins are missing, read off the means: whole margins add up to a whole number over those present.

    The smallest number of gaps in each cell under which its mean is a whole number over the rest.
    """
    count = np.arange(items, items // 2, -1)
    total = means.to_numpy()[..., None] * count
    whole = np.abs(total - np.round(total)) < 1e-8
    return int(whole.argmax(axis=-1).sum())


def _panel(book: dict[str, Any], panel: Panel | None) -> Answers:
    shape, matrix = book["panel"], _matrix(book, "raw_mean_margin")
    languages, judges = (matrix.index, matrix.columns) if panel is None else (panel.languages, panel.judges)
    out = labels("languages", languages) | labels("judges", judges)
    for key, word, each in (
        ("items_per_language", "items in each language", 1),
        ("language_item_instances", "items over all languages", len(languages)),
        ("judged_pairs", "margins of all languages and judges", len(languages) * len(judges)),
    ):
        out["panel", key] = _of_panel(word, None if panel is None else len(panel.tasks) * each)
    for name in shape["subsets"]:
        size = None if panel is None else len(panel.slice(name).tasks)
        out["panel", "subsets", name] = _of_panel(f"items of {name}", size)
    if panel is None:
        missing = missing_behind(matrix, shape["items_per_language"])
        why = "Fewest gaps under which each published mean is a whole sum of margins over the rest."
        out["panel", "missing_margins"] = Answer("margins missing", missing, basis=MATRIX, reading=why)
    else:
        out["panel", "missing_margins"] = _of_panel("margins missing", int(np.isnan(panel.scores).sum()))
    return out


def _matrices(book: dict[str, Any], external: External | None, means: pd.DataFrame) -> Answers:
    out: Answers = {}
    for name, word, table in (
        ("raw_mean_margin", "mean margin", external.means if external else None),
        ("judge_aware_btl", "judge-aware BTL strength", external.btl if external else None),
    ):
        for language, row in book[name].items():
            for b in row:
                value = None if table is None else float(table.loc[language, b])
                out[name, language, b] = _of_panel(f"{word}, {language} x {b}", value)
    why = "Double centring of the published means, against the published matrix: two releases that agree."
    for language, cells in zip(means.index, double_centre(means.to_numpy()), strict=True):
        for b, value in zip(means.columns, cells.tolist(), strict=True):
            text = f"interaction, {language} x {b}"
            out["beta_hat", language, b] = (
                _of_panel(text, value) if external else Answer(text, value, "reproduced", MATRIX, reading=why)
            )
    return out


def _held_out(book: dict[str, Any], external: External | None) -> Answers:
    out: Answers = {}
    for name, word in (("replicates", "resamples"), ("seed", "seed")):
        word = f"{word} of the held-out protocol"
        out["held_out", name] = setting(word, book["held_out"][name]) if external else _of_panel(word, None)
    for name, word in METHODS.items():
        have = summary(external.tau[name]) if external else (None,) * 3
        for i, (part, value) in enumerate(
            zip(("held-out tau", "low end of tau", "high end of tau"), have, strict=True)
        ):
            gain = _gain_text(external) if external and name == "cbc" and i == 0 else ""
            out["held_out", name, str(i)] = _of_panel(
                f"{word}: {part}", value, CONSISTENCY if name == "cbc" else "", gain
            )
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
        tau = float(mean_tau(cells[None], GAP)[0])
        kind: Kind = "identity" if name == "cbc" else "reproduced"
        out["full_fit", name] = Answer(f"{METHODS[name]}: full-fit tau", tau, kind, basis, reading=reading)
    for i, judge in enumerate(means.columns[np.argsort(-matrix.mean(axis=0), kind="stable")]):
        out["calibrated_order", str(i)] = Answer(
            f"calibrated order, place {i + 1}", str(judge), basis=basis, reading=f"{SEVERITY} {note}".strip()
        )
    return out


def _anchor(book: dict[str, Any], anchor: HumanAnchor | None, drawn: bool) -> Answers:
    """`drawn`: the sample comes from the panel. Which of its ties rounding tips then depends on the order of sums."""
    head, spec = "human_anchor", book["human_anchor"]
    if anchor is None:
        return {
            (head, *path): Answer(_anchor_name(path), None, reading=NEED_SAMPLE) for path, _ in published.leaves(spec)
        }
    table: dict[str, dict[str, int]] = anchor.by_language.set_index("language").to_dict("index")  # type: ignore[assignment]
    total = table["all"]
    rows, languages = total["rows"], len(table) - 1
    basis = "sample drawn from the panel" if drawn else "released sample"
    out: Answers = {
        (head, "sample_per_language"): Answer("sampled items per language", rows / languages, basis=basis),
        (head, "seed"): setting("seed of the bootstrap", spec["seed"]),
        (head, "bootstrap"): setting("resamples of the bootstrap", anchor.resamples),
    }
    for name in spec["strata"]:
        size = anchor.strata[name] / languages
        out[head, "strata", name] = Answer(f"sampled items of {name} per language", size, basis=basis)
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
        for end, value in zip(ends, anchor.interval(key), strict=True):
            answer = Answer(_anchor_name(("overall", end)), value, basis=basis)
            if name != "raw":
                answer = replace(answer, kind="artefact", corrected=instead, reading=why, scatter=scatter)
            out[head, "overall", end] = answer
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
    for name, values in external.tau.items() if external else ():
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
    return Table(
        "external_validation",
        "Rank consistency on left-out items, M-RewardBench",
        pd.DataFrame(rows, columns=columns),
        dict.fromkeys(columns[1:], 3),
        "The full-fit value of CBC is 1 by arithmetic." + ("" if external else " Computed values need the panel."),
    )


def _anchor_tables(anchor: HumanAnchor | None) -> tuple[Table, ...]:
    if anchor is None:
        return ()
    title = "Agreement of the panel mean with the human preference, as published and with a tie tolerance"
    note = (
        "counted: ties that rounding gave a positive sign and that were counted as agreement. shifted: items that "
        "lack a judge's score, so that their panel mean can move. changed: decisions that truly changed."
    )
    return (Table("human_anchor", title, anchor.by_language, note=note),)
