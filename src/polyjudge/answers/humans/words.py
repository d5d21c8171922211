"""What `humans` says: sentences for the first screen (topic "People"), and the report."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge._version import __version__
from polyjudge.answers.humans.board import PeopleBoard, board_findings, board_section, board_table
from polyjudge.answers.humans.next_labels import brought_findings, next_labels, what_it_brings
from polyjudge.base.numbers import (
    Estimate,
    ci,
    ci_digits,
    digits_of,
    format_estimate,
    format_share,
    format_share_limits,
    missing,
    number,
    percent,
    percent_ci,
)
from polyjudge.base.text import count, name, names, shell
from polyjudge.calibrate.by_labels import CONFOUNDED
from polyjudge.calibrate.consensus import taken_off
from polyjudge.report.model import Chart, Finding, Report, Section, Step, Table
from polyjudge.stats.labels import Limits, apart, fewest_to_decide

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.humans.compare import Humans

AGREE = 0.3
"""Krippendorff's alpha above (below) which annotators agree (hardly agree): the mark of judges' agreement."""
WIDE_ALPHA = 0.5
"""Width of its interval from which alpha says nothing."""
WEIGHTS_DIFFER = 0.2
"""Share by which a weight must differ from equal ones to be said."""
UNLIKE_RANDOM = 3.0
"""z of labelled against other answers from which labels are called unlike a random draw."""


def findings(h: Humans) -> tuple[Finding, ...]:
    """All that is said: people's board, annotators, agreement, what people would say, where both differ."""
    removes = h.calibrator_.findings() if h.calibrator_ is not None and _has_unlabelled(h) else ()
    board = [*board_findings(h.board_), *brought_findings(h)] if h.board_ is not None else []
    systems = _systems(h) if h.board_ is None else []
    details = [*_rate(h), *_languages(h), *systems, *removes]
    apart_ = _apart(h)
    if board:  # it says who is first and how sure that is: the screen has no room for more
        details, apart_ = ([replace(finding, topic="") for finding in part] for part in (details, apart_))
    found = [*board, *_annotators(h), _agreement(h), *details, *_alone(h), *apart_]
    return (*found, *_requirements(h), *_caveats(h), *_weights(h), *_consensus(h))


def _has_unlabelled(h: Humans) -> bool:
    """Whether there are answers that are yet to be corrected."""
    return not bool(np.isfinite(h.sides_.y[np.isfinite(h.sides_.guide)]).all())


def _say(key: str, text: str, severity: Any = "info", topic: str = "People") -> Finding:
    return Finding(severity, f"humans.{key}", text, topic)


def _who(h: Humans) -> str:
    """How the judge that is asked about is called in a sentence."""
    return "the judge" if len(h.panel_.judges) == 1 else "the panel"


def _lead(h: Humans, frame: pd.DataFrame) -> Any:
    """The row of the judge that is asked about, over all languages and systems."""
    return frame[frame["judge"] == h.sides_.lead].iloc[0]


def _unit(h: Humans) -> tuple[float, str]:
    """What labels and differences are multiplied by to be shown, and their unit."""
    if h.two_valued:
        return 100.0, "percentage points"
    return 1.0, h.panel_.unit_name if h.sides_.same else "points on their own scale"


def _limits(row: Any, measure: str) -> Limits:
    return float(row[measure]), float(row[measure + "_low"]), float(row[measure + "_high"])


def _bracket(low: float, high: float) -> str:
    return "" if missing(low) else f" [{number(low)}, {number(high)}]"


def _away(d: float, low: float, high: float, unit: str) -> str:
    """How much higher or lower the judge is than people."""
    return f"{ci(d, low, high, unit)} higher" if d >= 0 else f"{ci(-d, -high, -low, unit)} lower"


def _estimate(row: Any, measure: str) -> Estimate:
    """A measure of a row, with its columns `_low` and `_high`."""
    return Estimate(*_limits(row, measure))


# --- annotators ---


def _annotators(h: Humans) -> list[Finding]:
    """Whether annotators agree with each other, and who of them labels more harshly than the others."""
    findings = []
    alpha = Estimate(*h.alpha)
    if not missing(alpha.value):
        findings.append(_alpha_finding(h, alpha))
    harsher = h.annotators[h.annotators["low"] > 0].sort_values("harsher", ascending=False, kind="stable")
    if len(harsher):
        findings.append(_say("harsher", _harsher_sentence(h, harsher), "notice"))
    return findings


def _alpha_finding(h: Humans, alpha: Estimate) -> Finding:
    """Krippendorff's alpha of the annotators, read by its interval."""
    annotators = f"The {sum(bool(annotator) for annotator in h.sides_.found.annotators)} annotators"
    value = f"alpha = {format_estimate(alpha)}"
    if alpha.high < AGREE:
        text = f"{annotators} hardly agree with each other ({value}): comparing judges with them tells little."
        return _say("annotators", text, "warning")
    if alpha.low > AGREE:
        return _say("annotators", f"{annotators} agree with each other ({value}).")
    if alpha.high - alpha.low <= WIDE_ALPHA:
        return _say("annotators", f"{annotators} agree moderately ({value}).")
    text = f"Too few answers have labels by two annotators to tell whether they agree ({value})."
    return _say("annotators", text, topic="")


