"""Words of an audit: verdict, findings, sections."""

import math
from collections.abc import Sequence

from polyjudge.second.estimate.label_design import MANY
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.numbers import missing, number, percent
from polyjudge.second.panel.say import Template, Values, escape, names, places, plural, readings
from polyjudge.second.questions.compare.words import GAIN

SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def few(count: int) -> str:
    """A small count in words."""
    return SMALL[count] if 0 <= count < len(SMALL) else f"{count:,}"


def about(value: float, low: float, high: float, sign: bool = False) -> str:
    """A value with its interval, rounded to the first digit that the interval leaves sure.

    >>> about(31.12, 25.17, 32.88), about(0.031, 0.012, 0.049)
    ('31 [25, 33]', '0.03 [0.01, 0.05]')
    """
    half = abs(high - low) / 2
    digits = min(6, max(0, -math.floor(math.log10(half)))) if half > 0 else 1
    return f"{number(value, digits, sign)} [{number(low, digits, sign)}, {number(high, digits, sign)}]"


def off(v: Values) -> str:
    """Points below or above what the other judges say, with the interval."""
    low, high = sorted((abs(v["low"]), abs(v["high"])))
    if v["low"] <= 0 <= v["high"]:  # the interval has both sides
        return f"{about(v['excess'], v['low'], v['high'], True)} {v['unit']} from what the other judges"
    side = "below" if v["excess"] < 0 else "above"
    return f"{about(abs(v['excess']), low, high)} {v['unit']} {side} what the other judges"


def _perhaps(v: Values) -> str:
    return "" if v["sure"] else "Perhaps "


def _count(v: Values) -> str:
    """How many cells are named, as the sentence begins."""
    count = few(len(v["named"]))
    return count.capitalize() if v["sure"] else count


def _named(v: Values) -> str:
    """How often resamples name it (of several the least sure), where that is a doubt."""
    which = "it" if len(v["named"]) == 1 else "the least sure of them"
    return "" if v["sure"] else f" ({percent(v['share'])} of resamples name {which})"


def _shape(v: Values) -> str:
    """Tasks x systems x languages x judges x replicates, each that there is."""
    parts = {"task": v["tasks"], "system": v["systems"], "language": v["languages"], "judge": v["judges"]}
    parts["replicate"] = v["replicates"]
    return " x ".join(
        f"{count:,} {plural(count, name, name + 's')}{_column(name, v)}" for name, count in parts.items() if count
    )


def _column(name: str, v: Values) -> str:
    """The column of something, where it is called otherwise."""
    column = v.get(f"{name}_column")
    return f" ({escape(clean(column))})" if column and column != name else ""


def _gate_use(v: Values) -> str:
    """The use, with the pass mark."""
    return f"To gate at {v['mark']:g} or more" if v["at_least"] else f"To gate above {v['mark']:g}"


def _place(named: Sequence[tuple[str, str]]) -> str:
    return names([f"{judge} in {language}" for language, judge in named])


def _piled(v: Values) -> str:
    """Where a culprit's scores are heaped up, or gone."""
    piled = v["piled"]
    if piled is None:
        return ""
    share, elsewhere = percent(piled["share"]), percent(piled["elsewhere"])
    if piled["what"] == "missing":
        return f" {share} of its scores there are missing, elsewhere {elsewhere}."
    return f" {share} of its scores there are {number(piled['end'], 0)}, elsewhere {elsewhere}."


def _open(v: Values) -> str:
    start = "No judge is clearly off from the others" if not v["clear"] else "Judges are a little off from each other"
    return (
        f"{start} in {'any language' if not v['clear'] else 'some languages'}. {{tasks}} tasks cannot rule out that a "
        "gap between two judges changes by {delta:points} {unit} from one language to another."
    )


def _diffuse(v: Values) -> str:
    judges = "all your judges" if len(v["judges"]) == v["panel"] else names(v["judges"])
    count = "{count} of {cells} cells are surely off by more than {matters:.2g} {unit}"
    return f"Beyond that, {count}." if v["also"] else f"{_changes(v)} {judges}: {count}."


def _changes(v: Values) -> str:
    return "By {criterion} language changes" if "criterion" in v else "Language changes"


def _probed(v: Values) -> str:
    if not v["reacts"]:
        return "Probes: no judge surely notices damage. Do not use these scores."
    if not v["of"]:
        blind = f" But {places(v['blind_places'])} cannot see: leave out." if v["blind_places"] else ""
        return f"Probes ({{tasks}} tasks): no deviation that matters needs a reading.{blind}"
    return "Probes ({tasks} tasks): " + readings(v)


