"""Do the judges agree with each other, and does language change their order? (METHODS 5, 20 and 31)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.answers.amounts import spelled, tiny_of
from polyjudge.answers.audit.boards import Board
from polyjudge.base.later import framed
from polyjudge.base.numbers import number, percent, points
from polyjudge.base.text import MAKERS, families, name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.agreement import AGREE, NEAR, Agreement
from polyjudge.stats.cells import Values
from polyjudge.stats.missing import missing_rates
from polyjudge.verdicts import PEOPLE_NAME, UNNAMED_JUDGE

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
REVERSALS = ["judge_i", "judge_j", "language_a", "gap_a", "language_b", "gap_b", "delta", "p_published", "p"]


# --- agreement ---


def findings(
    panel: Panel,
    agreement: Agreement | None,
    board: Board | None,
    given_makers: Mapping[str, str] | None,
    has_labels: bool = False,
) -> list[Finding]:
    """Whether the judges agree with each other, for the first screen.

    Agreement is not correctness. Where nobody has labelled an answer (`has_labels`), the same sentence says so.
    """
    if agreement is None or len(panel.judges) < 2:
        text = _one_judge_sentence(panel)
        return [Finding("info", "judges.one", text, "Judges", head="One judge")]
    # A judge that never varies has no correlation: it is named by itself and counts nowhere below.
    constant_judges = _constant_judges_finding(panel, agreement)
    if agreement.verdict == "none":
        return [*constant_judges, _no_correlation_finding(panel, agreement)]
    # A judge that certainly runs against the rest most likely has its scale reversed; the cure is another one.
    opposed = [judge for judge in (*agreement.odd, *agreement.alone) if agreement.own_high[judge] < 0]
    outliers = [judge for judge in agreement.odd if judge not in opposed]
    return [
        *constant_judges,
        _verdict_finding(panel, agreement, board, given_makers, opposed, has_labels),
        *_outliers_finding(panel, agreement, outliers),
        *_opposed_judges_finding(panel, agreement, opposed),
    ]


def _constant_judges_finding(panel: Panel, agreement: Agreement) -> list[Finding]:
    """Judges that give every answer the same score."""
    if not agreement.constant:
        return []
    judges = [panel.judges[judge] for judge in agreement.constant]
    verb = "gives" if len(judges) == 1 else "give"
    text = f"{names(judges)} {verb} every answer the same score."
    return [Finding("serious", "judges.constant", text, "Judges", {"judge": judges[0]})]


def _no_correlation_finding(panel: Panel, agreement: Agreement) -> Finding:
    """No two judges can be correlated: fewer than two vary, or no two vary on the same answers."""
    if len(panel.judges) - len(agreement.constant) < 2:
        text = "Agreement needs two judges whose scores vary."
        return Finding("notice", "judges.none", text, "Judges")
    verb = "tell the systems apart" if panel.has_systems else "vary"
    text = f"No two judges both {verb} on answers that both score, so whether they agree is unknown."
    return Finding("warning", "judges.none", text, "Judges")


def _one_judge_sentence(panel: Panel) -> str:
    """That one judge cannot be checked by others; verdicts of people, or of nobody knows whom, are no judge's."""
    if panel.pairs is not None and panel.judges == (PEOPLE_NAME,):
        return "All verdicts are people's: add a judge's on the same pairs to see whether it picks as they do."
    if panel.pairs is not None and panel.judges == (UNNAMED_JUDGE,):
        return "No column names a judge. If people voted, add a judge's verdicts on the same pairs to compare them."
    return "There is one judge. Whether it is right only people can tell."


