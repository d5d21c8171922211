"""The report of an audit: first screen, sections with tables and charts, and the answers behind a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge._version import __version__
from polyjudge.answers.amounts import amount, size
from polyjudge.answers.audit import cell_agreement as cell_room
from polyjudge.answers.audit.boards import columns_of
from polyjudge.answers.audit.judges import ranks as judge_ranks
from polyjudge.answers.audit.judges import unknown
from polyjudge.answers.audit.pair_boards import describe_shares, part_boards
from polyjudge.answers.audit.stands_page import stands_sections
from polyjudge.answers.audit.stands_words import own_maker_sentence
from polyjudge.base.later import framed
from polyjudge.base.numbers import points
from polyjudge.base.text import name, names
from polyjudge.panel import TEXTS, Panel, with_texts
from polyjudge.report.model import Chart, Finding, Report, Section, Table, spread

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.audit.audit import Audit

Array = NDArray[np.float64]
MOST_ANSWERS = 10
MOST_DRAWERS = 60
MOST_BOARDS = 12
CELL_KEYS = ("judges.reversed", "judges.blind_there", "judges.split_there")


class Lazy(Mapping[str, Any]):
    """What is made when it is asked for; which there are, too."""

    def __init__(self, makers: Callable[[], Mapping[str, Callable[[], Any]]]) -> None:
        self.makers = cache(makers)

    def __getitem__(self, key: str) -> Any:
        return self.makers()[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers())

    def __len__(self) -> int:
        return len(self.makers())


def build(a: Audit) -> Report:
    """The audit as it is shown."""
    if a.cell_ is not None:
        return _cell_report(a, *a.cell_)
    panel = a.panel
    facts = [*panel.read_facts, *panel.notes]
    if a.rooms_["humans"]:
        from polyjudge.answers.humans.words import counted

        facts.insert(1, counted(a.rooms_["humans"]))
    if a.parts_:
        of = f"the mean of the {len(a.parts_)} criteria ({names(list(a.parts_), 4)})"
        facts.append(f"What follows is of {of}; lines about one of them begin with its name.")
    rooms = (
        _criteria,
        _systems,
        _stands,
        _off,
        _ranks,
        _agreement,
        _cells,
        _retest,
        _people,
        _gates,
        _position,
        _length,
        _reversals,
        _details,
    )
    return Report(
        command="audit",
        title=f"Audit of {name(_file(panel.source))}" if panel.source else "Audit",
        facts=tuple(facts),
        findings=a.findings,
        board=_criteria_table(a) if a.parts_ else _board(a),
        next=a.next,
        sections=lambda: tuple(section for room in rooms for section in room(a)),
        drawers=Lazy(lambda: _drawers(a)[0]),
        spreads=Lazy(lambda: _drawers(a)[1]),
        about=_about(a),
    )


def _about(a: Audit) -> dict[str, Any]:
    return {"seed": a.seed, "level": a.level, "matters": a.matters, "version": __version__, "input": a.panel.source}


def _table(
    a: Audit, key: str, title: str, frame: pd.DataFrame, columns: Mapping[str, str],
    titles: Mapping[str, str] | None = None, note: str = "",
) -> Table:  # fmt: skip
    """A table whose differences are in the points that are shown: pass and fail in percentage points, and whose
    language column bears the panel's noun."""
    f, shown = a.panel.factor, frame.reset_index(drop=True)
    used = [x for c, kind in columns.items() if kind[0] == "+" for x in (c, *kind.split()[1:])]
    if f != 1 and len(shown):
        shown = shown.assign(**{c: f * shown[c] for c in dict.fromkeys(used) if c in shown.columns})
    columns = {c: kind for c, kind in columns.items() if c in shown.columns}
    return Table(key, title, shown, columns, {"language": a.panel.noun, **(titles or {})}, note)


# --- systems ---