def _harsher_sentence(h: Humans, harsher: pd.DataFrame) -> str:
    """Who is harsher than the others, where, and by how much. harsher : those who certainly are, the harshest first"""
    by_annotator = {annotator: rows for annotator, rows in harsher.groupby("annotator", sort=False)}
    shown = [_harsher_clause(h, annotator, rows) for annotator, rows in list(by_annotator.items())[:2]]
    text = "; ".join(shown)
    if len(by_annotator) > 2:
        text += f"; {count(len(by_annotator) - 2, 'more annotator')} too"
    return f"{text}."


def _harsher_clause(h: Humans, annotator: Any, rows: pd.DataFrame) -> str:
    """One annotator: "ann2 is harsher than ann1 in German (6.8 points [4.1, 9.5]), English and Thai"."""
    factor, unit = _unit(h)
    harshest = rows.iloc[0]
    size = ci(*Estimate(harshest["harsher"], harshest["low"], harshest["high"]).times(factor), unit)
    same_languages = h.annotators[h.annotators["language"].isin(rows["language"])]
    others = [x for x in same_languages["annotator"].unique() if x != annotator]
    are_two = bool((same_languages.groupby("language").size() == 2).all())
    beside = name(others[0], 30) if are_two and len(others) == 1 else "the other" if are_two else "the others"
    clause = f"{name(annotator, 30)} is harsher than {beside}"
    if len(h.panel_.languages) < 2:
        return f"{clause}, by {size}"
    first, *rest = [name(language, 30) for language in rows["language"]]
    where = f"{first} ({size})"
    if rest:
        where = f"{', '.join([where, *rest[:-1]])} and {rest[-1]}"
    if len(rest) > 3:
        where = f"{where.split(' (')[0]} ({size}) and {len(rest)} more {h.panel_.nouns}"
    return f"{clause} in {where}"


# --- agreement with people ---


def _agreement(h: Humans) -> Finding:
    """How well the judge, or the panel, agrees with people."""
    row = _lead(h, h.judges)
    if h.sides_.verdicts:
        sentences = [_equal_verdicts_sentence(h, row), _error_rates_sentence(row)]
    elif missing(row["r"]):
        labelled = count(int(row["labelled"]), "labelled answer")
        text = f"{_what_is_alike(h)} on {labelled}: nothing can be correlated."
        return _say("agreement", text, "notice")
    else:
        sentences = [_correlation_sentence(h, row)]
    sentences.append(_single_judges_sentence(h))
    return _say("agreement", " ".join(sentence for sentence in sentences if sentence))


def _what_is_alike(h: Humans) -> str:
    """What has no spread on the labelled answers: "All labels are"."""
    is_labelled = np.isfinite(h.sides_.y) & np.isfinite(h.sides_.guide)
    if not is_labelled.any() or np.ptp(h.sides_.y[is_labelled]) > 0:
        return "The scores are all the same"
    return "The labels are all the same"


def _equal_verdicts_sentence(h: Humans, row: Any) -> str:
    """Pass or fail: the share of equal verdicts, and kappa."""
    accuracy, kappa = _estimate(row, "accuracy"), _estimate(row, "kappa")
    cases = "cases"
    if _has_even_splits(h):
        cases = f"the {row['labelled']:,} cases on which annotators do not split evenly"
    cases += _in_labelled(h)
    text = f"{_who(h).capitalize()} agrees with people on {format_share(accuracy)} of {cases}"
    text += f" {format_share_limits(accuracy)}"
    return f"{text}." if missing(kappa.value) else f"{text} (kappa {format_estimate(kappa)})."


def _error_rates_sentence(row: Any) -> str:
    """False passes and false fails, those that are known: "It passes 9% of what people fail [5, 15], and fails ..."."""
    false_passes = _estimate(row, "specificity").complement()
    false_fails = _estimate(row, "sensitivity").complement()
    clauses = []
    if not missing(false_passes.value):
        clauses.append(f"passes {format_share(false_passes)} of what people fail {format_share_limits(false_passes)}")
    if not missing(false_fails.value):
        people = "they" if clauses else "people"
        clauses.append(f"fails {format_share(false_fails)} of what {people} pass {format_share_limits(false_fails)}")
    return f"It {', and '.join(clauses)}." if clauses else ""


def _correlation_sentence(h: Humans, row: Any) -> str:
    """Scores: their correlation with labels, and whether they are higher or lower."""
    r, difference, unit = _estimate(row, "r"), _estimate(row, "difference"), h.panel_.unit_name
    text = f"{_who(h).capitalize()}'s scores correlate with people's labels at r = {format_estimate(r)}"
    if missing(r.low):
        text += f" (no interval: {count(int(row['labelled']), 'labelled answer')})"
    if difference.excludes_zero:
        text += f"; on average they are {_away(*difference, unit)}"
    elif not missing(difference.low):
        text += f"; on average the difference is {ci(*difference, unit, sign=True)}"
    return f"{text}."


def _single_judges_sentence(h: Humans) -> str:
    """The agreement of each judge by itself, where there are a few."""
    is_overall = h.judges["language"] == h.judges["language"].iloc[0]
    rows = h.judges[is_overall & (h.judges["judge"] != h.sides_.lead)]
    if not 2 <= len(rows) <= 6:
        return ""
    values = [number(r) for r in rows["r"]]
    if h.sides_.verdicts:
        values = [percent(accuracy, 0) for accuracy in rows["accuracy"]]
    judges = [f"{name(judge, 30)} {value}" for judge, value in zip(rows["judge"], values, strict=True)]
    return f"Single judges: {', '.join(judges)}."