def _verdict_finding(
    panel: Panel,
    agreement: Agreement,
    board: Board | None,
    given_makers: Mapping[str, str] | None,
    opposed: Sequence[int],
    has_labels: bool,
) -> Finding:
    """The one sentence about all judges together: the first case that applies."""
    leader_is_certain = board is not None and bool(board.ahead.any())
    if agreement.groups:
        isolated = [judge for judge in agreement.alone if judge not in opposed]
        return _split_finding(panel, agreement, isolated, has_labels)
    if agreement.verdict == "agree":
        return _agree_finding(panel, agreement, given_makers, has_labels)
    if agreement.verdict == "alike":
        return _alike_finding(panel, agreement)
    if agreement.verdict == "unclear":
        return _unclear_finding(panel, agreement)
    if agreement.r_high < 0:
        ranking_is_noise = board is not None and not leader_is_certain
        return _contrary_finding(panel, agreement, ranking_is_noise)
    if board is not None and leader_is_certain:
        return _only_on_average_finding(panel, agreement, board)
    question = _agreement_question(panel)
    pair_correlation = _describe_pair_correlation(agreement)
    if panel.has_systems:
        text = f"They do not agree on {question} ({pair_correlation}): a ranking by this panel would be noise."
        return Finding("serious", "judges.blind", text, "Judges", head="They do not agree")
    text = f"They hardly agree on {question} ({pair_correlation})."
    return Finding("warning", "judges.hardly", text, "Judges", head="They hardly agree")


def _agreement_question(panel: Panel) -> str:
    """What judges agree on: the order of systems, or of answers."""
    return "which system is better" if panel.has_systems else "which answers score high"


def _describe_correlation(value: float, low: float, high: float) -> str:
    """A correlation, with its interval where there is one: "0.52 [0.41, 0.61]"."""
    if not np.isfinite(low):
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"


def _describe_pair_correlation(agreement: Agreement) -> str:
    return f"r = {_describe_correlation(agreement.r, agreement.r_low, agreement.r_high)}"


def _describe_reliability(agreement: Agreement) -> str:
    return _describe_correlation(agreement.reliability, agreement.reliability_low, agreement.reliability_high)


def _agree_finding(
    panel: Panel, agreement: Agreement, given_makers: Mapping[str, str] | None, has_labels: bool
) -> Finding:
    """The judges agree. Without labels it adds that they may be wrong together, above all when one maker built all."""
    n_judges = len(panel.judges)
    has_only_one_pair = n_judges - len(agreement.constant) == 2
    pair = "the two" if has_only_one_pair else "two judges"
    mean = "their mean" if has_only_one_pair else "the panel"
    text = (
        f"They agree on {_agreement_question(panel)} ({_describe_pair_correlation(agreement)} between {pair}, "
        f"{_describe_reliability(agreement)} for {mean})"
    )
    if not has_labels:
        text += ". Whether they are right only people can tell"
        maker = one_maker(panel.judges, given_makers)
        if maker:
            all_judges = "both" if n_judges == 2 else f"all {spelled(n_judges)}"
            text += f"; {all_judges} are {name(maker)} models, and an error they share cannot show here"
    return Finding("info", "judges.agree", f"{text}.", "Judges", head=f"They agree (r = {agreement.r:.2f})")


def _alike_finding(panel: Panel, agreement: Agreement) -> Finding:
    """Nearly all answers have the same score, so the few that differ decide r."""
    text = (
        f"Too few answers differ to tell whether they agree on {_agreement_question(panel)} "
        f"({_describe_pair_correlation(agreement)} between two judges)."
    )
    return Finding("notice", "judges.alike", text, "Judges", head="Too few answers differ")


def _unclear_finding(panel: Panel, agreement: Agreement) -> Finding:
    """The limits allow both that they agree and that they hardly do."""
    question, correlation = _agreement_question(panel), _describe_pair_correlation(agreement)
    reliability = ""
    if np.isfinite(agreement.reliability_low):
        low, high = number(agreement.reliability_low), number(agreement.reliability_high)
        reliability = f"; the reliability of the panel's mean is between {low} and {high}"
    if agreement.r_low > 0 and agreement.r < AGREE:
        text = f"They agree weakly on {question} ({correlation} between two judges{reliability})."
        return Finding("notice", "judges.unclear", text, "Judges", head="They agree weakly")
    units = "clusters" if panel.clustered else "tasks"
    text = f"Too few {units} to tell whether they agree on {question} ({correlation} between two judges{reliability})."
    return Finding("notice", "judges.unclear", text, "Judges", head=f"Too few {units} to tell")