def _board(a: Audit) -> Table | None:
    """From columns: the first screen needs no frame."""
    s = a.part_.systems
    if s is None or any(f.key == "judges.blind" for f in a.findings):
        return None
    what = "share that passes" if a.panel.two_valued else "mean score"
    if a.panel.pairs is not None:
        what = describe_shares(s.board)
    title = f"Systems ({what}, difference from the leader)"
    data = columns_of({"all": s.board})
    data |= {c: a.panel.factor * data[c] for c in ("behind_leader", "low", "high")}
    columns = {"rank_low": "rank rank_high", "system": "name", "mean": _mean(a), "behind_leader": "+points low high"}
    titles = {"rank_low": "rank", "mean": what, "behind_leader": "difference from the leader"}
    if a.panel.pairs is not None:
        columns |= {"won": "percent", "verdicts": "count"}
        titles |= {"won": "won", "verdicts": "of verdicts"}
    return Table("systems", title, data, columns, {"language": a.panel.noun, **titles})


def _mean(a: Audit) -> str:
    """How a mean score is written: a share where scores are pass or fail (0 and 1)."""
    is_share = a.panel.two_valued or a.panel.in_percent
    return "percent" if is_share and a.panel.scale == (0.0, 1.0) else "points"


def _systems(a: Audit) -> list[Section]:
    if not len(a.systems):
        return []
    panel, s = a.panel, a.part_.systems
    assert s is not None
    whole, per = a.systems[a.systems["language"] == "all"], a.systems[a.systems["language"] != "all"]
    charts = [_intervals(a, "board", "Systems", whole)]
    text = ["Each system against the leader; every difference is taken on the same tasks. A system may be the best "
            "if no other is surely ahead of it. A rank range holds every rank that the intervals allow."]  # fmt: skip
    tables = []
    if len(per):
        title = f"Systems by {panel.noun}"
        part = per[per["language"].isin(panel.languages[:MOST_BOARDS])]
        charts.append(_intervals(a, "board-languages", title, part.assign(panel=part["language"])))
        columns = {"language": "name", "rank_low": "rank rank_high", "system": "name", "mean": _mean(a),
                   "behind_leader": "+points low high", "may_be_best": "yes"}  # fmt: skip
        titles = {"rank_low": "rank", "behind_leader": "difference from the leader"}
        tables.append(_table(a, "systems-languages", title, per, columns, titles))
    by_part = part_boards(panel, level=a.level)
    if by_part and panel.pairs is not None:
        columns = {"language": "name", "rank_low": "rank rank_high", "system": "name", "mean": _mean(a),
                   "behind_leader": "+points low high", "verdicts": "count"}  # fmt: skip
        noun = panel.pairs.part_noun
        titles = {"language": noun, "rank_low": "rank", "mean": "share of wins",
                  "behind_leader": "difference from the leader"}  # fmt: skip
        frame = framed(columns_of(by_part))
        tables.append(_table(a, "systems-parts", f"Systems by {noun}", frame, columns, titles))
    if len(a.swaps):
        columns = {"first": "name", "second": "name", "language_a": "name", "gap_a": "+points low_a high_a",
                   "language_b": "name", "gap_b": "+points low_b high_b"}  # fmt: skip
        titles = {"first": "system", "second": "against", "language_a": "ahead in", "gap_a": "by",
                  "language_b": "behind in", "gap_b": "by"}  # fmt: skip
        title = f"Pairs of systems that reverse between {panel.nouns}"
        tables.append(_table(a, "swaps", title, a.swaps, columns, titles))
    if panel.complete and min(len(panel.judges), len(panel.languages)) > 1:
        text.append("Calibrating does not change this order: it moves all systems alike.")
    if s.stands is not None:
        text.append(own_maker_sentence(s.stands))
    if who := unknown([*panel.judges, *panel.systems], a.rooms_["makers"]):
        text[-1] += f" It is not known who made {names(who, 6)}: --families NAME=MAKER says it."
    return [Section("systems", "Systems", tuple(text), tuple(tables), tuple(charts))]


def _stands(a: Audit) -> list[Section]:
    s = a.part_.systems
    if s is None or s.stands is None:
        return []
    probed = a.rooms_["probe"]
    padding = () if probed is None else tuple(f.text for f in probed.findings if f.key == "moved-padding")
    return stands_sections(s.stands, padding)


