"""What may make a lead: each known threat, what is left of the lead without it, and a verdict (METHODS 36).

Numbers only; the sentences are in `stands.py`. A threat that does not apply (one judge, one language, unknown lengths)
has no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.answers.audit.copies import merge_copies
from polyjudge.answers.audit.leads import Contest, Lead, Verdict, judge_lead
from polyjudge.answers.audit.length import lengths_differ
from polyjudge.answers.audit.own_maker import OwnMaker
from polyjudge.answers.audit.pair_leads import (
    all_games,
    always_in_one_place,
    find_leaning_judges,
    find_pair_lead,
    place_is_estimable,
)
from polyjudge.panel import Panel
from polyjudge.stats.within_rows import fit_within_rows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
LONGER = float(np.log2(1.1))
"""A leader whose answers are longer by a tenth and more, in doublings, cannot be told from length."""
WORST: Mapping[Verdict, int] = {
    "does not stand": 0, "depends": 0, "cannot be told": 1, "no verdict": 2, "stands": 3, "does not apply": 4
}  # fmt: skip
"""The order of verdicts, the worst first."""


@dataclass(frozen=True)
class Threat:
    """What is left of a lead without something that may have made it.

    seen : whether the threat itself is seen in the scores, beside what it does to the lead
    before, after : the lead as it is and what is left of it; None where that cannot be estimated
    """

    name: str
    verdict: Verdict
    seen: bool
    before: Lead
    after: Lead | None

    @property
    def rank(self) -> tuple[int, float]:
        """Order of threats, the worst first."""
        left = -np.inf if self.after is None or self.after.rival < 0 else self.after.value[self.after.rival]
        return WORST[self.verdict], float(left)


@dataclass(frozen=True)
class LeftOut(Threat):
    """A judge, the judges of a maker, a group of copies, or a language, whose absence takes most of the lead.

    behind_in : language in which the top is surely behind another system, that system and the gap with its limits
    """

    judges: tuple[int, ...] = ()
    maker: str = ""
    language: int = -1
    behind_in: tuple[int, int, tuple[float, float, float]] | None = None


@dataclass(frozen=True)
class OwnScores(Threat):
    """All scores that judges gave systems of their own maker. favouring : judges of whom it is sure"""

    favouring: tuple[int, ...] = ()


@dataclass(frozen=True)
class LongerAnswers(Threat):
    """longer : doublings by which the top's answers are longer than those of `than`
    than : the system that is nearest at equal length, or as the lead is where only that one's answers are shorter
    slope : points per doubling inside rows and systems, with limits; NaN where lengths hardly differ"""

    longer: float = 0.0
    than: int = -1
    slope: tuple[float, float, float] = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Places(Threat):
    """leaning : judges that surely prefer a place, and by how much the first place wins (share of verdicts)
    always : 1 or 2 where the top was always shown in that place, else 0"""

    leaning: tuple[tuple[int, float], ...] = ()
    always: int = 0


@dataclass(frozen=True)
class Copies(Threat):
    """Groups of judges that are copies of each other."""

    groups: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class LostScores(Threat):
    """lacks : share of the answers that others have a score for and the top has none
    drop : how far below its others (same judge and language) they would have to lie for the lead to vanish"""

    lacks: float = 0.0
    drop: float = np.inf


# --- judges and languages left out ---


def without_judges(
    contest: Contest, before: Lead, makers: Sequence[str], groups: Sequence[Sequence[int]]
) -> LeftOut | None:
    """Each judge, each maker's judges and each group of copies left out; the worst counts."""
    left_out = _judges_in_turn(makers, groups)
    if not left_out:
        return None
    tried = []
    for judges, _ in contest.find_suspects([(judges, ()) for judges in left_out]):
        after = contest.lead_without(judges=judges)
        verdict = judge_lead(before, after, "depends", n_tried=len(left_out))
        maker = left_out[judges]
        tried.append(LeftOut("one judge", verdict, True, before, after, judges=judges, maker=maker))
    return min(tried, key=lambda threat: threat.rank)