def _rank_probed(v: Values) -> str:
    start = "To use one judge: "
    if not v["reacts"]:
        return start + "do not. No judge surely notices damage."
    if v["competence"]:
        return start + f"do not calibrate {places(v['competence_places'])}; it sees where most others do not."
    if v["blind_places"]:
        return start + "leave out the places that cannot see, then look again."
    if v["of"] and v["severity"] == v["of"]:
        return start + "calibrate. Probes say the deviations are severity, so it is safe."
    return start + ("probes leave open what the deviations are; labels decide." if v["of"] else "as the scores are.")


def _one_diffuse(v: Values) -> str:
    if v.get("advised") and v.get("closer") is not None:
        near = about(*(v[n] * v["factor"] for n in ("closer", "closer_low", "closer_high")))
        closer = f"{near} {{unit}} closer to the panel"
        if v["closer_high"] * v["factor"] < v["matters"]:
            one = f"If you use a single judge: calibrating brings it {closer} on average, more where it is far off."
        else:
            one = f"If you use a single judge, calibrate: picked at random it comes {closer}."
    else:
        one = "If you use a single judge: calibrating does not surely bring it closer to the panel."
    return one + " If you average the judges, nothing changes."


def _gate_diffuse(v: Values) -> str:
    if v["levels"]:
        turned = "Calibrating shifts scores off their levels and turns {flips} of {decisions} decisions"
        return f"{_gate_use(v)} with one judge: move its pass mark, not the scores. {turned}."
    start = f"{_gate_use(v)} with one judge: calibrat"
    turned = "{flips} of {decisions} decisions ({share/low/high:share})"
    if v["narrows"]:
        return f"{start}e, it turns {turned}."
    return f"{start}ing would turn {turned}, but does not surely narrow the gap between languages."


def _gate_spread(v: Values) -> str:
    chance = "" if missing(v["chance"]) else " By chance alone it would be {chance:.1f}."
    return (
        "The same judge passes {raw/raw_low/raw_high:.1f} percentage points more tasks in its best language than in "
        f"its worst.{chance}"
    )


def _gate_gain(v: Values) -> str:
    if v["low"] > 0:
        return "Calibrating takes {reduction/low/high:.1f} percentage points off that gap on tasks it has not seen."
    if v["high"] < 0:
        wider = f"{-v['reduction']:.1f} [{-v['high']:.1f}, {-v['low']:.1f}]"
        return (
            f"Do not calibrate for this gate: it widens that gap by {wider} percentage points on tasks it has not seen."
        )
    return (
        "Calibrating does not surely narrow that gap on tasks it has not seen: {reduction/low/high:+.1f} percentage "
        "points."
    )


def _side(v: Values) -> str:
    return "at or above" if v["at_least"] else "above"


def _ends_why(v: Values) -> str:
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
        f"{start}, so differences near an end are squeezed, which can look like a language effect or hide one. Here "
        f"are the same comparisons on a scale without ends{cut}."
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


def _reversal(v: Values) -> str:
    count = few(v["count"]).capitalize()
    swap = f"{count} {plural(v['count'], 'pair of judges swaps', 'pairs of judges swap')} places between languages."
    return (
        f"{swap} {{judge_i}} is {{gap_above:points}} points above {{judge_j}} in {{above}} and {{gap_below:points}} "
        "below it in {below}. That is no accident ({p:p})."
    )


def _reversal_unsure(v: Values) -> str:
    more = " more" if v["sure"] else ""
    pairs = plural(v["count"], "pair of judges swaps", "pairs of judges swap")
    return f"{few(v['count']).capitalize()}{more} {pairs} places in the means, but that may be chance."


def _reversal_global(v: Values) -> str:
    swap = f"{few(v['count']).capitalize()} {plural(v['count'], 'pair swaps', 'pairs swap')} places"
    if v["more"]:
        return (
            f"{swap}. By chance {{chance:.1f}} would on average, and seldom more than {{most:.0f}} ({{p/p_floor:p}})."
        )
    return f"{swap}, which chance explains: {{chance:.1f}} would on average ({{p/p_floor:p}})."


def _missing(v: Values) -> str:
    return "{missing} of {entries} scores ({rate:share}) are missing; they are left out, never counted as 0. " + escape(
        " ".join(v["notes"])
    )


def _gain(v: Values) -> str:
    """The advice of the held-out gain; `why` is its code."""
    template = GAIN[v["why"]]
    return template if isinstance(template, str) else template(v)


def _gate(v: Values) -> str:
    chance = "" if v["chance"] is None else " (chance alone: {chance:.1f})"
    end = "." if v["sure"] else ", which may be nothing."
    return (
        f"At the gate {{threshold}} the pass rate of a judge differs between languages by {{raw:.1f}} percentage points"
        f"{chance}. Calibrating takes off {{reduction/low/high:.1f}}{end}"
    )