def _has_even_splits(h: Humans) -> bool:
    """Whether some answer has labels and no verdict of people, as annotators split evenly."""
    return bool((np.isfinite(h.sides_.y) & ~np.isfinite(h.sides_.people)).any())


def _in_labelled(h: Humans) -> str:
    """ "in en and de", where other languages have no labels at all."""
    languages, some = h.panel_.languages, set(h.sides_.found.language.tolist())
    return f" in {names([languages[i] for i in sorted(some)])}" if len(some) < len(languages) else ""


def _languages(h: Humans) -> list[Finding]:
    """Languages without labels, and those in which the judge errs more than elsewhere, with the direction."""
    sentences = [_unlabelled_sentence(h)] if h.board_ is None else []
    findings = [_say("lacking", sentence, "notice") for sentence in sentences if sentence]
    sentence = _direction_sentence(h) if h.sides_.verdicts else _distances_sentence(h)
    return [*findings, _say("languages", sentence, "notice")] if sentence else findings


def _unlabelled_sentence(h: Humans) -> str:
    """Languages that have no labels."""
    rows = h.judges[(h.judges["judge"] == h.sides_.lead) & h.judges["language"].isin(h.panel_.languages)]
    unlabelled = [name(language) for language in rows.loc[rows["labelled"] == 0, "language"]]
    if not unlabelled:
        return ""
    if len(unlabelled) == 1:
        return f"{unlabelled[0]} has no labels: nothing here is about it."
    return f"{names(unlabelled)} have no labels: nothing here is about them."


def _direction_sentence(h: Humans) -> str:
    """Verdicts: where the judge certainly errs more than elsewhere, worst first, and in which direction."""
    clauses = []
    for _, row in h.by_language.iterrows():
        for kind in str(row["worse"]).split(", "):
            if kind:
                clauses.append((float(row[f"{kind.replace(' ', '_')}"]), _direction_clause(row, kind)))
    if not clauses:
        return ""
    shown = [clause for _, clause in sorted(clauses, key=lambda clause: -round(clause[0], 9))]
    text = f"In {shown[0].replace('JUDGE', _who(h), 1)}"
    for clause in shown[1:2]:
        text += f"; in {clause.replace('JUDGE', 'it', 1)}"
    if len(shown) > 2:
        text += f". {count(len(shown) - 2, 'more difference')} like this: see the table by {h.panel_.noun}"
    return f"{text}."


def _direction_clause(row: Any, kind: str) -> str:
    """One kind of error in one language: "Thai JUDGE passes 60% of what people fail [45, 74] (12% elsewhere)"."""
    column = kind.replace(" ", "_")
    rate = _estimate(row, column)
    does = "passes {} of what people fail" if kind == "false pass" else "fails {} of what people pass"
    elsewhere = percent(row[f"{column}_elsewhere"], 0)
    said = does.format(format_share(rate))
    return f"{name(row['language'])} JUDGE {said} {format_share_limits(rate)} ({elsewhere} elsewhere)"


def _distances_sentence(h: Humans) -> str:
    """Scores: the two languages in which the judge's distance from people certainly differs most."""
    rows = h.judges[(h.judges["judge"] == h.sides_.lead) & h.judges["language"].isin(h.panel_.languages)]
    rows = rows[rows["difference_low"].notna()]
    rows = rows.assign(rounded=rows["difference"].round(9)).sort_values("rounded", kind="stable")
    if len(rows) < 2:
        return ""
    lowest, highest = rows.iloc[0], rows.iloc[-1]
    if not apart(_limits(highest, "difference"), _limits(lowest, "difference"), len(rows), h.options_["level"]):
        return ""
    factor, unit = _unit(h)
    up, down = (_away(*_estimate(row, "difference").times(factor), unit) for row in (highest, lowest))
    return (
        f"Compared with people, {_who(h)} scores {up} in {name(highest['language'])} and {down} in "
        f"{name(lowest['language'])}."
    )


def _rate(h: Humans) -> list[Finding]:
    """What people would give these answers, and answers like them, beside what the judge gives."""
    row = _lead(h, h.frame)
    people = Estimate(*_limits(row, "people"))
    if missing(people.low):
        return []
    these = Estimate(people.value, float(row["these_low"]), float(row["these_high"]))
    is_all_labelled = row["labelled"] >= row["answers"]
    if h.two_valued:
        return [_say("rate", _pass_rate_sentence(h, row, people, these, is_all_labelled))]
    judge = ""
    if h.sides_.same:
        judge = f"; {_who(h)} gives {number(row['panel'], digits_of((people.high - people.low) / 2))}"
    answers = f"the answers{_in_labelled(h)}"
    if is_all_labelled or missing(these.low):
        verb = "give" if is_all_labelled else "would give"
        return [_say("rate", f"People {verb} {answers} {ci(*people)} on average{judge}.")]
    like_them = f"[{number(people.low, ci_digits(*these[1:]))}, {number(people.high, ci_digits(*these[1:]))}]"
    text = (
        f"On these answers{_in_labelled(h)} people would give {ci(*these)} on average (answers like them: {like_them})"
    )
    return [_say("rate", f"{text}{judge}.")]