def _contrary_finding(panel: Panel, agreement: Agreement, ranking_is_noise: bool) -> Finding:
    """The judges certainly run against each other."""
    key = "judges.blind" if ranking_is_noise else "judges.hardly"
    question, correlation = _agreement_question(panel), _describe_pair_correlation(agreement)
    text = f"They run against each other on {question} ({correlation}): is the scale of one reversed?"
    return Finding("serious", key, text, "Judges", head="They run against each other")


def _only_on_average_finding(panel: Panel, agreement: Agreement, board: Board) -> Finding:
    """The judges disagree about single answers, yet over all tasks some system is certainly ahead."""
    leader = board.order[0]
    # Systems that no common task connects to the others have no difference to name.
    connected_rivals = [system for system in board.order[1:] if board.joined[system]]
    runner_up = connected_rivals[0] if connected_rivals else leader
    subject = "what differs between systems shows"
    if board.ahead[leader, runner_up]:
        half_width = panel.factor * (board.high - board.low)[leader, runner_up] / 2
        lead = points(panel.factor * board.gap[leader, runner_up], half_width)
        subject = f"{_possessive(name(board.systems[leader]))} lead of {lead} {panel.unit_name} shows"
    text = (
        f"They hardly agree on single answers ({_describe_pair_correlation(agreement)}); "
        f"{subject} only in the mean over tasks."
    )
    return Finding("warning", "judges.hardly", text, "Judges", head="They hardly agree")


def _possessive(owner: str) -> str:
    return f"{owner}'" if owner.endswith("s") else f"{owner}'s"


def _split_finding(panel: Panel, agreement: Agreement, isolated: Sequence[int], has_labels: bool) -> Finding:
    """Groups of judges that agree among themselves, and judges that agree with no group."""
    sentences = []
    for group, limits in zip(agreement.groups, agreement.group_r, strict=True):
        judges = names([panel.judges[judge] for judge in group], 6)
        sentences.append(f"{judges} agree with each other (r = {_describe_correlation(*limits)}).")
    sentences += _isolated_sentences(panel, agreement, isolated)
    if not has_labels:
        sentences.append("Scores alone cannot tell who is right.")
    return Finding("serious", "judges.split", " ".join(sentences), "Judges", head="The judges split")


def _isolated_sentences(panel: Panel, agreement: Agreement, isolated: Sequence[int]) -> list[str]:
    """Judges in no group. "With nobody" is said only where the judge's own upper limit shows it."""
    sentences = []
    strangers = [judge for judge in isolated if agreement.own_high[judge] < NEAR]
    if strangers:
        verb = "agrees" if len(strangers) == 1 else "agree"
        sentences.append(f"{names([panel.judges[judge] for judge in strangers], 6)} {verb} with nobody.")
    distant = [judge for judge in isolated if judge not in strangers]
    if distant:
        verb = "agrees" if len(distant) == 1 else "agree"
        highest = number(max(agreement.own_high[judge] for judge in distant))
        judges = names([panel.judges[judge] for judge in distant], 6)
        sentences.append(f"{judges} {verb} less with the others (r at most {highest}).")
    return sentences


def _outliers_finding(panel: Panel, agreement: Agreement, outliers: Sequence[int]) -> list[Finding]:
    """Judges that certainly agree less with the others than these do, or with nobody."""
    found = []
    strangers = [judge for judge in outliers if agreement.own_high[judge] < NEAR]
    distant = [judge for judge in outliers if judge not in strangers]
    for judges, singular, plural in (
        (distant, "agrees less with the others", "agree less with the others"),
        (strangers, "agrees with nobody", "agree with nobody"),
    ):
        if judges:
            verb = singular if len(judges) == 1 else plural
            text = f"{names([panel.judges[judge] for judge in judges])} {verb} ({_describe_own(agreement, judges)})."
            found.append(Finding("notice", "judges.odd", text, "Judges", {"judge": panel.judges[judges[0]]}))
    return found


def _describe_own(agreement: Agreement, judges: Sequence[int]) -> str:
    """Each judge's correlation with the others, and theirs with each other where it is known."""
    own = (agreement.own, agreement.own_low, agreement.own_high)
    described = [_describe_correlation(*(x[judge] for x in own)) for judge in judges]
    text = f"r = {' and '.join(described)}"
    if len(judges) > 2:
        order = sorted(range(len(judges)), key=lambda place: float(agreement.own[judges[place]]))
        text = f"r = {described[order[0]]} to {described[order[-1]]}"
    if agreement.rest is None or not np.isfinite(agreement.rest[0]):
        return text
    return f"{text}; the others with each other {_describe_correlation(*agreement.rest)}"