def _file(source: str) -> str:
    """The name of a file without its folders."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def _intervals(a: Audit, key: str, title: str, frame: pd.DataFrame) -> Chart:
    """Differences from the leader; systems that may be best are coloured, and a row opens its answers."""
    f, value = a.panel.factor, frame["behind_leader"]
    made = frame.assign(label=frame["system"], value=f * value, best=frame["may_be_best"])
    made = made.assign(**{end: f * frame[end].where(frame[end].notna(), value) for end in ("low", "high")})
    made["key"] = "system|" + frame["system"]
    keep = [c for c in ("panel", "label", "value", "low", "high", "best", "key") if c in made.columns]
    best = frame.loc[frame["may_be_best"].astype(bool), "system"].drop_duplicates()
    alt = f"{name(frame['system'].iloc[0])} leads; {names(best)} may be the best."
    x = f"{a.panel.unit_name} behind the leader"
    return Chart(key, "intervals", title, made[keep].reset_index(drop=True), alt, x=x, options={"zero": "leader"})


# --- agreement by judge and language ---


def _cells(a: Audit) -> list[Section]:
    """Where one judge agrees less than is to be expected."""
    texts = tuple(f.text for f in a.findings if f.key in CELL_KEYS and not f.where.get("criterion"))
    return cell_room.section(a.panel, a.part_.cells, texts)


def _named_cells(a: Audit) -> list[tuple[str, str]]:
    """Language and judge of the cells that are named by their agreement."""
    return cell_room.cells_to_leave_out(a.panel, a.part_.cells)


# --- off ---


def _off(a: Audit) -> list[Section]:
    panel, frame, f = a.panel, a.off, a.panel.factor
    if not len(frame):
        return []
    text = [f"How much higher or lower a judge scores in a {panel.noun}, relative to the other judges, than in the "
            f"other {panel.nouns}, in {panel.unit_name}. Calibrating brings all of these to 0. What it subtracts is "
            "smaller, because the scores that a judge is compared with are corrected too."]  # fmt: skip
    if min(len(panel.languages), len(panel.judges)) == 2:
        text.append("With only two, every difference appears twice, once with each sign.")
    marks = np.where(frame["named"].astype(bool), "named", np.where(frame["clear"].astype(bool), "clear", ""))
    read = str(frame["read"].iloc[0])  # with several named cells the excess says how far each is off
    low, high = ("excess_low", "excess_high") if read == "excess" else ("all_low", "all_high")
    if read == "excess":
        clear = (frame[low] > a.matters) | (frame[high] < -a.matters)
        marks = np.where(frame["named"].astype(bool), "named", np.where(clear, "clear", ""))
    value = f * frame[read].to_numpy(float)
    worst = float(np.nanmax(np.abs(value), initial=0.0))
    shown = (np.abs(value) >= f * a.matters) | (marks != "")
    numbers = [
        f"{v:+.{0 if worst >= 100 else 1}f}" if s and np.isfinite(v) else "" for v, s in zip(value, shown, strict=True)
    ]
    grid = {"row": frame["language"], "column": frame["judge"], "value": value, "text": numbers, "mark": marks,
            "low": f * frame[low], "high": f * frame[high], "beta": f * frame["beta"],
            "key": frame["language"].astype(str) + "|" + frame["judge"].astype(str)}  # fmt: skip
    alt = f"{int((marks != '').sum())} of {len(frame)} {panel.noun}-judge pairs are clearly off."
    options = {"limit": max(worst, f * a.matters), "least": f * a.matters}
    title = f"Judges by {panel.noun}"
    chart = Chart("off", "heatmap", title, framed(grid), alt, options=options)
    columns = {"language": "name", "judge": "name", "off": "+points all_low all_high", "clear": "yes", "named": "yes",
               "excess": "+points excess_low excess_high", "beta": "+points"}  # fmt: skip
    titles = {"excess": "off without the named", "beta": "calibrating subtracts"}
    note = f"In {panel.unit_name}. clear: the interval lies beyond {f * a.matters:g}. The intervals hold all at once."
    if frame["named"].any():
        note += " The limit on the first screen is that of 'off without the named', rounded up."
    if np.isfinite(radius := f * float(frame["radius"].iloc[0])):
        note += f" The radius of the paper's Prop. 2, from the noise, is {points(radius)} {panel.unit_name}."
    tables = [_table(a, "off", "What is off", frame, columns, titles, note)]
    floor, shift = a.part_.off.floor, a.part_.off.shift
    if floor is not None and len(floor):
        columns = {"language": "name", "judge": "name", "rate": "percent", "elsewhere": "percent"}
        tables.append(_table(a, "floor", "Lowest scores, or none", floor, columns))
    if shift is not None and len(shift):
        columns, note = (
            {"language": "name", "shift": "+points low high"},
            "Calibrating leaves it; only labels can tell.",
        )
        how = f"How much higher all judges score in a {panel.noun}"
        tables.append(_table(a, "shift", how, shift, columns, note=note))
    return [Section("off", title, tuple(text), tuple(tables), (chart,))]


# --- judges ---


def _ranks(a: Audit) -> list[Section]:
    ranks, noun = judge_ranks(a.panel, a.rooms_["values"]), a.panel.noun
    if not len(ranks):
        return []
    text = (f"Before calibrating, the ranking of the judges by mean score depends on the {noun}; after it, it does "
            "not, by construction. A high mean is leniency, not quality.")  # fmt: skip
    chart = Chart("ranks", "ranks", "Ranks of the judges", ranks, text, x=noun, y="rank")
    return [Section("ranks", "Ranks of the judges", (text,), (), (chart,))]


def _agreement(a: Audit) -> list[Section]:
    panel, agreed = a.panel, a.part_.agreement
    if agreed is None:
        return []
    charts, text = [], []
    told = agreed.pairs[np.isfinite(agreed.pairs)]
    if len(told):
        over = "answers, within tasks" if agreed.over == "systems" else "tasks"
        text.append(
            f"Correlation of every two judges over {over}. It says how far they agree, not whether they are right."
        )
        if agreed.makers is not None and a.pairs["group"].nunique() < len(panel.judges):
            r, low, high = agreed.makers
            known = "not known to share a maker" if unknown(panel.judges, a.rooms_["makers"]) else "of different makers"
            text.append(f"Between judges {known} r = {r:.2f} [{low:.2f}, {high:.2f}].")
        alt = f"Correlations of judges from {told.min():.2f} to {told.max():.2f}."
        charts.append(Chart("agreement", "matrix", "Agreement of every two judges", a.pairs, alt))
    whole, per = a.judges[a.judges["language"] == "all"], a.judges[a.judges["language"] != "all"]
    columns = {"judge": "name", "r": "number low high", "mean": _mean(a), "slope": "number slope_low slope_high"}
    if not whole["slope"].notna().any():
        del columns["slope"]
    titles = {"r": "agrees with the others (r)", "mean": "mean score", "slope": "reacts to differences (slope)"}
    tables = [_table(a, "judges", "Judges", whole, columns, titles)]
    if len(per):
        columns = {"language": "name", "judge": "name", "mean": _mean(a), "named": "yes"}
        title = f"Mean scores by {panel.noun}"
        tables.append(_table(a, "judges-languages", title, per, columns, {"named": "named as off"}))
    return [Section("judges", "Agreement of the judges", tuple(text), tuple(tables), tuple(charts))]


def _retest(a: Audit) -> list[Section]:
    """How much a judge's scores of one answer differ when it is asked again."""
    repeated = a.rooms_["retest"]
    if repeated is None:
        return []
    factor = a.panel.factor
    frame = a.retest.assign(**{x: factor * a.retest[x] for x in ("sd", "low", "high")})
    columns = {"judge": "name", "sd": "points low high", "named": "yes"}
    titles = {"sd": f"standard deviation of its repeats, {a.panel.unit_name}", "named": "noisier than the others"}
    table = _table(a, "retest", "Test and retest", frame, columns, titles)
    text = tuple(finding.text for finding in repeated.findings if not finding.topic)
    return [Section("retest", "The same answer, scored again", text, (table,))]