def _pass_rate_sentence(h: Humans, row: Any, people: Estimate, these: Estimate, is_all_labelled: bool) -> str:
    """Pass or fail: the share that people pass, or would pass; and what the judge says."""
    share, where = format_share(people), _in_labelled(h)
    judge = ""
    if h.sides_.verdicts:
        verb = "passes" if is_all_labelled else "says"
        judge = f"; {_who(h)} {verb} {percent(row['panel'], 0 if people.high - people.low >= 0.02 else None)}"
    if is_all_labelled:
        return f"People pass {share} of the answers{where} {format_share_limits(people)}{judge}."
    start = "Corrected for that" if h.sides_.verdicts else "By people's labels"
    if missing(these.low):
        return f"{start}, {share} of answers{where} pass {format_share_limits(people)}{judge}."
    return (
        f"{start}, {share} of these answers{where} pass {format_share_limits(these)} (answers like them: "
        f"{format_share_limits(people)}){judge}."
    )


def _systems(h: Humans) -> list[Finding]:
    """Which system people would put first, where that is sure, and whether the panel says the same."""
    p, found = h.pairs, []
    f, unit = _unit(h)
    both = [(r["system"], r["other"], r["panel"], r["people"], r["low"], r["high"]) for _, r in p.iterrows()]
    both += [(b, a, -says, -d, -high, -low) for a, b, says, d, low, high in both]
    for first in h.panel_.systems if len(p) else ():
        ahead = [x for x in both if x[0] == first and x[4] > 0]
        if len(ahead) == len(h.panel_.systems) - 1:
            _, other, says, d, low, high = min(ahead, key=lambda x: x[3])
            text = f"By people's labels {name(first)} wins: ahead of {name(other)} by "
            text += ci(f * d, f * low, f * high, unit)
            more = f"; {_who(h)} says {number(says * f, digits_of(f * (high - low) / 2))}" if h.sides_.same else ""
            found.append(_say("systems", f"{text}{more}."))
    if len(p) == 1 and not found and not missing(p["low"].iloc[0]):
        a, b, _, d, low, high = max(both, key=lambda x: x[3])
        size, zero = ci(f * d, f * low, f * high, unit), round(f * d, digits_of(f * (high - low) / 2)) == 0
        how = f"{name(a)} and {name(b)} are level ({size})" if zero else f"{name(a)} is ahead of {name(b)} by {size}"
        found.append(_say("systems", f"By people's labels it is too close to call: {how}."))
    wrong = [x for x in both if x[4] > 0 > x[2]]
    if wrong:
        a, b = wrong[0][:2]
        more = f" The same holds for {count(len(wrong) - 1, 'other pair')}." if len(wrong) > 1 else ""
        text = f"{_who(h).capitalize()} puts {name(b)} ahead of {name(a)}; people put {name(a)} ahead.{more}"
        found.append(_say("order", text, "warning"))
    return found


def _alone(h: Humans) -> list[Finding]:
    """Where all judges agree, where the judge may decide alone, and whether it may replace an annotator."""
    findings = []
    if sentence := _unanimous_sentence(h):
        findings.append(_say("unanimous", sentence))
    if h.options_["allow"] is not None:
        findings.append(_decides(h, h.options_["allow"]))
    stand_in = h.alone[h.alone["part"].str.startswith("instead of") & (h.alone["decides"] == h.sides_.lead)]
    if len(stand_in):
        won = float(stand_in["agreement"].iloc[0])
        may = "may" if won >= 0.5 else "may not"
        text = f"{_who(h).capitalize()} {may} replace one annotator: it wins against {percent(won, 0)} of them"
        findings.append(_say("stand-in", f"{text} (alternative annotator test).", topic=""))
    return findings


def _unanimous_sentence(h: Humans) -> str:
    """Agreement with people where all judges agree, where that is certainly more than elsewhere; and by language."""
    overall = h.alone[h.alone["language"] == ""].set_index("part")
    if "all judges agree" not in overall.index:
        return ""
    agree, differ = overall.loc["all judges agree"], overall.loc["judges differ"]
    n_judges = len(h.panel_.judges)
    inside, outside = (_agreement_of(row) for row in (agree, differ))
    is_higher = inside.value - outside.value > math.hypot(inside.value - inside.low, outside.high - outside.value)
    if not is_higher and (n_judges > 2 or missing(inside.low)):
        return ""
    judges = "both" if n_judges == 2 else f"all {n_judges}"
    text = f"When {judges} judges agree ({percent(agree['share'], 0)} of cases) they match people in "
    text += f"{percent_ci(*inside)}{_unanimous_languages_clause(h)}"
    return f"{text}." if n_judges == 2 else f"{text}; elsewhere in {percent_ci(*outside)}."


def _agreement_of(row: Any) -> Estimate:
    """Agreement with people in a part of the cases."""
    return Estimate(float(row["agreement"]), float(row["low"]), float(row["high"]))


def _unanimous_languages_clause(h: Humans) -> str:
    """ ": 82% in Arabic, 99% in English", the lowest and the highest, where they certainly differ."""
    rows = h.alone[(h.alone["part"] == "all judges agree") & (h.alone["language"] != "") & h.alone["low"].notna()]
    rows = rows.assign(rounded=rows["agreement"].round(9)).sort_values("rounded", kind="stable")
    if len(rows) < 2:
        return ""
    lowest, highest = ((row["agreement"], row["low"], row["high"]) for row in (rows.iloc[0], rows.iloc[-1]))
    if not apart(highest, lowest, len(rows), h.options_["level"]):
        return ""
    return (
        f": {percent(lowest[0], 0)} in {name(rows['language'].iloc[0])}, {percent(highest[0], 0)} in "
        f"{name(rows['language'].iloc[-1])}"
    )


