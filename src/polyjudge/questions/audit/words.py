"""Words of an audit: verdict, findings, sections."""

from __future__ import annotations

from polyjudge.panel.say import Template, Values, names, plural
from polyjudge.questions.audit.bounded_words import WORDS as bounded_words
from polyjudge.questions.audit.explain_words import WORDS as explain_words
from polyjudge.questions.audit.gates_words import WORDS as gates_words

SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def few(count: int) -> str:
    """A small count in words."""
    return SMALL[count] if 0 <= count < len(SMALL) else f"{count:,}"


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
    return (
        "{missing} of {entries} scores ({rate:share}) are missing; they are left out, never counted as 0. "
        + " ".join(note.replace("{", "{{").replace("}", "}}") for note in v["notes"])
    )


def _gain(v: Values) -> str:
    """The advice of the held-out gain; `why` is its code."""
    return GAIN[v["why"]]


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
    return text.replace("{", "{{").replace("}", "}}")


def _end(end: str) -> Template:
    return lambda v: (
        "{judge} gives the "
        + ("lowest" if end == "floor" else "highest")
        + " score {share/low/high:share} of the time, so its language differences are squeezed."
        + (" {others} too." if v["others"] else "")
    )


GAIN = {
    "gain.advised": "If you use a single judge, calibrate: one picked at random comes "
    "{closer/closer_low/closer_high:points} points closer to the panel. If you average the judges, nothing changes. "
    "Which judge gains most needs labels.",
    "gain.open": "Do not calibrate: it may only add noise (squared distance to the panel falls by "
    "{gain/low/high:+points}, which includes 0). More tasks, or shrinkage, may show a gain.",
    "gain.loss": "Do not calibrate: it adds error (squared distance to the panel changes by {gain/low/high:+points}). "
    "More tasks, or shrinkage, may show a gain.",
    "gain.too-few": "Do not calibrate: {tasks} tasks are too few to measure what it gains.",
}
SCALES = {
    "binary": "Yes or no",
    "likert": "A rating from {low:.4g} to {high:.4g}",
    "percent": "A scale of 0 to 100",
    "open": "An open scale",
}
LEFT_OUT = "Left out: {part}. {why:text}"

WORDS: dict[str, Template] = {
    **GAIN,
    "gain.scope": "The gain is that of one judge drawn at random: it comes nearer to the panel mean, and so on average "
    "to any truth that is the same for all judges. Who uses the panel mean gains exactly 0. A given judge may gain or "
    "lose, and only labels tell. Shifts of all judges of a language alike are not counted: they need labels too.",
    # findings
    "constant": "All scores are {score}: there is nothing to compare or to calibrate.",
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
    "cell-at-floor": "{judge} puts {share:share} of its scores in {language} on the floor, against {overall:share} "
    "over all languages: check the prompt and the parsing there.",
    "cell-at-ceiling": "{judge} puts {share:share} of its scores in {language} on the ceiling, against {overall:share} "
    "over all languages: check the prompt and the parsing there.",
    "missing-scores": _missing,
    "one-judge-drives": "Without {judge} the rest nearly agree: the largest deviation falls from {with_it:points} to "
    "{without:points} points, and {swaps} of {pairs} pairs swap places (with it {swaps_with_it}).",
    "depends-on-scale": "The conclusion depends on the scale: under {links} cells are ordered or signed differently. "
    "Speak of scores on this scale, not of judges.",
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
        "median by {median:+points}. {odd} makes the difference; look there first (polyjudge explain)."
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
    "left-out-three-way test": LEFT_OUT,
    "left-out-variance": LEFT_OUT,
    "left-out-bounded": LEFT_OUT,
    "left-out-gate spread": LEFT_OUT,
    "left-out-gate": LEFT_OUT,
    "left-out-rank reversals": LEFT_OUT,
    "left-out-signal": LEFT_OUT,
    "left-out-systems": LEFT_OUT,
    "left-out.three-way": "It needs replicates to tell the task's own language effect from noise.",
    "left-out.gate-spread": "All scores are equal, so no threshold divides them.",
    # what is read
    "read.scale": lambda v: f"{SCALES[v['scale']]}; effects of {{matters:.2g}} {{unit}} or more matter (--matters).",
    "read.looks": lambda v: (
        "The collection could stop at {looks} looks. The 95% intervals here do not allow for that."
        if v["level"] is None
        else f"The collection could stop at {{looks}} looks, so each interval is at {100 * v['level']:.4g}%: together "
        f"they keep {100 * (1 - (1 - v['level']) * v['looks']):.4g}%."
    ),
    "audit.title": "Audit of {judges} judges in {languages} languages",
    "audit.names": "{what}: {names:text}",
    # sections
    "audit.effects-chart": lambda v: (
        "{judge} gives the most points over all, {judge_effect/judge_low/judge_high:+points} from the grand mean. It "
        "is an order of leniency, not of quality."
    ),
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
    "audit.judges-out-chart": "The dashed line is the largest deviation of the whole panel ({all:points} points). A "
    "short bar names the judge behind it.",
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
    "scale.depends": "The conclusion depends on the scale: under {links} cells are ordered or signed differently. "
    "Speak of scores on this scale, not of judges.",
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
}
WORDS |= bounded_words
WORDS |= explain_words
WORDS |= gates_words