def _order(v: Values) -> str:
    if len(v["top"]) == 1:
        text = f"{names(v['top'])} is the most lenient judge."
    else:
        text = f"{names(v['top'])} are tied as the most lenient judges."
    if v["tied"]:
        text += f" In {names(v['tied'])} the top judges are tied."
    return text


def _end(end: str) -> Template:
    return lambda v: (
        "{judge} gives the "
        + ("lowest" if end == "floor" else "highest")
        + " score {share/low/high:share} of the time, so its language differences are squeezed."
        + (" {others} too." if v["others"] else "")
    )


def _at_end(end: str) -> str:
    return (
        f"{{judge}} puts {{share:share}} of its scores in {{language}} on the {end}, against {{overall:share}} over "
        "all languages: check the prompt and the parsing there."
    )


SCALE = (
    "The conclusion depends on the scale: under {links} cells are ordered or signed differently. Speak of scores on "
    "this scale, not of judges."
)
INSIDE = {
    "judge": "There is one judge ({judges}): what language does to a judge takes two to compare.",
    "language": "There is one language ({languages}): what compares languages is left out.",
    "both": "There is one judge ({judges}) and one language ({languages}): what compares either is left out.",
    "apart": "The languages share no tasks: what compares languages task by task is left out.",
}
PARTS = {
    "languages": "what compares languages",
    "systems": "who wins, and whether the judges agree about the systems",
    "signal": "whether the judges agree about the tasks",
    "reversals": "the order of the judges, and who swaps places",
    "levels": "the same on a scale without ends",
    "three-way": "the test of effects of single tasks",
    "shift": "the shift of a language that all judges share",
    "variance": "what the variance consists of",
    "gates": "the gate",
    "position": "whether the place of an answer decides",
}


def _wins(v: Values) -> str:
    """Who is first by which criterion."""
    wins = v["wins"]
    mean = f" By the mean of the criteria: {names(v['mean'])}." if v["mean"] else ""
    if len(wins) == 1:
        return f"{names(wins[0][0])} may be best by every criterion." + mean
    parts = [f"{names(first, 2)} by {names(by, 3)}" for first, by in wins]
    parts = parts if len(parts) < 4 else [*parts[:2], "others by the rest"]
    return f"The criteria do not name the same systems as best: {'; '.join(parts)}." + mean