def _reversals(a: Audit) -> list[Section]:
    if not len(a.reversals):
        return []
    columns = {"judge_i": "name", "judge_j": "name", "language_a": "name", "gap_a": "+points", "language_b": "name",
               "gap_b": "+points", "p": "p", "p_published": "p"}  # fmt: skip
    titles = {"judge_i": "judge", "judge_j": "against", "language_a": f"{a.panel.noun} A", "gap_a": "ahead by",
              "language_b": f"{a.panel.noun} B", "gap_b": "ahead by", "p_published": "p as in the paper"}  # fmt: skip
    text = [x.text for x in a.findings if x.key == "judges.reversals"] or [
        f"No pair of judges clearly reverses between {a.panel.nouns}; pairs whose means do are listed."
    ]
    note = "p allows for having picked the two from the data; the paper's does not. Both over all pairs."
    table = _table(
        a, "reversals", f"Pairs of judges that reverse between {a.panel.nouns}", a.reversals, columns, titles, note
    )
    return [Section("reversals", "Reversals", tuple(text), (table,), (), open=len(a.reversals) <= 10)]


# --- people, pass rates, position, length, criteria ---


def _people(a: Audit) -> list[Section]:
    """What `humans` and `probe` show, where they were asked."""
    return [
        section for key in ("humans", "votes", "probe") if a.rooms_[key] for section in a.rooms_[key].report().sections
    ]


