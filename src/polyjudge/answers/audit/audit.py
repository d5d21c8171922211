"""Who wins, do the judges agree, what is off, what to do: everything about a panel on one screen and one page.

METHODS 5, 9, 12, 18, 19, 20, 25. Each room answers its own question (systems, judges, off, gates); here they are put
together, and a panel of several criteria is looked at criterion by criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import amount, tiny_of
from polyjudge.answers.audit import cell_agreement as cell_room
from polyjudge.answers.audit import judges as judge_room
from polyjudge.answers.audit.advice import steps
from polyjudge.answers.audit.boards import columns_of
from polyjudge.answers.audit.copies import number_judges
from polyjudge.answers.audit.criteria import alike, alike_finding
from polyjudge.answers.audit.gates import gates
from polyjudge.answers.audit.length import length
from polyjudge.answers.audit.off import QUIET, Off, off
from polyjudge.answers.audit.pages import build
from polyjudge.answers.audit.position import position
from polyjudge.answers.audit.retest import COLUMNS as RETEST
from polyjudge.answers.audit.retest import retest
from polyjudge.answers.audit.stands_words import COLUMNS as STANDS
from polyjudge.answers.audit.stands_words import doubt_in_short, stands_frame
from polyjudge.answers.audit.systems import Systems, systems
from polyjudge.answers.margins import choose_system, margins
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.later import Later, framed
from polyjudge.base.options import ColumnsJudgesItems
from polyjudge.base.text import families as makers_of
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Report, Result, Step
from polyjudge.stats.agreement import Agreement, agreement
from polyjudge.stats.cell_agreement import CellAgreement, cell_agreement

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.humans.compare import Humans
    from polyjudge.answers.humans.votes import Votes

T = TypeVar("T")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """What is found of one criterion."""

    panel: Panel
    systems: Systems | None
    agreement: Agreement | None
    off: Off
    findings: tuple[Finding, ...]
    cells: CellAgreement | None = None


@dataclass(frozen=True, repr=False, kw_only=True)
class Audit(Result):
    """Everything that an audit found. Frames:

    off : language, judge, off, low, high, all_low, all_high, clear, named, excess, excess_low, excess_high, beta,
        radius, read ("excess" where that says how far a cell is off: where several are named)
    systems : language ("all" and each), system, mean, behind_leader, low, high, rank_low, rank_high, may_be_best
    stands : threat, left, low, high, verdict, seen, text
    swaps : first, second, language_a, gap_a, low_a, high_a, language_b, gap_b, low_b, high_b
    reversals : judge_i, judge_j, language_a, gap_a, language_b, gap_b, delta, p_published, p
    judges : language, judge ("panel"), r, low, high, mean, slope, slope_low, slope_high, named
    pairs : row, column, value (correlation of two judges), low, high, group
    cell_agreement : language, judge, r (with the other judges there), low, high, others (r to be expected), named
    gates : language, judge, pass_raw, raw_low, raw_high, pass_calibrated, calibrated_low, calibrated_high
    retest : judge, sd (of repeats of one answer), low, high, named; empty without repeats
    position, length, criteria : as in their sections; empty where not asked
    """

    off: Later[pd.DataFrame] = Later()
    systems: Later[pd.DataFrame] = Later()
    stands: Later[pd.DataFrame] = Later()
    swaps: Later[pd.DataFrame] = Later()
    reversals: Later[pd.DataFrame] = Later()
    judges: Later[pd.DataFrame] = Later()
    pairs: Later[pd.DataFrame] = Later()
    cell_agreement: Later[pd.DataFrame] = Later()
    gates: Later[pd.DataFrame] = Later()
    retest: Later[pd.DataFrame] = Later()
    position: Later[pd.DataFrame] = Later()
    length: Later[pd.DataFrame] = Later()
    criteria: Later[pd.DataFrame] = Later()
    kind: str
    """Of what is off: calm, calibrated, named, judge gaps, language gaps, two by two, split, many, scale, too few or
    none."""
    matters: float
    blind: float
    """What failures that were not drawn could change, in points; NaN where judges are not compared."""
    level: float
    seed: int
    threshold: str | None
    findings: tuple[Finding, ...]
    next: tuple[Step, ...]
    part_: Part
    parts_: Mapping[str, Part] = field(default_factory=dict)
    rooms_: Mapping[str, Any] = field(default_factory=dict)
    cell_: tuple[str, str] | None = None

    @property
    def panel(self) -> Panel:
        """What was audited."""
        return self.part_.panel

    def report(self) -> Report:
        """The first screen and the page."""
        return build(self)


def audit(
    panel: Panel | Any,
    *,
    matters: float | None = None,
    level: float = 0.95,
    threshold: str | None = None,
    cell: str | None = None,
    families: tuple[str, ...] | None = None,
    labels: Path | None = None,
    weights: Path | None = None,
    probes: Path | None = None,
    without: tuple[str, ...] | None = None,
    against: str | None = None,
    seed: int = 0,
    **columns: Unpack[ColumnsJudgesItems],
) -> Audit:
    """See who wins, whether the judges agree, what is off.

    The first screen says which system wins and whether that is sure, whether the judges agree with each other, which
    judge is off in which language, and what to do next. The page (-o DIR) has everything.

    panel : file or table of scores
    matters : smallest difference that matters, in points (pass or fail: percentage points); 2% of the scale unless said
    level : confidence level of the intervals
    threshold : pass mark: '4' passes above 4, '>=4' from 4 on
    cell : LANGUAGE,JUDGE: show its answers that differ most from the other judges'
    families : NAME=MAKER, who made a judge or system, where its name does not tell: to test self-preference
    labels : human labels in a file of their own
    weights : weights of the judges, as JSON or CSV (judge, weight): systems are compared by the weighted mean
    probes : scores of clean and damaged answers (`polyjudge probe`), looked at beside
    without : LANGUAGE,JUDGE whose scores are left out
    against : test whether the lead over this system stands, such as a baseline; with --systems A,B that of A over B
    seed : number that fixes what is drawn at random

    Examples:
        polyjudge audit scores.csv
        polyjudge audit scores.csv --threshold 70 -o audit/
        polyjudge audit scores.csv --cell th,mistral
    """
    panel = _checked(panel, matters, level, columns)
    given = _makers(families)
    chosen = _cell(panel, cell) if cell else None
    panel = _left_out(panel, _places(panel, without))
    compared, people = _people(panel, labels, threshold, level, seed)
    asked = _Asked(matters, level, seed, given, _weights(panel, weights), compared is not None, against)
    _check_against(panel, against)
    parts = _criteria(panel, asked)
    cells = cell_agreement(panel.scores, panel.unit, level=level, seed=seed)
    sound = cell_room.without_cells(panel, cells)
    picks = margins(sound)  # of pairs, judges are compared by how often they pick one system
    part = _part(panel, asked, _systems(sound, asked, level), _off(picks, asked, level), cells)
    board = part.systems
    values = margins(panel).values() if part.off.values is None or sound is not panel else part.off.values
    passed = gates(panel, threshold, level=level)
    placed = position(panel, level=level)
    repeated = retest(panel, board.board if board else None, matters=asked.least(panel), level=level)
    longer = length(panel, level=level)
    found = [
        *part.findings,
        *(repeated.findings if repeated else ()),
        *judge_room.reversal_finding(panel, values, level),
        *judge_room.lacking(panel),
    ]
    if placed and placed.findings:  # of pairs in both orders it says more
        found = [f for f in found if f.key != "position"]
    found += [*passed.findings, *(placed.findings if placed else ()), *(longer.findings if longer else ())]
    if np.isfinite(panel.scores).any() and panel.width < 1e-200:
        said = f"Every score is {panel.scale[0]:g}: there is nothing to compare."
        found = [Finding("serious", "constant", said, "Judges", head="All scores are equal")]
    rooms: dict[str, Any] = {
        "position": placed,
        "length": longer,
        "retest": repeated,
        "values": values,
        "makers": given,
    }
    rooms["votes"], voted = _votes(panel, labels, level)
    if panel.pairs is not None and part.off.kind not in ("none", "too few"):
        found.append(Finding("info", "off.pairs", f"Off is how often {name(choose_system(sound))} is picked.", "Off"))
    people += voted
    rooms["humans"], (rooms["probe"], damage) = compared, _probes(probes, level)
    table: pd.DataFrame | Callable[[], pd.DataFrame] = framed
    if parts:
        table, found = _by_criterion(panel, parts, found)
    found = [*(f for f in found if not (people and f.key in ("judges.one", "off.none"))), *people, *damage]
    off_cells = part.off.named if part.off.kind == "named" else part.off.failing[:1] if part.off.kind == "many" else ()
    read = [*cell_room.cells_to_leave_out(panel, cells), *off_cells]
    lacking: list[Step] | None = [] if people else None
    if people and compared:
        from polyjudge.answers.humans.board import settle_findings
        from polyjudge.answers.humans.words import more_labels

        lacking = more_labels(compared)
        found = settle_findings(found, compared, None if parts else board)
    advised = steps(panel, found, part.off.kind, read, lacking)
    return Audit(
        off=lambda: part.off.frame,
        systems=lambda: framed(columns_of(board.boards if board else {})),
        stands=lambda: framed(columns=STANDS) if board is None or board.stands is None else stands_frame(board.stands),
        swaps=lambda: framed() if board is None else board.swaps,
        reversals=partial(judge_room.reversals, panel, values),
        judges=lambda: judge_room.frame(panel, values, part.agreement, part.off.slopes, part.off.named),
        pairs=partial(judge_room.pairs, panel, part.agreement, given),
        cell_agreement=partial(cell_room.frame, panel, cells),
        gates=lambda: passed.frame,
        retest=lambda: framed(columns=RETEST) if repeated is None else repeated.frame,
        position=lambda: framed() if placed is None else placed.frame,
        length=lambda: framed() if longer is None else longer.frame,
        criteria=table,
        kind=part.off.kind,
        matters=asked.least(panel),
        blind=part.off.blind,
        level=level,
        seed=seed,
        threshold=threshold,
        findings=tuple(found),
        next=tuple(advised),
        part_=part,
        parts_=parts,
        rooms_=rooms,
        cell_=chosen,
    )


# --- arguments ---


def _checked(panel: Any, matters: float | None, level: float, columns: Mapping[str, Any]) -> Panel:
    if columns or not isinstance(panel, Panel):
        from polyjudge.read import read_panel

        panel = read_panel(panel, **columns)
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    return panel


def _makers(given: tuple[str, ...] | None) -> dict[str, str]:
    """NAME=MAKER pairs."""
    made = {}
    for pair in given or ():
        one, sign, maker = pair.rpartition("=")
        if not sign or not one.strip() or not maker.strip():
            raise UsageError(f"Families are NAME=MAKER pairs, such as Online-W=DeepL, not {name(pair)!r}.")
        made[one.strip()] = maker.strip()
    return made


def _cell(panel: Panel, text: str) -> tuple[str, str]:
    """A language and a judge; names may have commas of their own."""
    words = text.split(",")
    for i in range(len(words) + 1):
        language, judge = ",".join(words[:i]).strip(), ",".join(words[i:]).strip()
        if judge in panel.judges and (language in panel.languages or (not language and len(panel.languages) == 1)):
            return language or panel.languages[0], judge
    what = f"{panel.noun.upper()},JUDGE" if len(panel.languages) > 1 else "JUDGE"
    raise UsageError(
        f"A cell is {what}, not {name(text)!r}. "
        + (f"{panel.nouns.capitalize()}: {names(panel.languages, 8)}. " if len(panel.languages) > 1 else "")
        + f"Judges: {names(panel.judges, 8)}."
    )


def _places(panel: Panel, without: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """Cells to leave out: LANGUAGE,JUDGE, also where the command line has parted them at their commas."""
    words = [x for x in ",".join(without or ()).split(",") if x.strip()]
    size = 2 if len(panel.languages) > 1 else 1
    return [_cell(panel, ",".join(words[i : i + size])) for i in range(0, len(words), size)]


def _check_against(panel: Panel, against: str | None) -> None:
    """Refuse a baseline that is no system of the panel."""
    if against is None or (panel.has_systems and against in panel.systems):
        return
    if not panel.has_systems:
        raise UsageError(
            f"There are no systems to compare with {name(against)!r}: name the column of systems (--system)."
        )
    raise UsageError(f"There is no system {name(against)!r} in this panel. It has: {names(panel.systems, 8)}.")


def _left_out(panel: Panel, cells: list[tuple[str, str]]) -> Panel:
    if not cells:
        return panel
    scores = panel.scores.copy()
    for language, judge in cells:
        scores[:, :, panel.languages.index(language), panel.judges.index(judge)] = np.nan
    if not np.isfinite(scores).any():
        raise UsageError("Nothing is left: every score was left out.")
    gone = names([f"{judge} in {language}" if language else judge for language, judge in cells])
    return replace(panel, scores=scores, notes=(*panel.notes, f"Left out: {gone}."))


def _weights(panel: Panel, path: Path | None) -> Array | None:
    if path is None:
        return None
    from polyjudge.answers.calibrate import read_weights

    return read_weights(panel, path)


# --- parts ---


@dataclass(frozen=True)
class _Asked:
    """What the user asked for, the same for every criterion."""

    matters: float | None
    level: float
    seed: int
    families: Mapping[str, str]
    weights: Array | None
    people: bool
    """Whether labels of people are at hand."""
    against: str | None = None
    """The system over which the lead is tested, where it is not all."""

    def least(self, panel: Panel) -> float:
        """The smallest difference that matters."""
        return panel.least(self.matters)


def _systems(panel: Panel, asked: _Asked, level: float) -> Systems | None:
    if not panel.has_systems:
        return None
    return systems(
        panel,
        matters=asked.least(panel),
        level=level,
        families_=asked.families,
        weights=asked.weights,
        people=asked.people,
        against=asked.against,
    )


def _off(panel: Panel, asked: _Asked, level: float) -> Off:
    return off(panel, matters=asked.least(panel), level=level)


def _part(panel: Panel, asked: _Asked, board: Systems | None, found: Off, cells: CellAgreement | None) -> Part:
    """Systems, agreement and off of one criterion, and what they say."""
    agreed = None
    if len(panel.judges) > 1:
        makers = list(makers_of(panel.judges, asked.families).values())
        more: dict[str, Any] = {"width": panel.width, "level": asked.level, "seed": asked.seed}
        if board is not None and board.stands is not None:
            more["copies"] = number_judges(len(panel.judges), board.stands.copies)
        agreed = agreement(panel.scores, panel.unit, panel.weight, makers=makers, **more)
    said = list(board.findings) if board else []
    judged = judge_room.findings(panel, agreed, board.board if board else None, asked.families, asked.people)
    if any(f.key == "judges.blind" for f in judged):  # a ranking would be noise: what more is said of it would be too
        said = [f for f in said if f.key.startswith("winner")]
    of_systems = [f for f in said if f.topic != "Judges"]
    of_judges = [f for f in said if f.topic == "Judges"]
    of_cells = cell_room.findings(panel, cells, asked.people)
    of_off = cell_room.findings_of_off(panel, cells, found.sentences)
    return Part(panel, board, agreed, found, (*of_systems, *judged, *of_judges, *of_cells, *of_off), cells)


def holm(items: Sequence[str], run: Callable[[str, float], T], hit: Callable[[T], bool], level: float) -> dict[str, T]:
    """Families of findings that share a level, step by step (Holm): who has found leaves its share to the others."""
    left, made = list(items), dict[str, T]()
    while left:
        new = {x: run(x, 1 - (1 - level) / len(left)) for x in left}
        made |= new
        hits = [x for x in left if hit(new[x])]
        if not hits:
            break
        left = [x for x in left if x not in hits]
    return {x: made[x] for x in items}


def _criteria(panel: Panel, asked: _Asked) -> dict[str, Part]:
    """Every criterion on its own, the level shared among them."""
    every, each = list(panel.criteria), panel.criteria
    shared_level = 1 - (1 - asked.level) / max(len(every), 1)
    cells = {x: cell_agreement(p.scores, p.unit, level=shared_level, seed=asked.seed) for x, p in each.items()}
    each = {x: cell_room.without_cells(p, cells[x]) for x, p in each.items()}
    boards: dict[str, Systems | None] = holm(
        every,
        lambda x, level: _systems(each[x], asked, level),
        lambda s: s is not None and bool(s.board.ahead.any()),
        asked.level,
    )
    offs: dict[str, Off] = holm(
        every, lambda x, level: _off(each[x], asked, level), lambda o: o.kind not in QUIET, asked.level
    )
    return {x: _part(panel.criteria[x], asked, boards[x], offs[x], cells[x]) for x in every}


def _by_criterion(panel: Panel, parts: Mapping[str, Part], found: list[Finding]) -> tuple[pd.DataFrame, list[Finding]]:
    """One row per criterion, and sentences that each name their criterion."""
    rows = []
    own: list[Finding] = []
    for x, part in parts.items():
        b = part.systems.board if part.systems else None
        a, f = part.agreement, part.panel.factor
        row: dict[str, Any] = {"criterion": x}
        if b is not None:
            first, second = b.order[:2]
            row["first"] = b.systems[first] if b.ahead[first, second] else "too close to call"
            row |= {"lead": f * b.gap[first, second], "lead_low": f * b.low[first, second]}
            row["lead_high"] = f * b.high[first, second]
            row["doubt"] = None
            if part.systems is not None and part.systems.stands is not None:
                row["doubt"] = doubt_in_short(part.systems.stands)
        row |= {c: np.nan if a is None else getattr(a, c) for c in ("r", "r_low", "r_high")}
        frame = part.off.frame
        clear = frame[frame["clear"].astype(bool)] if len(frame) else frame
        row["off"] = part.off.kind if len(clear) else "nothing" if part.off.kind == "calm" else "–"
        if len(clear):
            top = clear.iloc[int(np.round(clear["off"].abs().to_numpy() / tiny_of(part.panel)).argmax())]
            size = amount(part.panel, top["off"], top["all_low"], top["all_high"], unit=False)
            row["off"] = f"{top['judge']} in {top['language']}, {size}"
            row |= {"most": top["off"], "most_low": top["all_low"], "most_high": top["all_high"]}
        rows.append(row)
        for one in part.findings:
            where = {**one.where, "criterion": x}
            is_shown = one.severity in ("warning", "serious") and one.key != "systems.own-maker"
            topic = one.topic if is_shown else ""
            own.append(replace(one, text=f"{name(x)}: {one.text}", where=where, topic=topic, head=""))
    more = alike_finding(alike(panel.criteria), panel.units)
    return framed(rows), [*found, *(f for f in own if f.topic), *more, *(f for f in own if not f.topic)]


def _people(
    panel: Panel, labels: Path | None, threshold: str | None, level: float, seed: int
) -> tuple[Humans | None, list[Finding]]:
    """A comparison with human labels, where there are any, and what of it is on the first screen."""
    if panel.pairs is not None or (panel.human is None and labels is None):
        return None, []
    from polyjudge.answers.humans.compare import humans

    try:
        found = humans(panel, labels, threshold=threshold, level=level, seed=seed)
    except PanelError as problem:
        return None, [Finding("notice", "people.none", f"The human labels cannot be compared: {problem}", "People")]
    return found, [f for f in found.findings if f.topic == "People"]


def _votes(panel: Panel, labels: Path | None, level: float) -> tuple[Votes | None, list[Finding]]:
    """Of pairs: a comparison with people's votes, where there are any, and what of it is on the first screen."""
    if panel.pairs is None or (panel.pairs.people is None and labels is None):
        return None, []
    from polyjudge.answers.humans.votes import votes

    try:
        found = votes(panel, labels, level=level)
    except PanelError as problem:
        return None, [Finding("notice", "people.none", str(problem), "People")]
    return found, [finding for finding in found.findings if finding.topic == "People"]


def _probes(path: Path | None, level: float) -> tuple[Result | None, list[Finding]]:
    """Whether the judges notice damage."""
    if path is None:
        return None, []
    from polyjudge.answers.probe import probe
    from polyjudge.read import read_panel

    found = probe(read_panel(path), level=level)
    return found, [replace(f, topic="Probes") for f in found.findings]