def _judges_in_turn(makers: Sequence[str], groups: Sequence[Sequence[int]]) -> dict[tuple[int, ...], str]:
    """The judges that are left out together, and their maker where they are all of a maker's; never all judges."""
    n_judges = len(makers)
    left_out: dict[tuple[int, ...], str] = {(judge,): "" for judge in range(n_judges)}
    for maker in dict.fromkeys(makers):
        members = tuple(b for b in range(n_judges) if makers[b] == maker)
        if maker and len(members) > 1:
            left_out[members] = maker
    for group in groups:
        left_out.setdefault(tuple(group), "")
    return {judges: maker for judges, maker in left_out.items() if len(judges) < n_judges}


def without_languages(
    contest: Contest, before: Lead, behind: tuple[int, int, tuple[float, float, float]] | None
) -> LeftOut | None:
    """Each language left out; the worst counts. behind : the language in which the top is surely behind"""
    n_languages = len(contest.panel.languages)
    if n_languages < 2:
        return None
    tried = []
    for _, (language,) in contest.find_suspects([((), (language,)) for language in range(n_languages)]):
        after = contest.lead_without(languages=[language])
        verdict = judge_lead(before, after, "depends", n_tried=n_languages)
        tried.append(LeftOut("one language", verdict, True, before, after, language=language))
    return replace(min(tried, key=lambda threat: threat.rank), behind_in=behind)


# --- own maker ---


def without_own_makers(contest: Contest, before: Lead, found: OwnMaker) -> OwnScores | None:
    """All scores that judges gave systems of their own maker left out. The threat is seen where a judge of the top's
    maker surely favours it; or any judge its own, where no judge is of the top's maker."""
    own = found.own
    if own is None or not own.any() or len(contest.panel.judges) < 2:
        return None
    panel = contest.panel
    rest = _without_scores(panel, own)
    is_weighted = contest.weights is not None and panel.pairs is None
    after = contest.lead_by_known_judges(rest) if is_weighted else contest.lead_in(rest, contest.weights)
    of_top = [b for b in range(len(panel.judges)) if own[contest.top, b]]
    favouring = found.favouring
    is_seen = any(b in favouring for b in of_top) if of_top else bool(favouring)
    verdict = judge_lead(before, after, "depends", is_seen=is_seen)
    return OwnScores("own maker", verdict, bool(favouring), before, after, favouring=favouring)


def _without_scores(panel: Panel, mask: Mask) -> Panel:
    """The panel without what these judges gave these systems (systems, judges): scores, or verdicts on them."""
    scores = np.where(mask[None, :, None, :], np.nan, panel.scores)  # over tasks and languages
    pairs = panel.pairs
    if pairs is not None:
        is_own = mask[pairs.first, pairs.judge] | mask[pairs.second, pairs.judge]
        pairs = pairs.take(~is_own)
    return replace(panel, scores=scores, pairs=pairs)


# --- length ---


def at_equal_length(contest: Contest, before: Lead) -> LongerAnswers | None:
    """The lead less the mean over judges of slope x doublings by which the top is longer. Whether longer is better,
    scores cannot tell: there is no verdict but "cannot be told", and none where the top is not longer by a tenth, or
    where judges certainly give less for longer answers."""
    panel = contest.panel
    if panel.length is None or not np.isfinite(panel.length[:, contest.top]).any():
        return None
    doublings = np.asarray(panel.length, dtype=float) / np.log(2)
    longer = _longer_by(panel, doublings, contest.top)
    nearest = before.rival
    if nearest < 0 or not np.isfinite(longer.mean(0)[nearest]):
        return None
    after, slope = None, (np.nan, np.nan, np.nan)
    if lengths_differ(panel.length):
        slopes = _length_slopes(panel, doublings)
        after = _less_length(contest, before, slopes, longer)
        slope = _mean_slope(slopes, before.df, contest.level)
    by = longer.mean(0)
    than = nearest if after is None or after.rival < 0 or not by[after.rival] >= LONGER else after.rival
    is_longer = bool(by[than] >= LONGER)
    loses_by_length = (
        after is not None and slope[2] < 0
    )  # judges like short answers, and the lead is there all the same
    verdict: Verdict = "cannot be told" if is_longer and not loses_by_length else "does not apply"
    return LongerAnswers("length", verdict, is_longer, before, after, longer=float(by[than]), than=than, slope=slope)


def _rows_of(panel: Panel, values: Array) -> Array:
    """Values (tasks, systems, languages) as rows (tasks x languages, systems)."""
    return values.transpose(0, 2, 1).reshape(-1, values.shape[1])