def _opposed_judges_finding(panel: Panel, agreement: Agreement, opposed: Sequence[int]) -> list[Finding]:
    """Judges that certainly run against the others: a scale may be reversed."""
    if not opposed:
        return []
    verb = "runs against" if len(opposed) == 1 else "run against"
    judges = names([panel.judges[judge] for judge in opposed])
    text = f"{judges} {verb} the others ({_describe_own(agreement, opposed)}): is a scale reversed?"
    return [Finding("notice", "judges.turned", text, "Judges", {"judge": panel.judges[opposed[0]]})]


def one_maker(judges: Sequence[str], given: Mapping[str, str] | None) -> str:
    """The maker of all judges; "" where there are several, or names do not tell."""
    found = set(families(judges, given).values())
    return found.pop() if len(found) == 1 and not unknown(judges, given) else ""


def unknown(who: Sequence[str], given: Mapping[str, str] | None) -> list[str]:
    """Judges or systems whose maker neither their names nor the user tells."""
    made = families(who, given)
    return [x for x in made if made[x] == x and x not in MAKERS and x not in (given or {})]


def lacking(panel: Panel) -> list[Finding]:
    """Whether missing scores depend on the judge and the language: then they may be failures, not chance."""
    if panel.pairs is not None:  # a system that is in no pair of a task lacks no verdict there
        return []
    rates = missing_rates(panel.scores, panel.units, panel.weight)
    if rates is None or not rates.uneven_mask.any():
        return []
    excess = np.where(rates.uneven_mask, np.round(rates.rate - rates.elsewhere, 9), -1.0)
    x, b = np.unravel_index(int(excess.argmax()), excess.shape)
    who = name(panel.judges[b]) + (f" in {name(panel.languages[x])}" if len(panel.languages) > 1 else "")
    lack, others = percent(float(rates.rate[x, b]), 0), percent(float(rates.elsewhere[x, b]), 0)
    text = f"Missing scores are spread unevenly: {who} lacks {lack} of its scores, the others {others} on average."
    where = {"language": panel.languages[x], "judge": panel.judges[b]}
    return [Finding("notice", "missing", text, "", where)]


# --- frames ---


def frame(
    panel: Panel, values: Values, a: Agreement | None, slopes: pd.DataFrame | None, named: Sequence[tuple[str, str]]
) -> pd.DataFrame:
    """language, judge ("panel"), r, low, high, mean, slope, slope_low, slope_high, named."""
    k, mean = len(panel.languages), values.mean
    per = dict(slopes.set_index("judge").T.items()) if slopes is not None and len(slopes) else {}
    none = (np.nan, np.nan, np.nan)
    rows: list[tuple[object, ...]] = []
    every = float(np.nanmean(mean)) if np.isfinite(mean).any() else np.nan
    whole = none if a is None else (a.r, a.r_low, a.r_high)
    rows.append(("all", "panel", *whole, every, *none, False))
    for b, judge in enumerate(panel.judges):
        own = none if a is None else (a.own[b], a.own_low[b], a.own_high[b])
        column = mean[:, b][np.isfinite(mean[:, b])]
        s = per.get(judge)
        slope = none if s is None else (s["slope"], s["low"], s["high"])
        odd = a is not None and (b in a.odd or b in a.constant)
        rows.append(("all", judge, *own, column.mean() if len(column) else np.nan, *slope, odd))
    if k > 1:
        for x, language in enumerate(panel.languages):
            for b, judge in enumerate(panel.judges):
                rows.append((language, judge, *none, mean[x, b], *none, (language, judge) in named))
    columns = ["language", "judge", "r", "low", "high", "mean", "slope", "slope_low", "slope_high", "named"]
    return framed(rows, columns=columns)


