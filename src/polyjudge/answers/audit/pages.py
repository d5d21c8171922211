"""The report of an audit: first screen, sections with tables and charts, and the answers behind a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge._version import __version__
from polyjudge.answers.audit.systems import amount
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Section, Table, spread

if TYPE_CHECKING:
    import pandas as pd

    from polyjudge.answers.audit.audit import Audit

MOST_ANSWERS = 10
MOST_DRAWERS = 30
MOST_BOARDS = 12
TEXTS = ("prompt", "response", "reason")


class Lazy(Mapping[str, Any]):
    """What is made when it is asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self.makers = dict(makers)

    def __getitem__(self, key: str) -> Any:
        return self.makers[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


def build(a: Audit) -> Report:
    """The audit as it is shown."""
    if a.cell_ is not None:
        return _cell_report(a, *a.cell_)
    panel = a.panel
    made = [
        *_criteria_section(a),
        *_systems_section(a),
        *_off_section(a),
        *_judges_section(a),
        *_gates_section(a),
        *_position_section(a),
        *_length_section(a),
        *_reversals_section(a),
        _not_asked(a),
    ]
    drawers, spreads = _drawers(a)
    return Report(
        command="audit",
        title=f"Audit of {name(panel.source)}" if panel.source else "Audit",
        facts=(panel.facts, *panel.notes),
        findings=a.findings,
        board=_criteria_table(a) if a.parts_ else _board(a),
        next=a.next,
        sections=tuple(s for s in made if s is not None),
        drawers=Lazy(drawers),
        spreads=Lazy(spreads),
        about=_about(a),
    )


def _about(a: Audit) -> dict[str, Any]:
    return {"seed": a.seed, "level": a.level, "matters": a.matters, "version": __version__, "input": a.panel.source}


def _scaled(frame: pd.DataFrame, factor: float, *columns: str) -> pd.DataFrame:
    """Columns in the points that are shown: pass and fail in percentage points."""
    if factor == 1 or not len(frame):
        return frame
    return frame.assign(**{c: factor * frame[c] for c in columns})


# --- systems ---


def _board(a: Audit, most: int | None = None) -> Table | None:
    frame = a.systems[a.systems["language"] == "all"]
    if not len(frame) or any(f.key == "judges.blind" for f in a.findings):
        return None
    panel = a.panel
    what = "share that passes" if panel.two_valued else "mean score"
    mean = "percent" if panel.two_valued else "points"
    shown = _scaled(frame, panel.factor, "behind_leader", "low", "high")
    return Table(
        "systems",
        f"Systems ({what}, difference from the leader)",
        shown.reset_index(drop=True),
        {"rank_low": "rank rank_high", "system": "name", "mean": mean, "behind_leader": "+points low high"},
        titles={"rank_low": "rank", "mean": what, "behind_leader": "difference from the leader"},
        note="A rank range holds every rank that the intervals allow." if most else "",
    )


def _systems_section(a: Audit) -> list[Section]:
    if not len(a.systems):
        return []
    panel, s = a.panel, a.part_.systems
    assert s is not None
    unit = panel.unit_name
    frame = _scaled(a.systems, panel.factor, "behind_leader", "low", "high")
    whole = frame[frame["language"] == "all"]
    charts = [_intervals("board", "Systems", whole, f"{unit} behind the leader", panel)]
    text = ["Each system against the leader; every difference is taken on the same tasks. Systems in colour may be the "
            "best."]  # fmt: skip
    tables = []
    if len(panel.languages) > 1:
        per = frame[frame["language"] != "all"]
        shown = list(panel.languages)[:MOST_BOARDS]
        part = per[per["language"].isin(shown)].assign(panel=lambda d: d["language"])
        title = f"Systems by {panel.noun}"
        charts.append(_intervals("board-languages", title, part, f"{unit} behind the leader", panel))
        columns = {"language": "name", "rank_low": "rank rank_high", "system": "name", "mean": "points",
                   "behind_leader": "+points low high", "may_be_best": "yes"}  # fmt: skip
        titles = {"rank_low": "rank", "behind_leader": "difference from the leader", "language": panel.noun}
        tables.append(Table("systems-languages", title, per.reset_index(drop=True), columns, titles))
        if len(a.swaps):
            tables.append(_swaps_table(a))
    if panel.complete and len(panel.judges) > 1 and len(panel.languages) > 1:
        text.append("Calibrating does not change this order: it moves all systems alike.")
    if s.own.why_not:
        text.append(s.own.why_not)
    elif np.isfinite(s.own.low):
        said = amount(panel, s.own.difference, s.own.low, s.own.high, sign=True)
        text.append(f"Judges on systems of their own maker ({names(s.own.makers)}), less what judge and system "
                    f"explain: {said}; as much comes up in {100 * s.own.p:.0f}% of relabellings.")  # fmt: skip
    return [Section("systems", "Systems", tuple(text), tuple(tables), tuple(charts))]


def _swaps_table(a: Audit) -> Table:
    panel = a.panel
    shown = _scaled(a.swaps, panel.factor, *(f"{x}_{e}" for x in ("gap", "low", "high") for e in "ab"))
    return Table(
        "swaps",
        f"Pairs of systems that swap places between {panel.nouns}",
        shown,
        {"first": "name", "second": "name", "language_a": "name", "gap_a": "+points low_a high_a",
         "language_b": "name", "gap_b": "+points low_b high_b"},
        {"first": "system", "second": "against", "language_a": "ahead in", "gap_a": "by", "language_b": "behind in",
         "gap_b": "by"},
    )  # fmt: skip


def _intervals(key: str, title: str, frame: pd.DataFrame, x: str, panel: Panel) -> Chart:
    top = frame.iloc[0]
    made = frame.assign(
        label=frame["system"],
        value=frame["behind_leader"],
        low=frame["low"].where(frame["low"].notna(), frame["behind_leader"]),
        high=frame["high"].where(frame["high"].notna(), frame["behind_leader"]),
        best=frame["may_be_best"],
        key="system|" + frame["system"],
    )
    keep = [c for c in ("panel", "label", "value", "low", "high", "best", "key") if c in made.columns]
    best = frame.loc[frame["may_be_best"].astype(bool), "system"].drop_duplicates().tolist()
    return Chart(
        key,
        "intervals",
        title,
        made[keep].reset_index(drop=True),
        f"{name(top['system'])} leads; {names(best)} may be the best.",
        x=x,
        options={"zero": "leader"},
    )


# --- off ---


def _off_section(a: Audit) -> list[Section]:
    panel, frame = a.panel, a.off
    if not len(frame):
        return []
    f = panel.factor
    k, m = len(panel.languages), len(panel.judges)
    numbers = [c for c in frame.columns if c not in ("language", "judge", "clear", "named")]
    shown = _scaled(frame, f, *numbers)
    what = (
        f"How much higher or lower a judge scores in a {panel.noun}, relative to the other judges, than in the other "
        f"{panel.nouns}, in {panel.unit_name}. Calibrating removes all of it."
    )
    charts = []
    if min(k, m) >= 2:
        marks = np.where(frame["named"].astype(bool), "named", np.where(frame["clear"].astype(bool), "clear", ""))
        value = shown["off"].to_numpy(float)
        strong = (np.abs(value) >= f * a.matters) | (marks != "")
        digits = 0 if np.nanmax(np.abs(value), initial=0.0) >= 100 else 1
        text = [f"{v:+.{digits}f}" if s and np.isfinite(v) else "" for v, s in zip(value, strong, strict=True)]
        grid = {
            "row": frame["language"], "column": frame["judge"], "value": value, "text": text, "mark": marks,
            "low": shown["all_low"], "high": shown["all_high"], "beta": shown["beta"],
            "key": frame["language"].astype(str) + "|" + frame["judge"].astype(str),
        }  # fmt: skip
        import pandas as pd

        worst = float(np.nanmax(np.abs(value), initial=0.0))
        charts.append(
            Chart(
                "off",
                "heatmap",
                f"Judges by {panel.noun}",
                pd.DataFrame(grid),
                f"{int((marks != '').sum())} of {len(frame)} {panel.noun}-judge pairs are clearly off.",
                options={"limit": max(worst, f * a.matters), "least": f * a.matters},
            )
        )
    columns = {"language": "name", "judge": "name", "off": "+points all_low all_high", "clear": "yes", "named": "yes",
               "excess": "+points excess_low excess_high", "beta": "+points", "radius": "points"}  # fmt: skip
    table = Table(
        "off",
        "Off, with intervals that hold together",
        shown,
        {c: kind for c, kind in columns.items() if c in shown.columns},
        {"off": "off", "excess": "off without the named", "beta": "calibrating subtracts", "language": panel.noun},
        note=f"clear: the interval lies beyond {f * a.matters:g} {panel.unit_name}.",
    )
    text = [what, *(x.text for x in a.findings if x.topic == "Off")]
    return [Section("off", f"Judges by {panel.noun}", tuple(text), (table,), tuple(charts))]


# --- judges ---


def _judges_section(a: Audit) -> list[Section]:
    panel = a.panel
    if len(panel.judges) < 2:
        return []
    out = []
    ranks = a.rooms_["ranks"]
    if len(ranks):
        alt = "Before calibrating the ranking of the judges depends on the language; afterwards it does not."
        chart = Chart("ranks", "ranks", "Ranks of the judges", ranks, alt, x=panel.noun, y="rank")
        text = (
            f"Before calibrating, the ranking of the judges by mean score depends on the {panel.noun}; after it, it "
            "does not, by construction. A high mean is leniency, not quality.",
        )
        out.append(Section("ranks", "Ranks of the judges", text, (), (chart,)))
    agreed = a.part_.agreement
    charts: list[Chart] = []
    text_: list[str] = []
    if agreed is not None and np.isfinite(agreed.pairs).any():
        over = "answers, within tasks" if agreed.over == "systems" else "tasks"
        text_.append(
            f"Correlation of every two judges over {over}. It says how far they agree, not whether they are right."
        )
        if agreed.makers is not None:
            r, low, high = agreed.makers
            text_.append(f"Between judges of different makers r = {r:.2f} [{low:.2f}, {high:.2f}].")
        told = agreed.pairs[np.isfinite(agreed.pairs)]
        best = f"Correlations of judges from {told.min():.2f} to {told.max():.2f}."
        charts.append(Chart("agreement", "matrix", "Agreement of every two judges", a.pairs, best))
    every_ = a.judges[a.judges["language"] == "all"].reset_index(drop=True)
    mean = "percent" if panel.two_valued else "points"
    columns = {"judge": "name", "r": "number low high", "mean": mean, "slope": "number slope_low slope_high"}
    if not every_["slope"].notna().any():
        del columns["slope"]
    titles = {"r": "agrees with the others (r)", "mean": "mean score", "slope": "reacts to differences (slope)"}
    table = Table("judges", "Judges", every_, columns, titles)
    tables = [table]
    per = a.judges[a.judges["language"] != "all"].reset_index(drop=True)
    if len(per):
        tables.append(Table("judges-languages", f"Mean scores by {panel.noun}", per,
                            {"language": "name", "judge": "name", "mean": mean, "named": "yes"},
                            {"language": panel.noun, "named": "named as off"}))  # fmt: skip
    out.append(Section("judges", "Agreement of the judges", tuple(text_), tuple(tables), tuple(charts)))
    return out


def _reversals_section(a: Audit) -> list[Section]:
    if not len(a.reversals):
        return []
    panel = a.panel
    f = panel.factor
    shown = _scaled(a.reversals, f, "gap_a", "gap_b").assign(delta=f * f * a.reversals["delta"])
    columns = {"judge_i": "name", "judge_j": "name", "language_a": "name", "gap_a": "+points", "language_b": "name",
               "gap_b": "+points", "p": "p", "p_published": "p"}  # fmt: skip
    titles = {"judge_i": "judge", "judge_j": "against", "language_a": f"{panel.noun} A", "gap_a": "ahead by",
              "language_b": f"{panel.noun} B", "gap_b": "ahead by ", "p_published": "p as in the paper"}  # fmt: skip
    text = tuple(x.text for x in a.findings if x.key == "judges.reversals") or (
        "No pair of judges surely changes places; the means that do are listed.",
    )
    note = "p allows for having picked the two from the data; the paper's does not. Both over all pairs."
    table = Table("reversals", "Pairs of judges that change places", shown, columns, titles, note)
    return [Section("reversals", "Reversals", text, (table,), (), open=len(shown) <= 10)]


# --- pass rates, position, length, criteria ---


def _gates_section(a: Audit) -> list[Section]:
    if not len(a.gates):
        return []
    panel = a.panel
    columns = {"language": "name", "judge": "name", "pass_raw": "percent raw_low raw_high"}
    if a.gates["pass_calibrated"].notna().any():
        columns["pass_calibrated"] = "percent calibrated_low calibrated_high"
    titles = {"pass_raw": "passes", "pass_calibrated": "passes after calibrating", "language": panel.noun}
    table = Table("gates", "Pass rates", a.gates, columns, titles)
    frame = a.gates.assign(panel=a.gates["judge"], label=a.gates["language"], value=100 * a.gates["pass_raw"],
                           low=100 * a.gates["raw_low"], high=100 * a.gates["raw_high"])  # fmt: skip
    chart = Chart("gates", "intervals", "Pass rates", frame[["panel", "label", "value", "low", "high"]],
                  "Pass rates of every judge by language.", x="% that pass")  # fmt: skip
    text = tuple(x.text for x in a.findings if x.key == "gates")
    return [Section("gates", "What passes", text, (table,), (chart,))]


def _position_section(a: Audit) -> list[Section]:
    placed = a.rooms_["position"]
    if placed is None:
        return []
    text = [x.text for x in placed.findings] or ([placed.note] if placed.note else
            ["No judge surely prefers a place. Only pairs that were shown in both orders count."])  # fmt: skip
    columns = {"language": "name", "judge": "name", "first_wins": "percent low high",
               "consistency": "percent consistency_low consistency_high", "pairs": "count"}  # fmt: skip
    titles = {"first_wins": "first place wins", "consistency": "same winner in both orders", "language": a.panel.noun}
    tables = (Table("position", "Position", a.position, columns, titles),) if len(a.position) else ()
    return [Section("position", "Order of the answers", tuple(text), tables)]


def _length_section(a: Audit) -> list[Section]:
    longer = a.rooms_["length"]
    if longer is None:
        return []
    panel = a.panel
    slopes = _scaled(longer.frame, panel.factor, "slope", "low", "high")
    board = _scaled(longer.board, panel.factor, "mean", "at_equal_length")
    text = ("How scores rise with the length of responses, within tasks and systems. A description: longer may be "
            "better.", *(x.text for x in longer.findings))  # fmt: skip
    one = Table("length", "Points per doubling of the length", slopes,
                {"language": "name", "judge": "name", "slope": "+points low high"},
                {"language": panel.noun})  # fmt: skip
    two = Table("length-systems", "Systems at equal length", board,
                {"system": "name", "mean": "points", "rank": "count", "at_equal_length": "points",
                 "rank_at_equal_length": "count"})  # fmt: skip
    return [Section("length", "Length", text, (two, one), open=False)]


def _criteria_table(a: Audit) -> Table:
    columns = {"criterion": "name", "first": "name", "lead": "+points lead_low lead_high", "r": "number r_low r_high",
               "off": "text"}  # fmt: skip
    return Table(
        "criteria",
        "Criteria (who leads and by how much, agreement of two judges, what is off most)",
        a.criteria,
        {c: kind for c, kind in columns.items() if c in a.criteria.columns},
        {"first": "ahead", "lead": "by", "r": "agreement (r)", "off": "most off"},
    )


def _criteria_section(a: Audit) -> list[Section]:
    if not a.parts_:
        return []
    text = ["Each criterion on its own; the level of what is said is shared among them (Holm).",
            *(f.text for f in a.findings if f.where.get("criterion"))]  # fmt: skip
    return [Section("criteria", "Criteria", tuple(text), (_criteria_table(a),))]


def _not_asked(a: Audit) -> Section:
    """What this panel cannot be asked, and how intervals are made; short, so it is open."""
    panel = a.panel
    k, m = len(panel.languages), len(panel.judges)
    text = []
    if k < 2:
        text.append(f"There is one {panel.noun}: what {panel.noun} does to the judges cannot be asked.")
    if m < 2:
        text.append("There is one judge: agreement, and what is off, cannot be asked.")
    if not panel.has_systems:
        text.append("There are no systems: who wins cannot be asked.")
    what = "clusters" if panel.clustered else "tasks"
    text.append(
        f"Intervals are at {100 * a.level:g}% over {what}; those of one table hold together. Differences below "
        f"{panel.factor * a.matters:g} {panel.unit_name} are taken not to matter."
    )
    return Section("details", "Details", tuple(text))


# --- answers behind a cell ---


def answers(panel: Panel, language: str, judge: str, most: int = MOST_ANSWERS) -> pd.DataFrame:
    """The answers that move a cell most: task, system, score, others (mean of the other judges), and their texts."""
    import pandas as pd

    at, b = panel.languages.index(language), panel.judges.index(judge)
    others = [x for x in range(len(panel.judges)) if x != b]
    y = panel.scores[:, :, at, b]
    o = np.isfinite(panel.scores[..., others])
    total, number = np.where(o, panel.scores[..., others], 0.0).sum(3), o.sum(3)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(number > 0, total / number, np.nan)
        gap = panel.scores[..., b] - rest
    here = gap[:, :, at]
    if np.isfinite(here).any():
        away = [x for x in range(len(panel.languages)) if x != at]
        elsewhere = gap[:, :, away][np.isfinite(gap[:, :, away])]
        middle = float(elsewhere.mean()) if len(elsewhere) else 0.0
        sign = 1.0 if float(np.nanmean(here)) > middle else -1.0
        order = np.where(np.isfinite(here), sign * here, -np.inf)
    else:
        order = np.where(np.isfinite(y), -y, -np.inf)
    ranked = np.argsort(-order.ravel(), kind="stable")[:most]
    ranked = ranked[np.isfinite(order.ravel()[ranked])]
    rows, systems = np.unravel_index(ranked, y.shape)
    made = pd.DataFrame({"task": [panel.tasks[i] for i in rows]})
    if panel.has_systems:
        made["system"] = [panel.systems[s] for s in systems]
    made = made.assign(language=language, judge=judge, score=y[rows, systems])
    if others:
        made["others"] = rest[rows, systems, at]
    return _with_texts(panel, made)


def _with_texts(panel: Panel, made: pd.DataFrame) -> pd.DataFrame:
    """The rows with prompt, response and reason, where the panel has them."""
    if panel.texts is None or not len(made):
        return made
    texts = panel.texts(list(dict.fromkeys(made["task"])))
    have = [c for c in TEXTS if c in texts.columns]
    keys = [c for c in ("task", "system", "language", "judge") if c in texts.columns and c in made.columns]
    if not have or not len(texts):
        return made
    texts = texts[[*keys, *have]].assign(**{c: texts[c].astype(str) for c in keys})
    return made.merge(texts.drop_duplicates(keys), on=keys, how="left")


def behind(panel: Panel, system: str, most: int = MOST_ANSWERS) -> pd.DataFrame:
    """The answers of a system that the judges place lowest against the other systems."""
    import pandas as pd

    s = panel.systems.index(system)
    o = np.isfinite(panel.scores)
    number = o.sum(3)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(number > 0, np.where(o, panel.scores, 0.0).sum(3) / number, np.nan)
        other = np.delete(mean, s, axis=1)
        there = np.isfinite(other)
        rest = np.where(there.any(1), np.where(there, other, 0.0).sum(1) / there.sum(1), np.nan)
    gap = mean[:, s] - rest
    order = np.where(np.isfinite(gap), gap, np.inf).ravel()
    ranked = np.argsort(order, kind="stable")[:most]
    ranked = ranked[np.isfinite(order[ranked])]
    rows, at = np.unravel_index(ranked, gap.shape)
    made = pd.DataFrame({"task": [panel.tasks[i] for i in rows], "system": system})
    if len(panel.languages) > 1:
        made["language"] = [panel.languages[x] for x in at]
    made = made.assign(score=mean[rows, s, at], others=rest[rows, at])
    return _with_texts(panel, made)


def _drawers(a: Audit) -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """Answers and distributions of named and clear cells, and of systems; nothing is made before it is asked for."""
    panel, frame = a.panel, a.off
    drawers: dict[str, Callable[[], Any]] = {}
    spreads: dict[str, Callable[[], Any]] = {}
    if np.ptp(panel.weight) > 0 or panel.weight[0] != 1:
        return drawers, spreads  # rows are means of many tasks
    if len(frame):
        hit = frame[frame["clear"].astype(bool) | frame["named"].astype(bool)]
        top = hit.assign(size=hit["off"].abs().round(9)).sort_values("size", ascending=False, kind="stable")
        for language, judge in top[["language", "judge"]].head(MOST_DRAWERS).itertuples(index=False):
            key = f"{language}|{judge}"
            drawers[key] = partial(answers, panel, language, judge)
            spreads[key] = partial(_spread, panel, language, judge)
    if panel.has_systems and panel.texts is not None:
        for system in panel.systems[:MOST_DRAWERS]:
            drawers[f"system|{system}"] = partial(behind, panel, system)
    return drawers, spreads


def _spread(panel: Panel, language: str, judge: str) -> pd.DataFrame:
    at, b = panel.languages.index(language), panel.judges.index(judge)
    others = np.delete(panel.scores[:, :, at], b, axis=2)
    return spread({judge: panel.scores[:, :, at, b], "the others": others}, *panel.scale)


def _cell_report(a: Audit, language: str, judge: str) -> Report:
    """What `--cell` shows: what is off there, and the answers that differ most."""
    panel = a.panel
    frame = a.off
    said: list[Finding] = []
    who = f"{name(judge)} in {name(language)}" if len(panel.languages) > 1 else name(judge)
    row = frame[(frame["language"] == language) & (frame["judge"] == judge)] if len(frame) else frame
    if len(row) and np.isfinite(row["off"].iloc[0]):
        x = row.iloc[0]
        word = "higher" if x["off"] > 0 else "lower"
        size = amount(
            panel,
            abs(x["off"]),
            *sorted((abs(x["off"]) - (x["all_high"] - x["off"]), abs(x["off"]) + (x["all_high"] - x["off"]))),
        )
        text = (
            f"In {name(language)}, {name(judge)} scores {size} {word}, relative to the other judges, than in the other "
            f"{panel.nouns}."
        )
        said = [
            Finding("warning" if x["clear"] else "info", "cell", text, "Off", {"language": language, "judge": judge})
        ]
    if np.ptp(panel.weight) > 0 or panel.weight[0] != 1:
        raise_hint = Finding("notice", "cell.none", "The panel is too large to show single answers.", "Off")
        return Report("audit", f"Answers of {who}", (panel.facts,), (*said, raise_hint), about=_about(a))
    found = answers(panel, language, judge)
    columns = {"task": "name", "system": "name", "score": "points", "others": "points", **dict.fromkeys(TEXTS, "text")}
    table = Table(
        "answers",
        f"Answers of {who} that differ most from the other judges"
        if len(panel.judges) > 1
        else f"Lowest scores of {who}",
        found,
        {c: kind for c, kind in columns.items() if c in found.columns},
        {"others": "other judges"},
    )
    key = f"{language}|{judge}"
    return Report(
        command="audit",
        title=f"Answers of {who}",
        facts=(panel.facts,),
        findings=tuple(said),
        board=table,
        drawers={key: found},
        spreads={key: _spread(panel, language, judge)} if len(panel.judges) > 1 else {},
        about=_about(a),
    )
