"""Words about human labels."""

from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.numbers import points
from polyjudge.second.panel.say import Template, Values, escape, names, places, plural


def _raters(v: Values) -> str:
    if v["verdict"] == "alone":
        return (
            "No item was labelled by two annotators, so whether they agree cannot be told. Have some labelled twice "
            "before you rely on this."
        )
    how = {
        "well": "Your annotators agree well",
        "enough": "Your annotators agree well enough for means, not for single items",
        "poor": "Your annotators do not agree: mend the rubric and label again before anything else",
    }
    return how[v["verdict"]] + " (alpha {alpha/low/high:.2f})."


def _odd_raters(v: Values) -> str:
    who = [
        f"{escape(clean(name))} ({'noisier' if odd == 'noisy' else f'{points(abs(by))} points {odd}er'})"
        for name, odd, by in v["who"][:3]
    ]
    more = len(v["who"]) - 3
    end = f" and {more} more stand" if more > 0 else " stand" if len(who) > 1 else " stands"
    return ", ".join(who) + end + " out from the other annotators of the language."


def _explained(v: Values) -> str:
    if v["most"]:
        return (
            ("Most" if v["share"] >= 0.5 else "Much")
            + " of the difference between languages may be your annotators: those of one language differ by "
            "{spread/spread_low/spread_high:points} points among themselves, which may be {share/low/high:share} "
            "of it. "
            + (
                "What those of two languages labelled does not settle it: have them label more before you correct the "
                "panel by it (label make --more --link)."
                if v["linked"]
                else "Each labels in one language, so severity and language cannot be told apart: do not correct the "
                "panel by it before people who read two have labelled (label make --link)."
            )
        )
    return (
        "Annotators of one language differ by {spread/spread_low/spread_high:points} points: that may be "
        "{share/low/high:share} of the difference between languages."
    )


def _error(v: Values) -> str:
    if v["every"] is not None:
        least, most, language = v["every"]
        span, end = points(abs(least)), f", most in {escape(clean(language))}."
        if points(abs(most)) == span:
            end = "."
        else:
            span += f" to {points(abs(most))}"
        return f"Against them the panel is {span} points {'above' if most > 0 else 'below'} in every language{end}"
    above, below = v["above"], v["below"]
    parts = [
        f"{points(abs(value))} points {word} in {escape(clean(language))}"
        for word, (language, value) in (("above", above), ("below", below))
        if language is not None
    ]
    if not parts:
        return "Against them the panel is off in no language."
    return "Against them the panel is " + " and ".join(parts) + "."


def _fall(v: Values) -> str:
    free = (
        ""
        if v["free"] is None
        else "Calibrating without labels removes {free/free_low/free_high:share} of a judge's error; "
    )
    if not v["low"] > 0:
        whether = "whether correcting by these labels brings the languages together cannot be told yet."
        return free + (whether if free else whether.capitalize())
    return (
        free
        + ("correcting" if free else "Correcting")
        + " by these labels removes {removed/low/high:share} of the panel's on other tasks: it falls from "
        "{before:points} to {after:points} points."
    )


def _judges(v: Values) -> str:
    if v["best"] is None:
        return "Which judge is best cannot be told from so few labels."
    text = "By them {best} is the best judge over all languages" + ("" if v["sure"] >= 0.9 else ", perhaps")
    if not v["other"]:
        return text + ", and in no language clearly another."
    named = [f"{escape(clean(judge))} in {escape(clean(language))}" for language, judge in v["other"][:3]]
    more = len(v["other"]) - 3
    return text + "; rather " + ", ".join(named) + (f" and {more} more" if more > 0 else "") + "."


def _board(v: Values) -> str:
    text = "As humans would rank, " + (
        "{first} is first" if len(v["tied"]) < 2 else f"{names(v['tied'])} are tied first"
    )
    return text + ("." if v["same"] else "; the panel's own first is {panel}.")


