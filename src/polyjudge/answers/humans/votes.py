"""Do judges of pairs pick as people do? (METHODS 37)

The answer: in what share of people's votes a judge picks the same, with ties and where both pick a winner, how often
two people pick the same, by turn, kind of voter, language and pair of systems; whom people would rank first; and the
pairs that people and judges decide differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyjudge._version import __version__
from polyjudge.answers.audit.pair_boards import pair_board
from polyjudge.answers.humans.board import PeopleBoard, board_findings, board_frame
from polyjudge.answers.humans.vote_board import board_sections, empty_frame, first_table, vote_board
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import missing, number, percent, percent_ci
from polyjudge.base.text import count, name
from polyjudge.panel import Panel, with_texts
from polyjudge.read.pairs import read_votes
from polyjudge.report.model import Finding, Report, Result, Section, Table
from polyjudge.stats import labels as st
from polyjudge.stats.labels import NONE, Limits
from polyjudge.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
TINY = 1e-9
MEASURES = ("agreement", "decided", "kappa")
"""What --require knows: with ties, where both pick a winner, kappa of the three outcomes."""


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Result):
    """Judges of pairs beside people's votes.

    board : language, system, people (share of wins), low, high, rank_low, rank_high, labels (votes), basis: what people
        would say of every system in every language (METHODS 39); empty of one language
    agreement : judge ("all judges" together), voters ("all" and each kind), part (of a task; "all"), language ("all"),
        votes, agreement, low, high; decided (votes where both pick a winner), decided_agreement, decided_low,
        decided_high; kappa, kappa_low, kappa_high; people (share in which two people pick alike), people_low,
        people_high, people_decided, people_decided_low, people_decided_high
    pairs : first, second, votes, people (share of the first among people), judges, agreement, low, high
    systems : system, judges, people (share of wins), rank_low, rank_high of people's ranking, votes
    disagreements : task, language, first, second, judge, picks, people_pick, votes, for_people (votes for it), texts
    requirements : rule, value, low, high, met, surely_not
    """

    board: pd.DataFrame
    agreement: pd.DataFrame
    pairs: pd.DataFrame
    systems: pd.DataFrame
    disagreements: pd.DataFrame
    requirements: pd.DataFrame
    findings: tuple[Finding, ...]
    panel_: Panel
    board_: PeopleBoard | None

    @property
    def incomplete(self) -> bool:
        """Whether a requirement is not surely met."""
        return bool(len(self.requirements)) and not bool(self.requirements["met"].all())

    def report(self) -> Report:
        """The answer as it is shown."""
        panel = self.panel_
        shown = {"judge": "name", "voters": "name", "part": "name", "language": "name", "votes": "count",
                 "agreement": "percent low high", "decided_agreement": "percent decided_low decided_high",
                 "kappa": "number kappa_low kappa_high", "people": "percent people_low people_high",
                 "people_decided": "percent people_decided_low people_decided_high"}  # fmt: skip
        pairs = panel.pairs
        assert pairs is not None
        titles = {"agreement": "picks as people do", "decided_agreement": "where both pick a winner",
                  "people": "two people pick alike", "people_decided": "of two that pick a winner",
                  "part": pairs.part_noun or "part", "language": panel.noun}  # fmt: skip
        if pairs.people is not None and pairs.people.is_key:
            titles["agreement"] = "picks as the answer key says"
        frame = self.agreement
        shown = {column: kind for column, kind in shown.items() if _says_something(frame, column)}
        board = Table("agreement", "Votes", frame, shown, titles)
        systems = Table("systems", "Systems by people and by judges", self.systems, {
            "rank_low": "rank rank_high", "system": "name", "people": "percent", "judges": "percent", "votes": "count",
        }, {"rank_low": "rank by people"})  # fmt: skip
        by_pair = Table("pairs", "Pairs of systems", self.pairs, {
            "first": "name", "second": "name", "votes": "count", "people": "percent", "judges": "percent",
            "agreement": "percent low high",
        }, {"people": "first wins (people)", "judges": "first wins (judges)"})  # fmt: skip
        columns = {column: "name" for column in self.disagreements.columns}
        columns |= {"votes": "count", "for_people": "count", "prompt": "text", "response": "text", "reason": "text"}
        differ = Table("disagreements", "Pairs that people and judges decide differently", self.disagreements, {
            column: kind for column, kind in columns.items() if column in self.disagreements.columns
        }, {"picks": "judge picks", "people_pick": "people pick", "for_people": "votes for it"})  # fmt: skip
        sections = (
            *board_sections(self.board, panel.noun),
            Section("votes", "Agreement", (), (by_pair,)),
            Section("systems", "Systems", (), (systems,)),
            Section("disagreements", "Where they differ", (), (differ,)),
        )
        about = {"version": __version__, "input": panel.source}
        title = "Judges beside people's votes"
        return Report(
            "humans",
            title,
            (panel.facts, *panel.notes),
            self.findings,
            first_table(self.board_, board),
            (),
            sections,
            about=about,
        )


def _says_something(frame: pd.DataFrame, column: str) -> bool:
    """Whether a column of labels has two values, or one of numbers any."""
    if column in ("voters", "part", "language", "judge"):
        return column == "judge" or frame[column].nunique() > 1
    return bool(frame[column].notna().any())


def votes(
    panel: Panel, labels: Any = None, *, require: tuple[str, ...] = (), level: float = 0.95
) -> Votes:  # fmt: skip
    """Compare judges' verdicts on pairs with people's votes.

    labels : a source of votes, where they do not come with the verdicts
    require : 'agreement>=0.6', 'decided>=0.8', 'kappa>=0.4'; the limit of the interval decides
    """
    if labels is not None:
        panel = read_votes(labels, panel)
    if panel.pairs is None or panel.pairs.people is None:
        raise UsageError(
            "These verdicts hold no votes of people. Name their column (--human COLUMN), say which judges are people "
            "(--human-judges 'expert_*'), or give their votes in a file of their own."
        )
    rules = [_parse_rule(rule) for rule in require or ()]
    cast = _cast_votes(panel)
    agreement = _agreement_frame(panel, cast, level)
    board = vote_board(panel, level=level)
    result = Votes(
        board=empty_frame() if board is None else board_frame(board),
        agreement=agreement,
        pairs=_pairs_frame(panel, cast, level),
        systems=_systems_frame(panel, level),
        disagreements=_disagreements_frame(panel, cast),
        requirements=_requirements_frame(rules, agreement),
        findings=(),
        panel_=panel,
        board_=board,
    )
    said = [] if board is None else board_findings(board)
    return replace(result, findings=(*said, *_findings(result)))


# --- numbers ---


class Cast(NamedTuple):
    """Votes as outcomes of unordered pairs: 1 the lower system, 0 the upper, 0.5 a tie.

    key : (votes,) number of the pair of answers; judged : judge -> (votes,) its outcome there, NaN where it has none
    share : judge -> (votes,) its mean verdict there
    """

    key: Codes
    unit: Codes
    outcome: Array
    judged: dict[str, Array]
    share: dict[str, Array]
    people: Verdicts
    lower: Codes
    upper: Codes


def _cast_votes(panel: Panel) -> Cast:
    """Each vote beside what every judge says of the same pair of answers."""
    pairs = panel.pairs
    assert pairs is not None
    assert pairs.people is not None
    people = pairs.people
    key, outcome = _orient(panel, people)
    judge_key, judge_won = _orient(panel, pairs)
    judged, share = {}, {}
    listed = np.unique(np.concatenate([key, judge_key]))
    place = np.searchsorted(listed, key)
    by_judge: list[tuple[str, Mask]] = [(x, pairs.judge == i) for i, x in enumerate(panel.judges)]
    if len(panel.judges) > 1:
        by_judge.append(("all judges", np.ones(len(pairs), dtype=bool)))
    for judge, rows in by_judge:
        at = np.searchsorted(listed, judge_key[rows])
        times = np.bincount(at, minlength=len(listed))
        total = np.bincount(at, judge_won[rows], len(listed))
        mean = np.where(times > 0, total / np.maximum(times, 1), np.nan)[place]
        share[judge] = mean
        judged[judge] = _as_outcome(mean)
    lower, upper = np.minimum(people.first, people.second), np.maximum(people.first, people.second)
    return Cast(place, panel.unit[people.task], _as_outcome(outcome), judged, share, people, lower, upper)


def _orient(panel: Panel, verdicts: Verdicts) -> tuple[Codes, Array]:
    """The number of each pair of answers, and the share of the win of its lower system."""
    sizes = (len(panel.tasks), len(panel.languages), len(panel.systems), len(panel.systems))
    lower, upper = np.minimum(verdicts.first, verdicts.second), np.maximum(verdicts.first, verdicts.second)
    key = np.ravel_multi_index((verdicts.task, verdicts.language, lower, upper), sizes)
    return key, np.where(verdicts.first < verdicts.second, verdicts.won, 1 - verdicts.won)


def _as_outcome(share: Array) -> Array:
    """1, 0.5 or 0; a split judge, and one in the middle, is a tie."""
    return np.where(
        np.isfinite(share), 0.5 + np.sign(np.where(np.abs(share - 0.5) < TINY, 0.0, share - 0.5)) / 2, np.nan
    )


def _subsets(panel: Panel, cast: Cast) -> Iterator[tuple[str, str, str, Mask]]:
    """Kind of voter, part and language: all together, each alone, and each kind in each part."""
    people = cast.people
    kinds = np.array([re.sub(r"[_\-. ]*\d+$", "", voter) or voter for voter in people.voters], dtype=object)
    own = kinds[people.judge] if len(kinds) else np.array([""] * len(people), dtype=object)
    groups = sorted(set(own)) if 1 < len(set(own)) <= 6 else []
    everything = np.ones(len(people), dtype=bool)
    parts = [(part, people.part == i) for i, part in enumerate(people.parts) if part]
    yield "all", "all", "all", everything
    for kind in groups:
        yield kind, "all", "all", own == kind
    for part, rows in parts:
        yield "all", part, "all", rows
        for kind in groups:
            yield kind, part, "all", rows & (own == kind)
    if len(panel.languages) > 1:
        for i, language in enumerate(panel.languages):
            yield "all", "all", language, people.language == i


def _agreement_frame(panel: Panel, cast: Cast, level: float) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for voters, part, language, chosen in _subsets(panel, cast):
        alike = _people_alike(cast, chosen, level)
        for judge, picked in cast.judged.items():
            known = chosen & np.isfinite(picked)
            if not known.any():
                continue
            row = {"judge": judge, "voters": voters, "part": part, "language": language}
            rows.append(row | _compare(cast.outcome[known], picked[known], cast.unit[known], level) | alike)
    if not rows:
        raise PanelError("No vote of people is on a pair of answers that a judge decided, so they cannot be compared.")
    return pd.DataFrame(rows)


def _compare(people: Array, judge: Array, unit: Codes, level: float) -> dict[str, Any]:
    """Agreement of outcomes, with ties and without, and kappa."""
    same = (people == judge).astype(float)
    is_decided = (people != 0.5) & (judge != 0.5)
    found: dict[str, Any] = {"votes": len(people)}
    found |= _with_limits("agreement", "", st.share(same, unit, level))
    found["decided"] = int(is_decided.sum())
    found |= _with_limits("decided_agreement", "decided", st.share(same[is_decided], unit[is_decided], level))
    return found | _with_limits("kappa", "kappa", st.kappa(people, judge, unit, level))


def _with_limits(called: str, stem: str, limits: Limits) -> dict[str, float]:
    prefix = f"{stem}_" if stem else ""
    return {called: limits[0], f"{prefix}low": limits[1], f"{prefix}high": limits[2]}


def _people_alike(cast: Cast, chosen: Mask, level: float) -> dict[str, float]:
    """How often two people who voted on the same pair of answers pick alike, with ties and without."""
    found: dict[str, float] = {}
    for called, rows in (("people", chosen), ("people_decided", chosen & (cast.outcome != 0.5))):
        same, unit = _vote_pairs(cast.key[rows], cast.outcome[rows], cast.unit[rows])
        found |= _with_limits(called, called, st.share(same, unit, level) if len(same) else NONE)
    return found


def _vote_pairs(key: Codes, outcome: Array, unit: Codes) -> tuple[Array, Codes]:
    """Every two votes on the same pair of answers: whether they are the same, and the unit."""
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    same: list[Array] = []
    units: list[Codes] = []
    for rows in np.split(order, cuts):
        if len(rows) > 1:
            i, j = np.triu_indices(len(rows), 1)
            same.append((outcome[rows[i]] == outcome[rows[j]]).astype(float))
            units.append(unit[rows[i]])
    if not same:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    return np.concatenate(same), np.concatenate(units)


def _lead(cast: Cast) -> str:
    """The judge that is asked about: the one, or all together."""
    return list(cast.judged)[-1]


def _pairs_frame(panel: Panel, cast: Cast, level: float) -> pd.DataFrame:
    """Each two systems: who wins by people and by judges, and how often they agree."""
    import pandas as pd

    rows = []
    judge = cast.judged[_lead(cast)]
    share = cast.share[_lead(cast)]
    for i, j in sorted(set(zip(cast.lower.tolist(), cast.upper.tolist(), strict=True))):
        known = (cast.lower == i) & (cast.upper == j) & np.isfinite(judge)
        if known.any():
            same = (cast.outcome[known] == judge[known]).astype(float)
            row = {"first": panel.systems[i], "second": panel.systems[j], "votes": int(known.sum())}
            row |= {"people": float(cast.outcome[known].mean()), "judges": float(share[known].mean())}
            rows.append(row | _with_limits("agreement", "", st.share(same, cast.unit[known], level)))
    frame = pd.DataFrame(rows, columns=["first", "second", "votes", "people", "judges", "agreement", "low", "high"])
    return frame.sort_values("agreement", kind="stable", ignore_index=True)


def _systems_frame(panel: Panel, level: float) -> pd.DataFrame:
    """Systems as people's votes rank them, beside the judges' shares of wins."""
    import pandas as pd

    pairs = panel.pairs
    assert pairs is not None
    assert pairs.people is not None
    people = replace(pairs.people, judge=np.zeros(len(pairs.people), dtype=np.int64), place=np.zeros(len(pairs.people)))
    n, s, k, _ = panel.shape
    voted = replace(panel, pairs=people, judges=("people",), scores=people.shares((n, s, k, 1)), order=None)
    by_people, by_judges = pair_board(voted, level=level), pair_board(panel, level=level)
    order = [system for system in by_people.order if by_people.scored[system]]
    return pd.DataFrame(
        {
            "system": [panel.systems[system] for system in order],
            "people": by_people.mean[order],
            "judges": by_judges.mean[order],
            "rank_low": by_people.rank_low[order],
            "rank_high": by_people.rank_high[order],
            "votes": by_people.verdicts[order],
        }
    )


def _disagreements_frame(panel: Panel, cast: Cast) -> pd.DataFrame:
    """Pairs of answers of which most votes go one way and the judge the other, the clearest first."""
    import pandas as pd

    judge = cast.share[_lead(cast)]
    _, at, place = np.unique(cast.key, return_index=True, return_inverse=True)
    times = np.bincount(place)
    mean = np.bincount(place, cast.outcome) / times
    rows = []
    for key, vote in enumerate(at):
        gap = (mean[key] - 0.5) * (judge[vote] - 0.5)
        if not gap < -TINY:
            continue
        first, second = panel.systems[cast.lower[vote]], panel.systems[cast.upper[vote]]
        row = {
            "task": panel.tasks[cast.people.task[vote]],
            "language": panel.languages[cast.people.language[vote]],
            "first": first,
            "second": second,
            "judge": _lead(cast),
            "picks": first if judge[vote] > 0.5 else second,
            "people_pick": first if mean[key] > 0.5 else second,
            "votes": int(times[key]),
            "for_people": float(times[key] * max(mean[key], 1 - mean[key])),
        }
        rows.append((round(-abs(mean[key] - 0.5) * np.sqrt(times[key]), 9), key, row))
    rows.sort(key=lambda item: item[:2])
    columns = ["task", "language", "first", "second", "judge", "picks", "people_pick", "votes", "for_people"]
    frame = pd.DataFrame([row for _, _, row in rows], columns=columns)
    if panel.languages == ("",):
        frame = frame.drop(columns="language")
    return with_texts(panel, frame, ("task", "language"))


# --- requirements ---


def _parse_rule(text: str) -> tuple[str, str, str, float]:
    """'agreement>=0.6' as its measure, direction and limit."""
    match = re.fullmatch(r"([a-z]+)([<>])=?(\d*\.?\d+)(%?)", text.lower().replace(" ", ""))
    if match is None or match[1] not in MEASURES:
        raise UsageError(
            f"A requirement on votes is a measure and its limit, such as 'agreement>=0.6', not {name(text)!r}. "
            f"Measures: {', '.join(MEASURES)}."
        )
    return text.strip(), match[1], match[2], float(match[3]) / (100 if match[4] else 1)


def _requirements_frame(rules: list[tuple[str, str, str, float]], agreement: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    columns = {
        "agreement": ("agreement", "low", "high"),
        "decided": ("decided_agreement", "decided_low", "decided_high"),
        "kappa": ("kappa", "kappa_low", "kappa_high"),
    }
    whole = _whole_row(agreement)
    rows = []
    for text, measure, direction, limit in rules:
        value, low, high = (float(whole[column]) for column in columns[measure])
        is_met = low >= limit - 1e-12 if direction == ">" else high <= limit + 1e-12
        surely_not = high < limit if direction == ">" else low > limit
        rows.append((text, value, low, high, bool(is_met), bool(surely_not)))
    return pd.DataFrame(rows, columns=["rule", "value", "low", "high", "met", "surely_not"])


# --- sentences ---


def _whole_row(agreement: pd.DataFrame) -> Any:
    """The row of the judge that is asked about, of all votes."""
    whole = agreement[(agreement["voters"] == "all") & (agreement["part"] == "all") & (agreement["language"] == "all")]
    return whole.iloc[-1]


def _say(key: str, text: str, severity: Any = "info", topic: str = "People") -> Finding:
    return Finding(severity, f"votes.{key}", text, topic)


def _findings(result: Votes) -> Iterator[Finding]:
    row = _whole_row(result.agreement)
    pairs = result.panel_.pairs
    is_key = pairs is not None and pairs.people is not None and pairs.people.is_key
    yield _agreement_finding(row, is_key)
    if not is_key:
        yield _people_finding(row)
        yield from _differing_pair_finding(result)
    if len(result.disagreements):
        yield _disagreements_finding(result.disagreements, is_key)
    for rule in result.requirements.itertuples():
        holds = "is met" if rule.met else "is not met" if rule.surely_not else "cannot be told yet"
        size = f"{number(rule.value)} [{number(rule.low)}, {number(rule.high)}]"
        yield _say("require", f"{rule.rule} {holds}: {size}.", "info" if rule.met else "warning")


def _disagreements_finding(disagreements: pd.DataFrame, is_key: bool) -> Finding:
    """How many pairs are decided differently, and the worst of them."""
    worst = disagreements.iloc[0]
    are = "is" if len(disagreements) == 1 else "are"
    picks = f"{name(worst['judge'])} picks" if worst["judge"] != "all judges" else "the judges together pick"
    go = "goes" if worst["for_people"] == 1 else "go"
    other = f"{worst['for_people']:g} of {count(int(worst['votes']), 'vote')} {go} to {name(worst['people_pick'])}"
    if is_key:
        other = f"the key says {name(worst['people_pick'])}"
    text = (
        f"{count(len(disagreements), 'pair')} of answers {are} decided differently, worst first: in "
        f"{name(worst['task'], 60)}, {picks} {name(worst['picks'])} and {other}."
    )
    return _say("disagreements", text, "notice")


def _agreement_finding(row: Any, is_key: bool) -> Finding:
    """How often the judge picks as people do, or as the answer key says."""
    who = f"{name(row['judge'])} picks" if row["judge"] != "all judges" else "The judges together pick"
    with_ties = percent_ci(row["agreement"], row["low"], row["high"])
    text = f"{who} as people do in {with_ties} of {count(int(row['votes']), 'vote')}"
    if is_key:
        text = f"{who} as the answer key says in {with_ties} of {count(int(row['votes']), 'pair')}"
    if row["decided"] and row["decided"] < row["votes"]:
        decided = percent_ci(row["decided_agreement"], row["decided_low"], row["decided_high"])
        text += f", in {decided} of the {int(row['decided']):,} where both pick a winner"
    if not missing(row["kappa"]):
        text += f" (kappa {number(row['kappa'])} [{number(row['kappa_low'])}, {number(row['kappa_high'])}])"
    return _say("agreement", f"{text}.")


def _people_finding(row: Any) -> Finding:
    """How often two people pick alike: what a judge can be expected to reach."""
    if missing(row["people"]):
        return _say("one", "No pair of answers has votes of two people: how far they agree is not known.", "notice", "")
    text = f"Two people pick alike in {percent_ci(row['people'], row['people_low'], row['people_high'])} of cases"
    if not missing(row["people_decided"]):
        limits = (row["people_decided"], row["people_decided_low"], row["people_decided_high"])
        text += f", in {percent_ci(*limits)} where both pick a winner"
    return _say("people", f"{text}.")


def _differing_pair_finding(result: Votes) -> Iterator[Finding]:
    """Two systems that people and judges put in different order."""
    frame = result.pairs
    reversed_pairs = frame[((frame["people"] - 0.5) * (frame["judges"] - 0.5) < -0.0025) & (frame["votes"] >= 10)]
    if not len(reversed_pairs):
        return
    shown = []
    for row in reversed_pairs.head(3).itertuples():
        sides = f"people {percent(row.people, 0)}, judges {percent(row.judges, 0)}"
        shown.append(f"{name(row.first)} against {name(row.second)} ({sides})")
    yield _say("order", f"People and judges put pairs in another order: {'; '.join(shown)}.", "notice")