def _decides(h: Humans, allow: float) -> Finding:
    """Which cases the judge may decide alone with so many errors at most, over all languages and in each."""
    who, errors = _who(h), percent(allow)
    overall = h.alone[h.alone["language"] == ""].set_index("part")
    if "beyond the cuts" not in overall.index:
        return _say("alone", _nowhere_alone_sentence(h, allow), "notice")
    row = overall.loc["beyond the cuts"]
    by_language = h.alone[(h.alone["part"] == "beyond the cuts") & (h.alone["language"] != "")]
    if len(by_language) and not (by_language["decides"] == "the judge").any():
        return _say("alone", _no_language_alone_sentence(h, by_language, allow), "notice")
    start = f"With at most {errors} errors {who} may decide"
    clause = _languages_that_decide_clause(by_language)
    if row["share"] > 1 - 1e-9:
        return _say("alone", f"{start} all cases alone{clause}.")
    part = _cuts_phrase(h, row)
    return _say("alone", f"{start} alone {part}{clause}; {percent(1 - row['share'], 0)} of cases go to people.")


def _nowhere_alone_sentence(h: Humans, allow: float) -> str:
    """No cut holds, or there are too few labels for any."""
    n_needed = fewest_to_decide(allow, h.options_["level"])
    n_labelled = int(_lead(h, h.judges)["labelled"])
    if n_labelled < n_needed:
        return (
            f"To show that {_who(h)} makes at most {percent(allow)} errors takes at least {n_needed} labelled cases; "
            f"there are {n_labelled}."
        )
    return f"Nowhere can {_who(h)} be shown to make at most {percent(allow)} errors: people decide all cases."


def _no_language_alone_sentence(h: Humans, by_language: pd.DataFrame, allow: float) -> str:
    """A cut holds over all languages together, and in none of them alone."""
    worst = by_language.sort_values(["agreement", "language"], kind="stable").iloc[0]
    n_needed = fewest_to_decide(allow, h.options_["level"])
    errors = _agreement_of(worst).complement()
    return (
        f"{_who(h).capitalize()} makes at most {percent(allow)} errors where its scores are clear, taken over all "
        f"{h.panel_.nouns}, but no {h.panel_.noun} alone shows it: {name(worst['language'])} has "
        f"{format_share(errors)} errors {format_share_limits(errors)} in {count(int(worst['labelled']), 'case')}. It "
        f"takes at least {n_needed} such cases per {h.panel_.noun}; until then people decide."
    )


def _languages_that_decide_clause(by_language: pd.DataFrame) -> str:
    """The languages in which the cases beyond the cuts show it, and the worst of them."""
    if not len(by_language):
        return ""
    holds = by_language[by_language["decides"] == "the judge"]
    worst = holds.sort_values(["agreement", "language"], kind="stable").iloc[0]
    errors = _agreement_of(worst).complement()
    limits = f"({format_share(errors)} errors {format_share_limits(errors)})"
    if len(holds) == 1:
        return f" in {name(worst['language'])} {limits}"
    text = f", worst in {name(worst['language'])} {limits}"
    if len(holds) == len(by_language):
        return text
    return f" in {names(holds['language'])}{text}"


def _cuts_phrase(h: Humans, row: Any) -> str:
    """The scores beyond which the judge decides, or how many of the judges must agree."""
    if h.panel_.two_valued:
        share = percent(row["passes_above"], 0)
        return "where all judges agree" if share == "100%" else f"where at least {share} of the judges agree"
    ends = []
    if row["fails_below"] >= h.panel_.scale[0]:
        ends.append(f"up to {row['fails_below']:.4g} (fail)")
    if row["passes_above"] <= h.panel_.scale[1]:
        ends.append(f"from {row['passes_above']:.4g} on (pass)")
    return " and ".join(ends)


def _apart(h: Humans) -> list[Finding]:
    d = h.disagreements
    if not len(d):
        return []
    shown = [_where(h, row) for _, row in d.head(4).iterrows()]
    number_alone = shown[0][0].isdigit()  # reads as a count
    if h.sides_.verdicts:
        parts = " and ".join(
            count(n, kind) for kind in ("false pass", "false fail") if (n := (d["kind"] == kind).sum())
        )
        worst = ", worst first" if len(d) > 1 and not h.panel_.two_valued else ""
        more = f" and {len(d) - 4:,} more" if len(d) > 4 else ""
        bare = ("tasks " if len(d) > 1 else "task ") if number_alone else ""
        return [_say("apart", f"{parts}{worst}: {bare}{', '.join(shown)}{more}.")]
    both = f"with {d['score'].iloc[0]:.4g} by {_who(h)} and {d['people'].iloc[0]:.4g} by people"
    text = f"Farthest apart: {'task ' * number_alone}{shown[0]}, {both}"
    return [_say("apart", f"{text}{'; then ' if shown[1:] else ''}{', '.join(shown[1:])}.")]


def _where(h: Humans, row: Any) -> str:
    axes = (("system", h.panel_.systems), ("language", h.panel_.languages))
    more = [name(row[c], 30) for c, have in axes if len(have) > 1]
    return f"{name(row['task'], 30)}{' (' + ', '.join(more) + ')' if more else ''}"