WORDS: dict[str, Template] = {
    "raters.verdict": _raters,
    "raters.odd": _odd_raters,
    "raters.explained": _explained,
    "raters.apart": "Each annotator works in one language, so severity and language cannot be told apart: label make "
    "--link has some items labelled by people who read two.",
    "raters.linked": "{annotators} annotators of two languages tell severity from language in {languages} of {of} "
    "languages: it is taken off, in {language} {by/low/high:+points} points.",
    "raters.alone": "No item has labels of two annotators.",
    "humans.error": _error,
    "humans.fall": _fall,
    "humans.board": _board,
    "humans.judges": _judges,
    "humans.open": lambda v: (
        f"{{open}} of {{languages}} languages {plural(v['open'], 'is', 'are')} not settled: about "
        "{more} more labels a language would tell whether the "
        "panel is off there by more than {matters:.3g} points."
    ),
    "humans.raters-limit": lambda v: (
        f"{{open}} of {{languages}} languages {plural(v['open'], 'is', 'are')} not settled, and more labels by the "
        "same people would not change that: ask another annotator there."
    ),
    "humans.settled": "Every language is settled: off, or within {matters:.3g} points.",
    "humans.skewed": "With fewer than 20 labels in a language, and skewed labels, intervals of its "
    "mean cover less than they say (about 90%).",
    "humans.shrunk": "Errors are shrunk to the mean of all languages; their intervals allow for how far languages "
    "differ and for the annotators. What a language's own labels say stands beside.",
    "humans.more": "Label what is open.",
    "humans.link": "Have people who read two languages label.",
    "humans.save": "Correct the scores by the labels, and keep the calibrator.",
    "anchor.no-interaction": "With one judge or one language there is nothing to calibrate without labels.",
    "anchor.read": lambda v: (
        "{labels} "
        + ("human labels" if v["judge"] is None else "scores of {judge}, taken as human,")
        + plural(v["languages"], " in one language", " in {languages} languages")
    ),
    "anchor.helped": lambda v: (
        f"Calibrating helps {{helped}} {plural(v['helped'], 'cell', 'cells')} and hurts {{hurt}}; for {{unclear}} it "
        "cannot be told (all at once, {level:share})."
    ),
    "anchor.invariance": lambda v: (
        "Calibrating cannot change what the average of the judges decides. "
        + ("Checked" if v["holds"] else "This does NOT hold, please report it")
        + ": {changed} of {entries} decisions changed, the largest move is {most:.1g} points."
    ),
    "anchor.chart": lambda v: (
        ("Agreement with" if v["agreement"] else "Squared error against") + " the labels, before and after calibrating."
    ),
    "anchor.chart-text": lambda v: (
        "Intervals are over tasks; calibration was fitted on other tasks. "
        + ("Ties count as no agreement." if v["agreement"] else "A gain is a fall of the error.")
    ),
    "anchor.ties": "A judge's agreement can move only because calibrating moves its threshold: its AUC inside a "
    "language stays. Decisions that changed from a tie were pushed to one side, not informed.",
    "anchor.incomplete": "{count} labelled entries lack a judge's score; there the mean of the others can move.",
    "anchor.gain": "Both columns estimate the same gain and are equal when every task is labelled. On the same tasks "
    "it is arithmetic and has no interval.",
    "anchor.hurt": "{judge} in {language} was nearer to the humans than the panel: calibrating adds "
    "{loss/low/high:points} points squared.",
    "anchor.more-labels": lambda v: (
        f"More labels would settle {v['cells']} open cells: "
        + (f"{v['few']}" if v["few"] == v["most"] else f"{v['few']} to {v['most']}")
        + " more per language. The others need more tasks, not labels."
    ),
    "anchor.distance": "What all judges together give more (or less) than the humans, calibrating without labels "
    "leaves in.",
    "anchor.probes": lambda v: (
        "Labels and probes agree about {agrees} pairs of language and judge"
        + (f" and contradict each other about {places(v['places'])}: trust the labels." if v["places"] else ".")
        + (" {open} are open." if v["open"] else "")
    ),
    "anchor.probes-table": "What probes and labels say of every judge",
    "anchor.means": "The panel-only interval knows nothing of a shared shift. Labelled tasks must be a random part of "
    "all tasks.",
}