def _gates(a: Audit) -> list[Section]:
    if not len(a.gates):
        return []
    columns = {"language": "name", "judge": "name", "pass_raw": "percent raw_low raw_high"}
    if a.gates["pass_calibrated"].notna().any():
        columns["pass_calibrated"] = "percent calibrated_low calibrated_high"
    titles = {"pass_raw": "passes", "pass_calibrated": "passes after calibrating"}
    note = "Intervals of one cell; those of the lowest and the highest rate on the first screen hold for all at once."
    table = _table(a, "gates", "Pass rates", a.gates, columns, titles, note if len(a.gates) > 1 else "")
    ends = {x: 100 * a.gates[y] for x, y in (("value", "pass_raw"), ("low", "raw_low"), ("high", "raw_high"))}
    frame = a.gates.assign(panel=a.gates["judge"], label=a.gates["language"], **ends)
    chart = Chart("gates", "intervals", "Pass rates", frame[["panel", "label", "value", "low", "high"]],
                  "Pass rates of every judge by language.", x="% that pass")  # fmt: skip
    return [Section("gates", "What passes", (), (table,), (chart,))]


def _position(a: Audit) -> list[Section]:
    placed = a.rooms_["position"]
    if placed is None:
        return []
    text = placed.note or "Only pairs that were shown in both orders count."
    columns = {"language": "name", "judge": "name", "first_wins": "percent low high",
               "consistency": "percent consistency_low consistency_high", "pairs": "count"}  # fmt: skip
    titles = {"first_wins": "answer shown first wins", "consistency": "same winner in both orders"}
    tables = (_table(a, "position", "Position", a.position, columns, titles),) if len(a.position) else ()
    return [Section("position", "Order of the answers", (text,), tables)]


def _length(a: Audit) -> list[Section]:
    longer = a.rooms_["length"]
    if longer is None:
        return []
    text = ("How scores rise with the length of responses, within tasks and systems. A description: longer answers may "
            "be better ones.", *(x.text for x in longer.findings))  # fmt: skip
    slope = {"language": "name", "judge": "name", "slope": "+points low high"}
    board = {"system": "name", "mean": _mean(a), "rank": "count", "at_equal_length": _mean(a),
             "rank_at_equal_length": "count"}  # fmt: skip
    tables = (_table(a, "length", "Points per doubling of the length", longer.frame, slope),
              _table(a, "length-systems", "Systems at equal length", longer.board, board))  # fmt: skip
    return [Section("length", "Length", text, tables, open=False)]


def _criteria_table(a: Audit) -> Table:
    columns = {"criterion": "name", "first": "name", "lead": "+points lead_low lead_high", "r": "number r_low r_high",
               "off": "text"}  # fmt: skip
    title = "Criteria (who leads and by how much, agreement of two judges, what is off most)"
    titles = {"first": "ahead", "lead": "by", "r": "agreement (r)", "off": "most off"}
    if "doubt" in a.criteria and a.criteria["doubt"].notna().any():
        columns["doubt"] = "text"
        titles["doubt"] = "not sure"
    columns = {c: kind for c, kind in columns.items() if c in a.criteria.columns}
    return Table("criteria", title, a.criteria, columns, titles)