WORDS: dict[str, Template] = {
    # findings
    "constant": "All scores are {score}: whether the judges agree, and what language does to them, cannot be told.",
    "reversal": _reversal,
    "reversal-unsure": _reversal_unsure,
    "no-reversal": "No two of your judges swap places between languages ({pairs} pairs).",
    "reversal-global": _reversal_global,
    "no-clear-cell": "No judge is surely off in any language: with {tasks} tasks none stands out from noise "
    "({level:share}, all cells together).",
    "interaction": "{clear} of {cells} cells are off ({level:share}, all together). The largest: {judge} in "
    "{language}, {interaction/band_low/band_high:+points} points.",
    "accuracy-gain": _gain,
    "do-not-calibrate": _gain,
    "rank-agreement": lambda v: (
        f"On tasks it has not seen, calibrating {'raises' if v['cbc'] > v['raw'] else 'lowers'} the agreement of the "
        "languages on the order of the judges from {raw/raw_low/raw_high:.2f} to {cbc/cbc_low/cbc_high:.2f} (Kendall's "
        "tau). That is consistency, not accuracy."
    ),
    "near-floor": _end("floor"),
    "near-ceiling": _end("ceiling"),
    "cell-at-floor": _at_end("floor"),
    "cell-at-ceiling": _at_end("ceiling"),
    "missing-scores": _missing,
    "one-judge-drives": "Without {judge} the rest nearly agree: the largest deviation falls from {with_it:points} to "
    "{without:points} points, and {swaps} of {pairs} pairs swap places (with it {swaps_with_it}).",
    "depends-on-scale": SCALE,
    "three-way": lambda v: (
        "The language effect depends on the task. Calibrated averages are safe to use; single calibrated scores are "
        "not ({three:share} of the variance, against {two:share} that calibrating removes)."
        if v["clear"]
        else "The language effect does not visibly depend on the task ({p:p})."
    ),
    "three-way-large": "The language effect depends mostly on the task: {three:share} of the variance, against "
    "{two:share} that calibrating removes. Calibrated averages are safe to use; single calibrated scores are not.",
    "gate-spread": _gate,
    "order": _order,
    "shared-shift": lambda v: (
        "All judges together shift {count} of {languages} languages, most {language}: {effect/low/high:+points} "
        "points. Calibrating leaves this in; whether it is an error needs labels."
        if v["count"]
        else "No language is surely shifted by all judges together."
    ),
    "shift-of-one-judge": lambda v: (
        "In {language} the judges do not shift together: their mean moves by {effect/low/high:+points} points, their "
        "median by {median:+points}. {odd} makes the difference; look there first."
        + (" The same holds for {others}." if v["others"] else "")
    ),
    "contaminated": lambda v: (
        "A few tasks carry nearly all of the difference between "
        + ("{judge_i} and {judge_j}" if v["judge"] is None else "{judge} and the other judges")
        + " ({carried:share} in one task of twenty"
        + ("" if v["count"] == 1 else "; {count} pairs are so")
        + "). Look for failed calls there; until then do not trust "
        + ("their order." if v["judge"] is None else "its rank.")
    ),
    "few-tasks": "With {tasks} tasks every interval is wide. Plan for {enough} or more: polyjudge plan --from SCORES",
    "left-out": lambda v: f"Left out: {PARTS[v['part']]}. {{why:text}}",
    "left-out.inside": lambda v: INSIDE[v["why"]],
    "left-out.unjoined": "It takes tasks that the languages share.",
    "left-out.refused": "{text:text}",
    "left-out.three-way": "It needs replicates to tell the task's own language effect from noise.",
    # what is read
    "audit.read": lambda v: (
        _shape(v)
        + (": {scores} scores {low:.4g} to {high:.4g}, " if v["high"] > v["low"] else ": {scores} scores, ")
        + ("none missing." if not v["missing"] else "{missing} of {entries} missing.")
        + (" {unanswered} answers no judge scored." if v["unanswered"] else "")
    ),
    "read.scale": lambda v: (
        "You said that differences of {matters:.2g} {unit} or more matter."
        if v["said"]
        else "Differences of {matters:.2g} {unit} or more are taken to matter (--matters)."
    ),
    "audit.title": lambda v: (
        f"Audit of {{judges}} {plural(v['judges'], 'judge', 'judges')} in {{languages}} "
        f"{plural(v['languages'], 'language', 'languages')}"
    ),
    "audit.names": "{what}: {names:text}",
    # sections
    "audit.effects-chart": "{judge} is the most lenient: {judge_effect/judge_low/judge_high:+points} points from the "
    "grand mean. That is no order of quality.",
    "audit.ranks-arithmetic": "That all languages agree after calibrating is arithmetic: it is the panel's own order "
    "of overall means, not evidence for it.",
    "audit.ranks-chart": "Before calibrating {leaders} different judges lead in {languages} languages; after it one "
    "order holds in all.",
    "audit.ranks-note": "The last row is the rank in every language after calibrating. [low-high]: ranks that "
    "{level:share} confidence cannot rule out; judges whose ranges meet may be tied.",
    "audit.interaction": "Points that a judge gives in a language beyond its own level and the language's. This is "
    "what calibrating subtracts.",
    "audit.heatmap": "The largest is {judge} in {language}: {interaction/low/high:+points} points over {tasks} tasks. "
    "{clear} of {cells} cells are clear of the band that holds all cells at once ({method}).",
    "audit.heatmap-note": "* clear of the {level:share} band over all cells at once.  . only its own interval "
    "excludes 0.",
    "audit.reversals": "{count} of {pairs} pairs swap places in the means, {sure} of them surely, allowing for the "
    "choice of the two languages. By chance {chance:.1f} would (95% of draws: at most {most:.0f}; {p/p_floor:p}, "
    "{method}; with the noise of each cell its own: {p_unequal/p_floor:p}).",
    "audit.gaps-chart": lambda v: (
        "Each row is a pair; strokes right of 0 are languages in which the first judge is above."
        + (" The {drawn} clearest of {turned} pairs are drawn." if v["turned"] > v["drawn"] else "")
    ),
    "audit.probabilities-chart": "Choose a language above, or the calibrated order that all languages share.",
    "audit.fit": "Task, judge, language and their interaction explain R² = {simplified:.4f} of the single scores; with "
    "task by language {full:.4f}. Both describe these scores and have no interval.",
    "audit.three-way-test": "The language effect of single tasks against noise, which may differ between cells "
    "and tasks: {p:p}. By F, which takes it as equal: F({df1}, {df2}) = {f:.2f}, {p_equal:p}.",
    "audit.replicate-noise": lambda v: (
        "Repeats of a score differ by {sd:points} points (standard deviation)"
        + ("." if v["ratio"] is None else ", {ratio:.2f} of the largest deviation of a cell.")
    ),
    "audit.variance-chart": "What calibrating removes, language by judge, has {own:share} of the variance; the largest "
    "part is {largest} with {share:share}. Lines are intervals (jackknife over tasks); a part below zero is shown as "
    "0.",
    "audit.judges-out": "One judge left out: the largest deviation is {low:points} to {high:points} points (all "
    "judges: {all:points}), {least} to {most} pairs swap places (all: {swaps}). Recomputations have no interval.",
    "methods.interaction": "The interaction of a cell is its mean over tasks, less its judge's mean, less its "
    "language's mean, plus the grand mean (double centring). Calibrating subtracts it from every score of the cell. No "
    "labels are used.",
    "methods.intervals": "Intervals come from the spread over tasks, taken as independent. The band over all cells is "
    "a {method} at {level:share}: interaction plus or minus {critical:.2f} standard errors. Reversals are tested in "
    "both directions over all languages, adjusted for picking the languages and for testing all pairs "
    "(Benjamini-Hochberg at {alpha}).",
    "caveat.leniency": "A high mean is leniency, not quality: the top judge is the most lenient one. Agreement after "
    "calibrating on the same scores is arithmetic, and agreement on new tasks is consistency, not accuracy.",
    "caveat.shared-shift": "What all judges add or take in a language together stays in the scores. Only labels can "
    "tell it from real differences, and which judge is right.",
    "caveat.unseen": "A language that is not in the panel is taken as unaffected until a few of its tasks are scored.",
    "caveat.tasks": "Calibrating removes the mean over tasks; what differs from task to task stays.",
    # notes
    "scale.depends": SCALE,
    "scale.survives": "The conclusion survives on all three other scales.",
    "sensitivity.constant": "All scores are equal: links and left-out parts change nothing.",
    "sensitivity.fewer-resamples": "{made} of {asked} resamples were made, to bound the time on so many cells.",
    "sensitivity.two-judges": "With two judges none can be left out.",
    "variance.whole-tasks": "From the {whole} of {tasks} tasks that lack no score.",
    "variance.constant": "All scores are equal: there is no variance to divide.",
    "three-way.no-replicates": "There are no replicates, so the language effect of single tasks cannot be told from "
    "noise.",
    "three-way.no-noise": "All replicates of a score are equal, so there is no noise to compare with.",
    "three-way.some": "The language effect depends on the task. Calibrated averages are safe to use; single calibrated "
    "scores are not. The intervals come from the spread over tasks and allow for this.",
    "three-way.none": "The language effect does not visibly depend on the task.",
    "missing.part": "The tests use a random {share:share} of the tasks that lack scores.",
    "missing.rate": "{missing} of {entries} entries ({rate:share}) have no score; missing is missing, never zero.",
    "missing.none": "No score is missing.",
    "missing.unanswered": lambda v: (
        "{unanswered} answers of systems no judge scored: they were not there to be judged, and count as no failed "
        "call."
        + (
            " Not run at all: " + names([f"{system} in {language}" for system, language in v["absent"]]) + "."
            if v["absent"]
            else ""
        )
    ),
    "missing.together": "{judge} in {language} lacks {worst:share}, against {overall:share} overall, and that is no "
    "accident ({p/p_floor:p}). If they fail because of what they would have scored, the cell is biased: see its range.",
    "missing.margins": "Missing scores are not spread evenly ({p/p_floor:p}): {judge} in {language} lacks "
    "{worst:share}, against {overall:share} overall. Rates of languages and judges explain it, and the estimate "
    "allows for that.",
    "missing.one-holder": "All missing scores are of one judge or one language; most lacks {judge} in {language}, "
    "{worst:share}. Nothing here tells whether they are missing because of what they would have been: see the range of "
    "its cells.",
    "missing.even": "Nothing shows that they depend on language and judge ({p/p_floor:p}); most lacks {judge} in "
    "{language}, {worst:share} against {overall:share} overall.",
    "missing.tests": "Does missingness depend on the cell: {p/p_floor:p}; on language and judge together, "
    "beyond each alone: {p_together/p_floor:p}.",
    # demo
    "recovery": lambda v: (
        "The scores are simulated, so the truth is known. The estimate is off by {error:points} points (root mean "
        "square) where the planted interaction has {planted:points}; at most by {largest:points}. {inside} of {cells} "
        "intervals hold the planted value, at {level:share}; the band over all cells "
        + ("holds" if v["in_band"] else "does not hold")
        + " all of them at once."
    ),
    # verdict, uses, steps, explanation
    "verdict.shared": "An error that all judges share would not show here; only labels would tell.",
    "verdict.calm": "No gap between two judges changes by more than {delta:points} {unit} from one language to another "
    "({level:share}).",
    "verdict.open": _open,
    "verdict.ends": "Gaps between judges change by up to {delta:points} {unit} from one language to another, but the "
    "ends of the scale explain that: on a scale without ends judges and languages add up.",
    "verdict.cell": lambda v: f"{_perhaps(v)}{{judge}} is off in {{language}}: {off(v)} say{_named(v)}.{_piled(v)}",
    "verdict.cells": lambda v: (
        f"{_perhaps(v)}{_count(v)} cells are off from the other judges: {_place(v['named'])}. Furthest is "
        f"{{judge}} in {{language}}, {off(v)} say{_named(v)}.{_piled(v)}"
    ),
    "verdict.judge": lambda v: (
        f"{_perhaps(v)}{{judge}} reacts to language unlike the other judges, most in {{language}}: {off(v)} "
        f"say{_named(v)}."
    ),
    "verdict.language": lambda v: (
        f"{_perhaps(v)}In {{language}} the judges part as in no other language, most {{judge}}: {off(v)} "
        f"say{_named(v)}. Check the prompt in {{language}}."
    ),
    "verdict.won": lambda v: (
        ("By these judges {first} wins" if v["sure"] else "{first} and {second} cannot be told apart")
        + ": of 100 verdicts {lead/low/high:"
        + (".0f" if v["low"] >= 0 else "+.0f")
        + "} more are for {first} than for {second}."
    ),
    "verdict.missing": "{judge} lacks {worst:share} of its scores in {language}, against {overall:share} overall. If "
    "it leaves out what it would have scored low or high, its numbers there are off, and nothing here tells.",
    "verdict.diffuse": _diffuse,
    "verdict.gap": lambda v: (
        f"{_changes(v)} your judges: {{judge_i}} stands "
        + about(v["change"], v["low"], v["high"])
        + " {unit} higher against {judge_j} in {above} than in {below}."
    ),
    "verdict.swap": "{judge_i} is {gap_above:points} {unit} above {judge_j} in {above} and {gap_below:points} below it "
    "in {below}. That is no accident ({p:p}).",
    "verdict.inside": lambda v: INSIDE[v["why"]],
    "verdict.unjoined": "No tasks join the languages: a judge may be off in one because of its tasks.",
    "use.inside": "What compares languages and judges cannot be answered with these scores.",
    "verdict.two-judges": "Which of the two judges is off nobody can tell from their scores.",
    "verdict.probes": _probed,
    "use.compare.blind": lambda v: (
        f"To compare {'systems' if v['systems'] else 'tasks'}: not with this panel. Nothing that is done to its scores "
        "helps."
    ),
    "use.compare.none": "To compare systems: these scores do not say which system they are of. Name that column: "
    "--system NAME.",
    "use.compare.mean": "To compare systems: average the judges. Calibrating cannot change their order.",
    "use.compare.group": "To compare systems: not by these judges alone, who do not agree on them. Labels decide.",
    "use.compare.inside": lambda v: (
        f"To compare systems: {'average the judges' if v['judges'] > 1 else 'take its mean scores'}"
        + (", and compare inside a language." if v["languages"] > 1 else ".")
    ),
    "use.compare.missing": "To compare systems: by the means of `polyjudge systems`, which allow for missing scores. "
    "In plain averages one system may meet harsher judges than another.",
    "use.gate.blind": lambda v: f"{_gate_use(v)}: not with this panel. Its judges do not agree about what passes.",
    "use.gate.calm": lambda v: (
        f"{_gate_use(v)}: use the scores as they are. Calibrating would turn {{flips}} of {{decisions}} decisions."
    ),
    "use.gate.open": lambda v: f"{_gate_use(v)}: use the scores as they are until more tasks are scored.",
    "use.gate.ends": lambda v: f"{_gate_use(v)}: use the scores as they are.",
    "use.gate.culprit": lambda v: (
        f"{_gate_use(v)}: {'settle what is off' if v['sure'] else 'read the answers there'} first."
    ),
    "use.gate.diffuse": _gate_diffuse,
    "use.one.calm": "To use one judge: as it is. Judges further apart than that in one language stand in the same "
    "order in every other; it is one of leniency, not of quality.",
    "use.one.open": lambda v: (
        "To use one judge: as it is" + ("." if v["blind"] else "; more tasks would tell what language does to it.")
    ),
    "use.one.ends": "To use one judge: as it is. Calibrating would correct the ends of the scale, not the judge.",
    "use.one.culprit": lambda v: (
        "To use one judge: first read what is off. It errs there, or the others share an error."
        if v["sure"]
        else "To use one judge: read the answers there first. Too few resamples agree to correct anything."
    ),
    "use.one.diffuse": _one_diffuse,
    "use.one.few": "To use one judge: score more tasks first. {tasks} are too few to calibrate on.",
    "use.one.probed": _rank_probed,
    "use.best": "Which judge is best in a language only labels or probes can tell; means show who is lenient.",
    "use.best.probed": lambda v: (
        "To pick a judge for a language: probes show who notices damage, not who is best."
        + (f" Leave out {places(v['blind_places'])}." if v["blind_places"] and v["reacts"] else "")
    ),
    "use.mean.probed": lambda v: (
        f"To average the judges: not where most of them are blind. There {places(v['competence_places'])} sees more "
        "than the mean."
    ),
    "use.mean.blind": lambda v: (
        f"To average the judges: their mean says no more about the {'tasks' if v['by_task'] else 'systems'} than they."
    ),
    "use.mean.missing": "To average the judges: compare only answers that all of them scored. Elsewhere the mean "
    "depends on who is missing.",
    "use.mean.nothing": "To average the judges: as they are. Calibrating changes nothing there, by arithmetic.",
    "use.mean.culprit": lambda v: (
        f"To average the judges: {{judge}}{'' if v['sure'] else ' perhaps'} pulls {{language}} "
        f"{'down' if v['excess'] < 0 else 'up'} by "
        f"{about(abs(v['excess']), *sorted((abs(v['low']), abs(v['high']))))} {{unit}}."
    ),
    "step.read-worst": "Read the answers that move it most",
    "step.without": "Audit without it",
    "step.correct-alone": "Or correct it alone",
    "step.calibrate": "Calibrate",
    "step.plan": lambda v: "Plan more tasks" + ("" if v["needed"] is None else f" (about {number(v['needed'], 0)})"),
    "step.baseline": "Keep this as your baseline, to compare later scores with (polyjudge drift)",
    "step.systems": "The leaderboard in full",
    "step.labels": lambda v: "Label fifty a language" if v["labels"] is None else "Label {labels} a language",
    "caveat.labels": lambda v: (
        "{labels} labels a language "
        + ("are a first round: " if v["labels"] >= MANY else "bring its mean to ±{within:share} of the scale ")
        + "if people differ from the panel as a judge does from the others"
        + (", it takes more." if v["labels"] >= MANY else ".")
    ),
    "step.probe": "Do they notice quality? Damage some responses (ITEMS: your tasks with them)",
    "explain.kind.none": "Nothing: judges and languages add up, within noise.",
    "explain.kind.cell": "One place: {judge} in {language}.",
    "explain.kind.cells": lambda v: f"A few places: {_place(v['named'])}.",
    "explain.kind.judge": "One judge: {judge}.",
    "explain.kind.language": "One language: {language}.",
    "explain.kind.diffuse": lambda v: (
        "Everything a little: no few places explain it"
        + (f", though {_place(v['named'])} stands out." if v["named"] else ".")
    ),
    "explain.stability": "{stability:share} of {resamples} random halves of the tasks say the same.",
    "explain.cell": lambda v: (
        f"{{judge}} in {{language}}: {off(v)} and its other languages lead to expect (double centring: "
        "{interaction:+points})."
    ),
    "explain.shares": lambda v: (
        "Scores at the lowest value: {floor:share} there, {floor_elsewhere:share} in its other languages; at the "
        "highest: {ceiling:share} and {ceiling_elsewhere:share}; missing: {missing:share} and "
        "{missing_elsewhere:share}."
    ),
    "explain.shares-chart": lambda v: (
        "Each small picture shows how often a judge gave which score in a language."
        + (f" In the accent colour: {_place(v['named'])}." if v["named"] else "")
    ),
    "explain.shares-missing": "Missing: {missing:share} of its scores there, {missing_elsewhere:share} in its other "
    "languages.",
    "explain.without": "Without the places named, the largest deviation falls from {largest:points} to "
    "{without:points} {unit}, and {clear_without} of {cells} cells are clear of noise instead of {clear}.",
    "explain.worst": "The score, the mean of the other judges of the same answer, and what they lead to expect",
    "answer.scores": lambda v: (
        "{number}. {task}"
        + (", {system}" if v["system"] is not None else "")
        + ", {language}: {judge} gave {score:points}, the others {others:points} on average."
    ),
    "answer.prompt": "Asked: {text:text}",
    "answer.response": "Answered: {text:text}",
    "answer.reason": "{judge}: {text:text}",
    "explain.alt": lambda v: (
        "How far each judge is off in each language, beyond its own and the language's level."
        + (" The culprit is framed." if v["named"] else "")
    ),
    "explain.grid": lambda v: (
        f"{v['unit'].capitalize()} that `calibrate{' --method sparse' if v['method'] == 'sparse' else ''}` takes off"
        + (" ({shown} languages; {more} more are off less)" if v["more"] else "")
    ),
    "explain.grid-note": lambda v: "; ".join(
        text
        for text, there in (
            ("[ ] named in {share:share} of resamples", v["share"] is not None),
            (". less than {matters:.2g} {unit}" if v["method"] == "cbc" else ". nothing", v["small"]),
        )
        if there
    ),
    "explain.cells": "Every place: the sparse reading with its {level:share} interval, and double centring with its "
    "band",
    "explain.certificate": lambda v: (
        "At {level:share} no gap between two judges changes by more than {delta:points} {unit} from one language to "
        "another"
        + (" (the limit of changes too rare to be seen)" if v["exact"] else "")
        + ". Surest is that of {judge_i} and {judge_j}, by {change:+points} between {language_b} and {language_a}. "
        "{material} of {cells} cells are off by more than {matters:.2g} {unit} for sure, {open} may be, {negligible} "
        "are not."
        + (
            ""
            if v["needed"] is None
            else " If nothing is off, about {needed} tasks would bring it below {matters:.2g}."
        )
    ),
    # gates
    "gate.flips": lambda v: (
        "Calibrating turns no decision."
        if v["flips"] == 0
        else "Calibrating turns {flips} of {decisions} decisions ({share/low/high:share})."
    ),
    "gate.spread": _gate_spread,
    "gate.gain": _gate_gain,
    "gate.rates-chart": "From {low:share} ({low_judge} in {low_language}) to {high:share} ({high_judge} in "
    "{high_language}).",
    "gate.rates": lambda v: f"Pass rates {_side(v)} {{threshold}}, {{stage}}, % of tasks",
    "gate.systems": lambda v: f"Answers of each system that pass {_side(v)} {{threshold}}, over its judges",
    "gate.same-tasks": "On the same tasks the gap after calibrating is {calibrated/low/high:.1f} points.",
    "gate.held-out": "On left-out tasks it is {raw:.1f} points raw and {calibrated:.1f} calibrated ({resamples} "
    "resamples of the tasks, {level:share} intervals).",
    "gate.scope": "Calibration shifts all scores of a judge in a language alike, so their order stays. What all judges "
    "share in a language stays too. Equal pass rates are consistent ones; which rate is right needs labels.",
    "gate.sweep-chart": "For each judge the largest less the smallest pass rate over languages, averaged over judges. "
    "Raw it reaches {raw:.1f} percentage points, calibrated {calibrated:.1f}. Bands are {level:share} intervals over "
    "resampled tasks.",
    "gate.contrast": "{base} less the mean of the other languages, percentage points",
    "gate.note.outside": "{count} thresholds of the sweep lie outside the scores [{low}, {high}] and were left out.",
    "gate.note.fewer-resamples": "{made} of {asked} resamples were made, to bound the time on {units} units.",
    "gate.note.missing": "Scores are missing: pass rates are least-squares estimates with task and cell effects.",
    "gate.note.units": "Units hold several tasks: each passes by the mean of its tasks, so these are rates of units.",
    # a scale without ends
    "bounded.title": "On a scale without ends",
    "bounded.why": _ends_why,
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
    # panels of other shapes
    "inside.passes": lambda v: (
        "At the mark of {mark:g}, {least_pass_rate/least_pass_low/least_pass_high:share} pass."
        if v["cells"] == 1
        else "At the mark of {mark:g}, from {least_pass_rate/least_pass_low/least_pass_high:share} ({least_judge} in "
        "{least_language}) to {most_pass_rate/most_pass_low/most_pass_high:share} ({most_judge} in {most_language}) "
        "pass."
    ),
    "inside.means": "Mean scores, {level:share} intervals over tasks",
    "criteria.title": "Audit of {criteria} criteria",
    "criteria.read": "{criteria} criteria. By the first, {first}:",
    "criteria.rows": lambda v: (
        "Each criterion by itself; all intervals together hold at {level:share}"
        + (" (those of cells: --full)" if v["cells"] else "")
    ),
    "criteria.alike": "Correlation of what two criteria say of the answers, {level:share} intervals",
    "criteria.how": "Products of different judges only, so that what one judge adds to both criteria does not count.",
    "criteria.one": "{criterion}",
    "criteria.wins": _wins,
    "criteria.agreement": lambda v: (
        (
            "The judges agree with each other about every criterion"
            if not v["unsure"]
            else f"The judges do not surely agree about {names(v['unsure'])}"
        )
        + ("; least about {criterion} ({agreement/low/high:.2f})." if v["known"] else ".")
    ),
    "criteria.off": lambda v: (
        "The trouble is in {criterion}: {judge} is {excess/excess_low/excess_high:+points} points off from the other "
        "judges in {language}." + ("" if v["count"] == 1 else " {count} of {criteria} criteria have such a cell.")
    ),
    "criteria.calm": "No gap between two judges changes by more than {delta:points} points between languages, by any "
    "criterion (most by {criterion}).",
    "criteria.same": lambda v: (
        "{criterion_a} and {criterion_b} say the same of the answers ({correlation/low/high:.2f}): one would do."
        + ("" if v["count"] == 1 else f" So do {v['count'] - 1} other pairs.")
    ),
}