def _longer_by(panel: Panel, doublings: Array, top: int) -> Array:
    """Values (units, systems) of the doublings by which the top is longer, compared inside tasks where both were
    scored; NaN where that is not estimable."""
    n_languages = len(panel.languages)
    unit, weight = np.repeat(panel.unit, n_languages), np.repeat(panel.weight, n_languages)
    scored = np.isfinite(panel.scores).any(3)
    rows = _rows_of(panel, np.where(scored, doublings, np.nan))
    values = fit_within_rows(rows, unit, panel.units, weight)
    lost = np.abs(values.null[top] - values.null).max(1, initial=0.0) > 1e-6
    return np.where(lost, np.nan, values.v[:, [top]] - values.v)


def _length_slopes(panel: Panel, doublings: Array) -> Array:
    """Values (units, judges) of the points per doubling of the length, inside rows and systems."""
    n_languages, n_judges = panel.shape[2:]
    unit, weight = np.repeat(panel.unit, n_languages), np.repeat(panel.weight, n_languages)
    rows = _rows_of(panel, doublings)
    columns = []
    for judge in range(n_judges):
        values = fit_within_rows(_rows_of(panel, panel.scores[..., judge]), unit, panel.units, weight, [rows])
        is_lost = np.abs(values.null[-1]).max(initial=0.0) > 1e-6
        columns.append(np.full(panel.units, np.nan) if is_lost else values.v[:, -1])
    return np.stack(columns, axis=1)


def _less_length(contest: Contest, before: Lead, slopes: Array, longer: Array) -> Lead | None:
    """The lead at equal length: x less the product of slope and length, to first order about their means."""
    weights = np.ones(slopes.shape[1]) if contest.weights is None else contest.weights
    known = np.isfinite(slopes).all(0) & (weights > 0)
    if not known.any():
        return None
    slope = slopes[:, known] @ (weights[known] / weights[known].sum())
    by = longer.mean(0)
    units = before.units - (slope[:, None] * by + slope.mean() * (longer - by))
    return _plain_lead(contest, before, units)


def _plain_lead(contest: Contest, before: Lead, units: Array, df: float | None = None) -> Lead:
    """A lead by values of its own, with plain t limits that hold for all pairs of systems at once."""
    freedom = before.df if df is None else df
    value, n_units = units.mean(0), len(units)
    value = np.where(np.isin(np.arange(len(value)), contest.rivals), value, np.nan)
    error = units.std(0, ddof=1) / np.sqrt(n_units)
    chance = 1 - (1 - contest.level ** (1 / contest.comparisons)) / 2
    half = float(stdtrit(freedom, chance)) * error
    return replace(before, value=value, low=value - half, high=value + half, units=units, df=freedom)


def _mean_slope(slopes: Array, df: float, level: float) -> tuple[float, float, float]:
    """Points per doubling, the mean of the judges, with its limits."""
    known = np.isfinite(slopes).all(0)
    if not known.any():
        return np.nan, np.nan, np.nan
    each = slopes[:, known].mean(1)
    half = float(stdtrit(df, 1 - (1 - level) / 2)) * float(each.std(ddof=1)) / np.sqrt(len(each))
    return float(each.mean()), float(each.mean()) - half, float(each.mean()) + half


# --- position ---


def with_places_even(contest: Contest) -> Places | None:
    """The lead with a place term per judge, by verdicts on pairs; not estimable where one order only was asked."""
    games = all_games(contest)
    if games is None:
        return None
    before = find_pair_lead(contest, contest.panel, contest.weights, has_places=False)
    after = find_pair_lead(contest, contest.panel, contest.weights)
    if before is None or before.rival < 0:
        return None
    always = always_in_one_place(games, contest.top)
    if not place_is_estimable(games):
        return Places("position", "cannot be told", True, before, None, always=always)
    leaning = find_leaning_judges(games, contest.level)
    verdict = judge_lead(before, after, "does not stand")
    return Places("position", verdict, bool(leaning), before, after, leaning=leaning, always=always)


# --- copies ---