def _criteria(a: Audit) -> list[Section]:
    if not a.parts_:
        return []
    own = [f for f in a.findings if f.where.get("criterion") and not f.topic]
    winners = {f.where["criterion"]: f.text for f in own if f.key == "winner"}
    text = ["Each criterion on its own; the level of what is said is shared among them (Holm)."]
    for finding in own:
        criterion = finding.where["criterion"]
        is_on_winner_line = finding.key.startswith("winner.") and (
            finding.text.removeprefix(f"{name(criterion)}: ") in winners.get(criterion, "")
        )
        if not is_on_winner_line:
            text.append(finding.text)
    return [Section("criteria", "Criteria", tuple(text))]


def _details(a: Audit) -> list[Section]:
    """What this panel cannot be asked, and how intervals are made; short, so it is open."""
    panel, text = a.panel, [f.text for f in a.findings if f.key == "missing"]
    if len(panel.languages) < 2:
        text.append(f"With one {panel.noun}, nothing can be said about the effect of {panel.noun} on the judges.")
    if len(panel.judges) < 2:
        text.append("With one judge, nothing can be said about agreement or what is off.")
    if not panel.has_systems:
        text.append("Without a column of systems, there is no winner to name.")
    text.append(
        f"Intervals are at {100 * a.level:g}% over {'clusters' if panel.clustered else 'tasks'}; those of systems and "
        "of what is off hold all at once."
    )
    if a.matters:
        text.append(f"Differences below {size(panel, a.matters)} are treated as too small to matter.")
    return [Section("details", "Details", tuple(text))]


# --- answers behind a cell ---


def _nanmean(x: Array, axis: int) -> Array:
    """The mean of what is there; NaN where nothing is."""
    o = np.isfinite(x)
    number = o.sum(axis)
    return np.where(number > 0, np.where(o, x, 0.0).sum(axis) / np.maximum(number, 1), np.nan)


def _first(order: Array, most: int) -> tuple[Any, ...]:
    """Where the lowest values are, ties in the order of the panel."""
    flat = np.where(np.isfinite(order), order, np.inf).ravel()
    ranked = np.argsort(flat, kind="stable")[:most]
    return np.unravel_index(ranked[np.isfinite(flat[ranked])], order.shape)


def answers(panel: Panel, language: str, judge: str, most: int = MOST_ANSWERS) -> pd.DataFrame:
    """The answers that move a cell most: task, system, score, others (mean of the other judges), and their texts."""
    at, b = panel.languages.index(language), panel.judges.index(judge)
    y = panel.scores[:, :, at, b]
    rest = _nanmean(np.delete(panel.scores, b, axis=3), 3)
    gap = panel.scores[..., b] - rest
    here, away = gap[:, :, at], np.delete(gap, at, axis=2)
    if np.isfinite(here).any():
        middle = float(np.nanmean(away)) if np.isfinite(away).any() else 0.0
        rows, systems = _first(here if float(np.nanmean(here)) < middle else -here, most)
    else:
        rows, systems = _first(y, most)
    made = framed({"task": [panel.tasks[i] for i in rows]})
    if panel.has_systems:
        made["system"] = [panel.systems[s] for s in systems]
    made = made.assign(language=language, judge=judge, score=y[rows, systems])
    if len(panel.judges) > 1:
        made["others"] = rest[rows, systems, at]
    return with_texts(panel, made)


def behind(panel: Panel, system: str, most: int = MOST_ANSWERS) -> pd.DataFrame:
    """The answers of a system that the judges place lowest against the other systems."""
    s = panel.systems.index(system)
    mean = _nanmean(panel.scores, 3)
    rest = _nanmean(np.delete(mean, s, axis=1), 1)
    rows, at = _first(mean[:, s] - rest, most)
    made = framed({"task": [panel.tasks[i] for i in rows], "system": system})
    if len(panel.languages) > 1:
        made["language"] = [panel.languages[x] for x in at]
    return with_texts(panel, made.assign(score=mean[rows, s, at], others=rest[rows, at]))