def _requirements(h: Humans) -> list[Finding]:
    out = []
    for _, row in h.requirements.iterrows():
        verdict = "is met" if row["met"] else "is not met" if row["surely_not"] else "is not shown by these labels"
        text = f"{name(row['rule'])} {verdict}: {number(row['value'])}{_bracket(row['low'], row['high'])}."
        out.append(_say("required", text, "info" if row["met"] else "serious", topic="Required"))
    return out


def _caveats(h: Humans) -> list[Finding]:
    out, sides, panel, found = [], h.sides_, h.panel_, h.sides_.found
    if abs(h.not_random) > UNLIKE_RANDOM:
        side, z = "higher" if h.not_random > 0 else "lower", number(abs(h.not_random), 1)
        text = f"{_who(h).capitalize()} scores the labelled answers {side} than the others (z = {z}): they are not like"
        out.append(_say("not-random", f"{text} a random draw, and what is said of all answers may be off.", "notice"))
    if found.lost:
        verbs = ("belongs", "is") if found.lost == 1 else ("belong", "are")
        text = f"{count(found.lost, 'label')} {verbs[0]} to no answer that has a score and {verbs[1]} left out"
        text += f" (unknown: {found.strangers})." if found.strangers else "."
        out.append(_say("lost", text, "warning"))
    if found.unscored:
        what = f"{'verdict' if sides.verdicts else 'score'} of {'the' if len(panel.judges) == 1 else 'any'} judge"
        text = f"{count(found.unscored, 'case')} {'has' if found.unscored == 1 else 'have'} a label and no {what}."
        out.append(_say("unscored", text, "warning"))
    tied = (np.abs(sides.guide - 0.5) < 1e-9)[np.isfinite(sides.guide)].mean()
    if panel.two_valued and len(panel.judges) > 1 and tied > 0:
        text = f"On {percent(tied)} of answers the judges split evenly: the panel counts these as failed."
        out.append(_say("tie", text))
    pairs = np.unique(np.stack([found.language, found.who]), axis=1)
    is_said = h.calibrator_ is not None and h.calibrator_.why_ == CONFOUNDED and _has_unlabelled(h)
    if len(panel.languages) > 1 and len(found.annotators) > 1 and np.bincount(pairs[0]).max() == 1 and not is_said:
        text = (
            f"Each {panel.noun} has one annotator, so a strict annotator and a {panel.noun} of weak answers look the "
            f"same. Let one person label 20 answers in two {panel.nouns}."
        )
        out.append(_say("one-annotator", text, "notice"))
    if not sides.verdicts and found.two_valued:
        text = "Labels are pass or fail and scores are not: with --threshold both are compared as verdicts."
        out.append(_say("threshold", text, "notice"))
    return out


def _weighted(h: Humans) -> bool:
    """Whether weights by people differ from equal ones by so much that it is worth saying."""
    weights = h.weights["weight"].to_numpy(dtype=float)
    return len(weights) > 0 and float(np.abs(weights * len(weights) - 1).max()) > WEIGHTS_DIFFER


def _weights(h: Humans) -> list[Finding]:
    """Weights by which the panel agrees best with people."""
    if not len(h.weights):
        return []
    if not _weighted(h):
        return [_say("weights", "By these labels nearly equal weights of the judges fit people best.", topic="")]
    top = h.weights.sort_values("weight", ascending=False, kind="stable")
    shown = ", ".join(f"{name(row['judge'], 30)} {percent(row['weight'], 0)}" for _, row in top.head(4).iterrows())
    text = f"Weights by which the panel agrees best with people: {shown}"
    text += f" and {count(len(top) - 4, 'other')}." if len(top) > 4 else "."
    return [_say("weights", text, topic="")]


def _consensus(h: Humans) -> list[Finding]:
    """What calibrating without labels does to single judges, against these labels (METHODS 13)."""
    f, k, m = h.frame[h.frame["judge"] == h.sides_.lead], len(h.panel_.languages), len(h.panel_.judges)
    f = f[(f["language"] != "all") & (f["system"] == f["system"].iloc[0])]
    if k < 3 or m < 2 or h.sides_.verdicts or len(f) < k or f["low"].isna().any():
        return []
    error, half = f["difference"].to_numpy(float), (f["high"] - f["low"]).to_numpy(float) / 2
    (share, low, high), nearer = taken_off(h.panel_, error, half / 2)
    if not high - low < 0.5:
        return []
    text = f"Calibrating without labels (CBC) takes off {percent_ci(share, low, high)} of single judges' squared error "
    text += f"between {h.panel_.nouns}; {nearer} of {m} judges come nearer to people."
    return [_say("consensus", text, topic="")]


# --- the report ---


def report(h: Humans) -> Report:
    """Facts, findings, tables."""
    panel, o = h.panel_, h.options_
    board = board_section(h)
    sections = (
        *((board,) if board is not None else ()),
        Section(
            "agreement", "Do the judges agree with people?", tables=(_judges(h), *_by_language(h)), charts=_charts(h)
        ),
        Section("rates", "What would people say of all answers?", tables=_rates(h)),
        Section("apart", "Where judges and people disagree", tables=_disagreements(h)),
        Section("people", "Do people agree with each other?", tables=_people(h)),
        Section("panel", "What labels do for the panel", tables=tuple(_panel(h))),
    )
    about = {"level": o["level"], "seed": o["seed"], "threshold": o["threshold"] or "", "scores": panel.source}
    about["polyjudge"] = __version__
    shown = tuple(s for s in sections if s.tables)
    read = next((t for t in _disagreements(h) if "text" in t.columns.values()), None)  # with texts, on the first screen
    facts = (*panel.read_facts, counted(h))
    return Report(
        "humans", "Judges and people", facts, h.findings, board_table(h) or read, _next(h), shown, about=about
    )


