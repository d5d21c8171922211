"""Words of the model of levels."""

from __future__ import annotations

from polyjudge.panel.say import Template, Values, plural


def _why(v: Values) -> str:
    start = {
        "two-levels": "The scores have two levels",
        "few-levels": "The scores have {levels} levels",
        "ends": "Many scores lie at an end of the scale",
        None: "The scale does not ask for it",
    }[v["reason"]]
    cut = ", cut into {levels} levels" if v["binned"] else ""
    if v["reason"] is None:
        return f"{start}: here are the same comparisons on a scale without ends{cut}."
    return (
        f"{start}, so points near an end are squeezed, which can look like a language effect or hide one. Here are the "
        f"same comparisons on a scale without ends{cut}."
    )


def _survives(v: Values) -> str:
    if not v["linear"]:
        return "The conclusion survives: on a scale without ends no judge is surely off in any language either."
    kept = v["linear"] - v["lost"] - v["turned"]
    text = f"The conclusion survives on a scale without ends: {kept} of {{linear}} clear cells stay on their side"
    gone = plural(v["lost"], " ({lost} may be an effect of the ends)", " ({lost} may be effects of the ends)")
    return text + (gone if v["lost"] else "") + "."


def _fails(v: Values) -> str:
    if not v["linear"]:
        return (
            "The ends of the scale hide something: in points no cell is clear, but on a scale without ends {judge} in "
            "{language} is ({latent/band_low/band_high:+.1f} logits). Do not certify this panel by points alone."
        )
    turned = f" {{turned}} {plural(v['turned'], 'lies', 'lie')} on the other side." if v["turned"] else ""
    if v["agrees"] == "same":
        largest = " The largest, {judge} in {language}, stays."
    else:
        largest = " The largest, {judge} in {language}, is among them ({latent/band_low/band_high:+.1f} logits)."
    return (
        "The conclusion may be made by the ends of the scale: {lost} of {linear} clear cells vanish on a scale without "
        f"ends.{turned}{largest} Score tasks that are neither too hard nor too easy before you calibrate."
    )


WORDS: dict[str, Template] = {
    "bounded.title": "On a scale without ends",
    "bounded.why": _why,
    "bounded.survives": _survives,
    "bounded.fails": _fails,
    "bounded-fails": _fails,
    "bounded.method": "An ordinal mixed model (cumulative logit; two levels: logistic) by marginal likelihood. "
    "Answers differ by {unit_sd:.1f} logits (standard deviation). Errors come from the spread over tasks, and the "
    "band holds for all cells at once. A cell that is clear on one scale agrees when the other has it on the same "
    "side and its own interval there excludes 0.",
    "bounded.separated": "All scores lie at one end in {count} of {cells} cells. How far off they are is known from "
    "one side only: half a score on the next level was added, and the model's own error is used.",
    "bounded.part": "Fitted to {part} of {units} answers drawn at random.",
}