def _drawers(a: Audit) -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """Answers and distributions of cells, named and clear ones first, and of systems; made when they are asked for."""
    panel, frame = a.panel, a.off
    drawers: dict[str, Callable[[], Any]] = {}
    spreads: dict[str, Callable[[], Any]] = {}
    if np.ptp(panel.weight) > 0 or panel.weight[0] != 1:
        return drawers, spreads  # rows are means of many tasks
    if len(frame):
        hit = frame["clear"].astype(bool) | frame["named"].astype(bool)
        top = frame.assign(hit=hit, size=frame["off"].abs().round(9))
        top = top.sort_values(["hit", "size"], ascending=False, kind="stable")
        for language, judge in top[["language", "judge"]].head(MOST_DRAWERS).itertuples(index=False):
            key = f"{language}|{judge}"
            drawers[key] = partial(answers, panel, language, judge)
            spreads[key] = partial(_spread, panel, language, judge)
    for language, judge in _named_cells(a):
        drawers[f"{language}|{judge}"] = partial(cell_room.answers_to_read, panel, language, judge, MOST_ANSWERS)
        spreads[f"{language}|{judge}"] = partial(_spread, panel, language, judge)
    if panel.has_systems:
        for system in panel.systems[:MOST_DRAWERS]:
            drawers[f"system|{system}"] = partial(behind, panel, system)
            spreads[f"system|{system}"] = partial(_system_spread, panel, system)
    return drawers, spreads


def _system_spread(panel: Panel, system: str) -> pd.DataFrame:
    s = panel.systems.index(system)
    return spread({system: panel.scores[:, s], "the other systems": np.delete(panel.scores, s, axis=1)}, *panel.scale)


def _spread(panel: Panel, language: str, judge: str) -> pd.DataFrame:
    at, b = panel.languages.index(language), panel.judges.index(judge)
    others = np.delete(panel.scores[:, :, at], b, axis=2)
    return spread({judge: panel.scores[:, :, at, b], "the others": others}, *panel.scale)


def _cell_report(a: Audit, language: str, judge: str) -> Report:
    """What `--cell` shows: what is off there, and the answers that differ most."""
    panel = a.panel
    who = f"{name(judge)} in {name(language)}" if len(panel.languages) > 1 else name(judge)
    is_named_by_agreement = (language, judge) in _named_cells(a)
    findings = _off_of_cell(a, language, judge)
    if is_named_by_agreement:
        findings += [f for f in a.findings if f.key in CELL_KEYS and f.where.get("judge") == judge]
    report = Report("audit", f"Answers of {who}", panel.read_facts, tuple(findings), about=_about(a))
    if panel.hashed:
        large = Finding("notice", "cell.none", "The panel is too large to show single answers.", "Off")
        return replace(report, findings=(*findings, large))
    shown = answers(panel, language, judge)
    if is_named_by_agreement:
        shown = cell_room.answers_to_read(panel, language, judge, MOST_ANSWERS)
    columns = {"task": "name", "system": "name", "score": "points", "others": "points", **dict.fromkeys(TEXTS, "text")}
    columns = {c: kind for c, kind in columns.items() if c in shown.columns}
    is_alone = len(panel.judges) < 2
    title = f"Lowest scores of {who}" if is_alone else f"Answers of {who} that differ most from the other judges"
    table = Table("answers", title, shown, columns, {"others": "other judges"})
    key = f"{language}|{judge}"
    spreads = {} if is_alone else {key: _spread(panel, language, judge)}
    return replace(report, board=table, drawers={key: shown}, spreads=spreads)


def _off_of_cell(a: Audit, language: str, judge: str) -> list[Finding]:
    """How much higher or lower a judge scores in a language, where that can be told."""
    panel, frame = a.panel, a.off
    row = frame[(frame["language"] == language) & (frame["judge"] == judge)] if len(frame) else frame
    if not len(row) or not np.isfinite(row[str(row["read"].iloc[0])].iloc[0]):
        return []
    cell = row.iloc[0]
    low, high = ("excess_low", "excess_high") if cell["read"] == "excess" else ("all_low", "all_high")
    size = cell[cell["read"]]
    is_higher = size > 0
    limits = (cell[low], cell[high]) if is_higher else (-cell[high], -cell[low])
    text = (
        f"In {name(language)}, {name(judge)} scores {amount(panel, abs(size), *limits)} "
        f"{'higher' if is_higher else 'lower'}, relative to the other judges, than in the other {panel.nouns}."
    )
    where = {"language": language, "judge": judge}
    return [Finding("warning" if cell["clear"] else "info", "cell", text, "Off", where)]