def counted(h: Humans) -> str:
    """How many labels there are."""
    found = h.sides_.found
    people = sum(bool(x) for x in found.annotators)
    by = f" by {count(people, 'annotator')}" if people else ""
    whole = int(np.isfinite(h.panel_.scores).any(3).sum())
    on = f"{'all' if found.answers == whole > 1 else f'{found.answers:,} of'} {count(whole, 'answer')}"
    return f"{count(len(found.label), 'label')}{by} on {on}."


def _files(h: Humans) -> tuple[str, str]:
    """The scores as they are read, and the labels where they are a file of their own, as words of a command."""
    given = h.options_["named"] or getattr(h.options_["given"], "folder", "")
    scores = " ".join(map(shell, (h.panel_.source or "scores.csv", *h.panel_.read)))
    return scores, f" {shell(str(given))}" if given else ""


def more_labels(h: Humans) -> list[Step]:
    """The command for labels that are lacking."""
    if h.board_ is not None and (steps := _labels_for_the_board(h, h.board_)):
        return steps
    panel, found, k = h.panel_, h.sides_.found, len(h.panel_.languages)
    ask = 20 * (found.answers < 20 * k) if h.calibrator_ is None else h.calibrator_.ask_
    left = int((np.isfinite(panel.scores).any(3) & ~np.isfinite(found.y)).sum((0, 1)).max())
    if not ask or not left:
        return []
    what = f"label {count(min(ask, left), 'more answer' if ask > 20 else 'answer')}"
    return [_label_make(h, min(ask, left), what + (f" per {panel.noun}" if k > 1 else ""))]


def _label_make(h: Humans, n: int, what: str) -> Step:
    scores, given = _files(h)
    more = " --items ITEMS" * (h.panel_.texts is None) + (given and f" --labels{given}")
    return Step(f"polyjudge label make {scores}{more} -n {n}", what)


def _labels_for_the_board(h: Humans, board: PeopleBoard) -> list[Step]:
    """The command for the labels that tell most of who is first, and what they are expected to bring."""
    chosen = next_labels(board)
    return [] if chosen is None else [_label_make(h, chosen.n, what_it_brings(board, chosen))]


def _next(h: Humans) -> tuple[Step, ...]:
    steps, (scores, given) = more_labels(h), _files(h)
    if _weighted(h) and h.panel_.has_systems:
        steps.append(Step(f"polyjudge humans {scores}{given} -o people", "writes weights.csv"))
        steps.append(Step(f"polyjudge audit {scores} --weights people/weights.csv", "weight the judges by them"))
    return tuple(steps)


def _axes(h: Humans, *axes: str) -> dict[str, str]:
    """Columns of names: language and system only where there are several."""
    many = {"language": len(h.panel_.languages) > 1, "system": h.panel_.has_systems}
    return {x: "name" for x in axes if many.get(x, True)}


def _judges(h: Humans) -> Table:
    columns = {**_axes(h, "language", "judge"), "labelled": "count"}
    m, note = "kappa" if h.sides_.verdicts else "r", ""
    if h.sides_.verdicts:
        columns |= {m: f"percent {m}_low {m}_high" for m in ("accuracy", "sensitivity", "specificity")}
        note = "sensitivity: passed by the judge, of what people pass; specificity: failed, of what people fail"
    columns[m] = f"points {m}_low {m}_high"
    if h.sides_.same and not h.sides_.verdicts:
        columns["difference"] = "+points difference_low difference_high"
        note = f"difference: judge less people, in {h.panel_.unit_name}"
    return Table("judges", "Each judge and people", h.judges, columns, {}, note)


def _by_language(h: Humans) -> tuple[Table, ...]:
    """Errors of the judge by language, worst first."""
    if not len(h.by_language):
        return ()
    columns = {"language": "name", "labelled": "count"}
    columns |= {x: f"percent {x}_low {x}_high" for x in ("accuracy", "false_pass", "false_fail")}
    columns["worse"] = "text"
    titles = {"false_pass": "passed of what people fail", "false_fail": "failed of what people pass"}
    titles |= {"language": h.panel_.noun, "worse": "more often than elsewhere"}
    title = f"{_who(h).capitalize()} and people by {h.panel_.noun}, worst first"
    return (Table("by_language", title, h.by_language, columns, titles),)


def _times(frame: pd.DataFrame, f: float, *columns: str) -> pd.DataFrame:
    return frame.assign(**{c: f * frame[c].astype(float) for c in columns})