def pairs(panel: Panel, a: Agreement | None, given: Mapping[str, str] | None) -> pd.DataFrame:
    """row, column, value (r of two judges, none with itself), low, high, group (maker of the row)."""
    makers = families(panel.judges, given)
    rows = []
    if a is not None:
        for i, x in enumerate(panel.judges):
            for j, y in enumerate(panel.judges):
                rows.append((x, y, a.pairs[i, j], a.pairs_low[i, j], a.pairs_high[i, j], makers[x]))
    return framed(rows, columns=["row", "column", "value", "low", "high", "group"])


def reversals(panel: Panel, values: Values) -> pd.DataFrame:
    """Pairs of judges that change places between two languages (Definition 1), with both p-values of METHODS 5."""
    found = _reversals(panel, values)
    if found is None:
        return framed(columns=REVERSALS)
    here = np.flatnonzero(found.delta > 0)
    here = here[np.lexsort((-found.delta[here].round(9), found.p[here].round(12)))]
    judges, languages = np.array(panel.judges, dtype=object), np.array(panel.languages, dtype=object)
    made = (
        judges[found.i[here]], judges[found.j[here]], languages[found.language_a[here]], found.gap_a[here],
        languages[found.language_b[here]], found.gap_b[here], found.delta[here], found.p_published[here], found.p[here],
    )  # fmt: skip
    return framed(dict(zip(REVERSALS, made, strict=True)))


def _reversals(panel: Panel, values: Values) -> cbc.Reversals | None:
    """None where gaps of judges cannot be told in every language."""
    if min(len(panel.languages), len(panel.judges)) < 2 or not values.present.all() or values.units < 2:
        return None
    k, m = len(panel.languages), len(panel.judges)
    if values.null.shape[1] and np.abs(_gaps(k, m) @ values.null).max() > 1e-6:
        return None
    return cbc.reversals(values.v, tiny_of(panel))


def _gaps(k: int, m: int) -> Array:
    """Contrasts of every two judges inside each language, (k (m-1), k m)."""
    out = np.zeros((k, m - 1, k, m))
    for x in range(k):
        for b in range(m - 1):
            out[x, b, x, b], out[x, b, x, b + 1] = 1.0, -1.0
    return out.reshape(k * (m - 1), k * m)


def reversal_finding(panel: Panel, values: Values, level: float) -> list[Finding]:
    """How many pairs of judges clearly reverse; the clearest is named."""
    found = _reversals(panel, values)
    sure = np.zeros(0, dtype=int) if found is None else np.flatnonzero((found.delta > 0) & (found.p <= 1 - level))
    if found is None or not len(sure):
        return []
    x, m = sure[np.lexsort((-found.delta[sure].round(9), found.p[sure].round(12)))[0]], len(panel.judges)
    high, low = (found.i[x], found.j[x]) if found.gap_a[x] > 0 else (found.j[x], found.i[x])
    total = m * (m - 1) // 2
    one = "s" if len(sure) == 1 else ""
    who = "The two judges reverse" if total == 1 else f"{len(sure)} of {total} pairs of judges reverse{one}"
    text = (
        f"{who} between {panel.nouns}: {name(panel.judges[high])} gives more than {name(panel.judges[low])} in "
        f"{name(panel.languages[found.language_a[x]])}, and less in {name(panel.languages[found.language_b[x]])}."
    )
    return [Finding("notice", "judges.reversals", text)]


def ranks(panel: Panel, values: Values) -> pd.DataFrame:
    """panel ("Before", "After calibrating"), group (language), label (judge), rank: the highest mean is 1."""
    columns = ["panel", "group", "label", "rank"]
    k, m = len(panel.languages), len(panel.judges)
    if min(k, m) < 2 or not values.present.all():
        return framed(columns=columns)
    tiny = tiny_of(panel)
    mean = values.mean
    rows = []
    for title, cells in (("Before", mean), ("After calibrating", mean - cbc.double_centre(mean))):
        order = np.argsort(np.argsort(-np.round(cells / tiny), axis=1, kind="stable"), axis=1, kind="stable") + 1
        for x, language in enumerate(panel.languages):
            rows += [(title, language, judge, int(order[x, b])) for b, judge in enumerate(panel.judges)]
    return framed(rows, columns=columns)