def with_copies_as_one(contest: Contest, before: Lead, groups: Sequence[Sequence[int]]) -> Copies | None:
    """Each group of copies averaged to one judge."""
    panel = contest.panel
    if not groups:
        return None
    named = tuple(tuple(group) for group in groups)
    even = np.ones(len(panel.judges)) if contest.weights is None else contest.weights
    if panel.pairs is None:
        dropped = [b for group in groups for b in group[1:]]
        weights = None if contest.weights is None else np.delete(contest.weights, dropped)
        after = contest.lead_in(merge_copies(panel, groups), weights)
    else:
        shared = even.copy()
        for group in groups:
            shared[list(group)] = even[list(group)].mean() / len(group)
        after = contest.lead_in(panel, shared / shared.sum())
    verdict = judge_lead(before, after, "does not stand")
    if len(groups[0]) == len(panel.judges):
        verdict = "cannot be told"  # all judges are one
    return Copies("copies", verdict, True, before, after, groups=named)


# --- missing scores ---


def with_lost_scores(contest: Contest, before: Lead) -> LostScores | None:
    """How far below its other scores those that the top lacks would have to lie for the lead to vanish. It stands where
    that is off the scale; else there is the number, and no verdict: what is lost may be failures or an outage. It is
    seen where the top surely lacks more than the others do on average; else a schedule may have left the scores out."""
    panel, top = contest.panel, contest.top
    seen = np.isfinite(panel.scores)
    weight = panel.weight[:, None, None]
    lost = seen.any(1) & ~seen[:, top]
    if not lost.any() or not seen[:, top].any():
        return None
    due = float((weight * seen.any(1)).sum())
    lacks = float((weight * lost).sum()) / due
    others_lack = 1 - float((weight[..., None] * np.delete(seen, top, axis=1)).sum()) / due / (seen.shape[1] - 1)
    is_seen = _surely_lacks_more(lacks, others_lack, int(seen.any(1).sum()), seen.shape[1] - 1)
    usual = _usual_scores(panel, top)
    at_worst = _filled(contest, lost, np.full_like(usual, panel.scale[0]))
    if at_worst is not None and at_worst.is_certain:
        return LostScores("missing", "stands", is_seen, before, at_worst, lacks=lacks)
    at_usual = _filled(contest, lost, usual)
    one_lower = _filled(contest, lost, usual - 1.0)
    if at_usual is None or one_lower is None:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        drops = at_usual.value / (at_usual.value - one_lower.value)
    drops = drops[np.isfinite(drops)]
    drop = max(float(drops.min()), 0.0) if len(drops) else np.inf
    return LostScores("missing", "no verdict", is_seen, before, at_worst, lacks=lacks, drop=drop)


def _surely_lacks_more(lacks: float, others_lack: float, n_due: int, n_others: int) -> bool:
    """Whether the share of the top's scores that are missing is above the others' by more than chance (one-sided
    2.5%)."""
    pooled = (lacks + n_others * others_lack) / (1 + n_others)
    error = np.sqrt(pooled * (1 - pooled) / n_due * (1 + 1 / n_others))
    return bool(lacks - others_lack > 1.96 * error)


def _usual_scores(panel: Panel, top: int) -> Array:
    """Mean of the top's scores (languages, judges); of the language, or of all, where there are none."""
    scores = panel.scores[:, top]
    seen = np.isfinite(scores)
    weight = panel.weight[:, None, None]
    total, number = (np.where(seen, scores, 0.0) * weight).sum(0), (seen * weight).sum(0)
    whole = total.sum() / number.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        of_language = np.where(number.sum(1) > 0, total.sum(1) / number.sum(1), whole)[:, None]
        return np.asarray(np.where(number > 0, total / number, of_language))


def _filled(contest: Contest, lost: Mask, fill: Array) -> Lead | None:
    """The lead with the top's lost scores (tasks, languages, judges) filled by cell."""
    scores = contest.panel.scores.copy()
    scores[:, contest.top] = np.where(lost, fill, scores[:, contest.top])
    return contest.lead_in(replace(contest.panel, scores=scores), contest.weights)


# --- the judges as a sample ---


def leads_by_judge(contest: Contest, rival: int) -> list[float]:
    """The lead over one system by each judge alone; NaN where it does not compare them."""
    leads = [contest.lead_by(judge) for judge in range(len(contest.panel.judges))]
    return [np.nan if lead is None else float(lead.value[rival]) for lead in leads]