def _charts(h: Humans) -> tuple[Chart, ...]:
    """What becomes of answers that people pass, and of those that they fail; each judge's agreement."""
    import pandas as pd

    rows = h.judges[h.judges["language"] == h.judges["language"].iloc[0]]
    m, who, charts = "accuracy" if h.sides_.verdicts else "r", _who(h), []
    at = _lead(h, h.judges)
    s, p = float(at["sensitivity"]), float(at["specificity"])
    if not missing(s) and not missing(p):
        cells = [("people pass", "passes", s), ("people pass", "fails", 1 - s)]
        cells += [("people fail", "passes", 1 - p), ("people fail", "fails", p)]
        texts = [(row, does, share, percent(share, 0)) for row, does, share in cells]
        made = pd.DataFrame(texts, columns=["row", "column", "value", "text"])
        alt = f"Passed by {who}: {percent(s, 0)} of what people pass and {percent(1 - p, 0)} of what they fail."
        charts.append(Chart("confusion", "matrix", f"What {who} makes of people's verdicts", made, alt))
    if len(rows) > 1:
        bars = rows[["judge", m, m + "_low", m + "_high"]].set_axis(["label", "value", "low", "high"], axis=1)
        charts.append(Chart("judges", "intervals", "Agreement with people", bars, f"{m} of each judge", x=m))
    return tuple(charts)


def _rates(h: Humans) -> tuple[Table, ...]:
    kind, (f, unit) = "percent" if h.two_valued else "points", _unit(h)
    frame = _times(h.frame[h.frame["judge"] == h.sides_.lead], f, "difference", "low", "high")
    columns = {**_axes(h, "language", "system"), "panel": "percent" if h.sides_.verdicts else "points"}
    columns |= {"people": f"{kind} people_low people_high", "labels": f"{kind} labels_low labels_high"}
    # where all answers have labels, the difference of scores is in the table of the judges
    differ = h.sides_.same and (h.sides_.verdicts or bool((frame["labelled"] < frame["answers"]).any()))
    columns |= {"difference": "+points low high"} if differ else {}
    titles = {"panel": _who(h), "people": "people would give", "labels": "labels alone"}
    note = f"all: the answers{_in_labelled(h)}" if _in_labelled(h) else ""
    note += f"{'; ' * bool(note)}difference: {_who(h)} less people, in {unit}" if differ else ""
    title = "What people would give"
    if h.board_ is not None:
        title = f"What people would give, by labels of that {h.panel_.noun} alone"
        note += f"{'; ' * bool(note)}the board above joins all {h.panel_.nouns}, and is the answer where both differ"
    table = Table("frame", title, frame, {**columns, "labelled": "count"}, titles, note)
    if not len(h.pairs):
        return (table,)
    pairs = _times(h.pairs, f, *h.pairs.columns[2:])
    kinds = {"system": "name", "other": "name", "panel": "+points", "people": "+points low high"}
    kinds["labels"] = "+points labels_low labels_high"
    where = f" {_in_labelled(h).strip()}" if h.board_ is not None and _in_labelled(h) else ""
    return table, Table("pairs", f"Differences of systems{where}, {unit}", pairs, kinds, titles)


def _disagreements(h: Humans) -> tuple[Table, ...]:
    d = h.disagreements
    columns = _axes(h, "kind", "task", "system", "language")
    if not (h.panel_.two_valued and len(h.panel_.judges) == 1):  # else the kind says it all
        columns |= {"score": "points"} if h.sides_.verdicts else {"score": "points", "people": "points"}
    columns |= {c: "text" for c in ("prompt", "response", "reason") if c in d}
    title = f"Disagreements, {'false passes first' if h.sides_.verdicts else 'farthest apart first'}"
    titles = {"score": f"{_who(h)}'s score", "people": "people's label"}
    return (Table("disagreements", title, d, columns, titles),) if len(d) else ()


def _people(h: Humans) -> tuple[Table, ...]:
    f, unit = _unit(h)
    columns = {**_axes(h, "language", "annotator"), "labels": "count", "harsher": "+points low high"}
    note = f"harsher: how much lower than the others label at the same score, in {unit}; no interval: few differ"
    shown = _times(h.annotators, f, "harsher", "low", "high")
    return (Table("annotators", "Annotators", shown, columns, note=note),) if len(h.sides_.found.annotators) > 1 else ()


def _panel(h: Humans) -> list[Table]:
    tables = []
    if len(h.weights):
        tables.append(Table("weights", "Weights of the judges", h.weights, {"judge": "name", "weight": "percent"}))
    stand = h.alone["part"].str.startswith("instead of")
    if not stand.all():
        kinds = {"part": "name", "share": "percent", "labelled": "count", "agreement": "percent low high"}
        kinds = {**kinds, "language": "name", "decides": "name"} if len(h.panel_.languages) > 1 else kinds
        tables.append(Table("alone", "Who may decide alone", h.alone[~stand], kinds, {"share": "of the cases"}))
    if stand.any():
        kinds = {"decides": "name", "agreement": "percent", "high": "percent"}
        heads = {"decides": "judge", "agreement": "annotators it wins against", "high": "as near to the others"}
        note = "May replace one from 50% on (epsilon 0.15, Benjamini-Yekutieli at 5%)."
        title = "Can a judge replace one annotator?"
        tables.append(Table("stand_in", title, h.alone[stand], kinds, heads, note))
    if h.calibrator_ is not None and h.removes is not None and h.removes[1] > 0:
        kinds = {**_axes(h, "task", "system", "language"), "panel": "points", "corrected": "points"}
        made, title = h.calibrator_.corrected(h.panel_), "Answers as people would score them"
        tables.append(Table("corrected", title, made, kinds, most=20))
    return tables
