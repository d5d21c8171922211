"""What a plan says: tasks needed, human labels needed, systems told apart, adaptive collection replayed."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.second.panel.numbers import missing
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say
from polyjudge.second.questions.plan.planning import LabelBudget, Plan
from polyjudge.second.questions.plan.separate import Separation
from polyjudge.second.questions.plan.sequential import Replay
from polyjudge.second.report.build import chart, fields, frame_of, notes, table
from polyjudge.second.report.schema import envelope
from polyjudge.second.report.sections import Chart, Report, Section

FACETS = ("tasks", "languages", "replicates", "judges")


def tasks_needed(p: Plan, panel: Panel | None = None) -> Report:
    """How many tasks a panel needs, and what they buy."""
    needed = table(
        "needed",
        say("plan.needed", **fields(p, "radius", "languages", "judges", "level")),
        p.needed.assign(tasks=pd.to_numeric(p.needed["tasks"], errors="coerce").astype(float)),
        "bound | sd = sigma:points | tasks:count",
    )
    frame = p.table
    for name in ("expected_cells", "expected_reversals"):
        error = 2 * frame[f"{name}_se"]
        frame = frame.assign(**{f"{name}_low": frame[name] - error, f"{name}_high": frame[name] + error})
    found = f"clear cells of {frame['cells'].iloc[0]} = expected_cells/_low/_high:ratio.1"
    swaps = f"swaps of {frame['true_reversals'].mean():.1f} = expected_reversals/_low/_high:ratio.1"
    radii = "tasks:count | Gaussian = gaussian_radius:points | band = band_radius:points"
    free = [] if frame["free_radius"].isna().all() else ["distribution-free = free_radius:points"]
    buys = table("plan", say("plan.buys"), frame, radii, *free, found, swaps)
    says = (p.assumed, say("plan.simulated"), *notes(p.notes))
    section = Section(name="buys", title="What a number of tasks buys", says=says, blocks=(buys,), folded=False)
    return Report(
        **frame_of("plan", p, panel),
        title="Tasks that a panel needs",
        verdict=_answer(p),
        picture=(needed,),
        beside=(_curve(p),),
        sections=(section,) if p.decision is None else (section, _study(p.decision)),
    )


def _answer(p: Plan) -> tuple[Words, ...]:
    """How many tasks, at what cost, what they would show, and what else to buy."""
    more = None if p.enough is None else max(0, p.enough - (p.tasks or 0))
    sizes = fields(p, "enough", "radius", "languages", "judges", "level")
    says: list[Words] = [say("plan.answer", have=p.tasks, more=more, cells=p.languages * p.judges, **sizes)]
    if p.ruled_out is not None:
        says.append(say("plan.ruled-out", tasks=p.ruled_out, radius=p.radius))
    if more:
        cost = None if p.price_per_task is None else more * p.price_per_task
        says.append(say("plan.cost", scores=more * p.scores_per_task, cost=cost, more=p.tasks is not None))
    row = p.table[p.table["tasks"] == (p.enough if more else p.tasks)]
    if len(row):
        found, error = float(row["expected_cells"].iloc[0]), 2 * float(row["expected_cells_se"].iloc[0])
        low, high = max(0.0, found - error), found + error
        says.append(say("plan.finds", tasks=int(row["tasks"].iloc[0]), found=found, low=low, high=high))
    return (*says, p.advice) if p.advice else tuple(says)


def _curve(p: Plan) -> Chart:
    """How far off an unseen effect may be, by the number of tasks."""
    names = {"band_radius": "band", "gaussian_radius": "Gaussian bound"}
    long = p.table.melt("tasks", list(names), "bound", "points").dropna()
    return chart(
        "radius",
        "curves",
        say("plan.curve"),
        say("plan.curve-chart", radius=p.radius),
        frame=long.assign(bound=long["bound"].map(names)),
        x="tasks",
        y="points",
        by="bound",
        title="What more tasks buy",
        x_title="tasks",
        y_title="points that stay possible",
        at=p.radius,
    )


def _study(decision: pd.DataFrame) -> Section:
    ends = zip(decision["reliability"], decision["low"], decision["high"], strict=True)
    wide = decision.assign(shown=[f"{r:.3f} [{a:.3f}, {b:.3f}]" for r, a, b in ends])
    wide = wide.pivot(index=["facet", "factor", "size"], columns="order", values="shown").reset_index()
    wide = wide.sort_values(["facet", "factor"], key=lambda s: s.map(FACETS.index) if s.name == "facet" else s)
    orders = "judges, overall = judges_overall | judges, in one language = judges_in_language | languages"
    head = f"more of = facet | number = size:count | {orders}"
    study = table("decision", "Reliability of three orders", wide, head)
    return Section(name="decision", title="Which to buy more of", blocks=(study,))


def labels_needed(b: LabelBudget, panel: Panel | None = None) -> Report:
    """How many labels the languages need."""
    shown = {f"{x}_text": [_count(row, x) for _, row in b.table.iterrows()] for x in ("labels_only", "with_panel")}
    frame = b.table.assign(**shown)
    needed = table(
        "label_plan",
        say("plan.labels", **fields(b, "half_width", "level", "quantity")),
        frame,
        "language | labels:count | half-width now = half_width:points | correlation:ratio.2 "
        "| labels only = labels_only_text | with the panel = with_panel_text | drawn by label make = by_design:count",
    )
    report = frame_of("label_plan", b, panel)
    report["payload"] = lambda: envelope("plan", {"labels": b.to_dict(), **b.to_dict()})
    return Report(
        **report,
        title="Human labels that the languages need",
        verdict=_labels_answer(b),
        picture=(needed,),
        sections=(Section(name="notes", title="Notes", says=notes(b.notes), folded=False),),
    )


def _labels_answer(b: LabelBudget) -> tuple[Words, ...]:
    """How many more labels, with the panel's help and without it."""
    reached = b.table[b.table["with_panel"].notna()]
    needed = reached["with_panel"]
    answer = say(
        "plan.labels-answer",
        more=int((needed - reached["labels"]).clip(lower=0).sum()),
        total=int(needed.sum()),
        alone=int(reached["labels_only"].sum()),
        design=None if reached["by_design"].isna().any() else int(reached["by_design"].sum()),
        half_width=b.half_width,
        level=b.level,
        languages=reached["language"].tolist(),
        all=len(reached) == len(b.table),
    )
    short = b.table["language"][b.table["with_panel"].isna()].tolist()
    return (*([answer] if len(reached) else []), *([say("plan.labels-short", languages=short)] if short else []))


def _count(row: pd.Series[Any], name: str) -> str:
    def text(value: Any) -> str:
        return "more tasks" if missing(value) else f"{value:,.0f}"

    likely = f"{text(row[f'{name}_likely'])} [{text(row[f'{name}_low'])}, {text(row[name])}]"
    return text(None) if missing(row[name]) else f"{text(row[name])} (likely {likely})"


def _judges_curve(frame: pd.DataFrame) -> Chart:
    """Tasks needed against judges, a line for each number of languages."""
    frame = frame[frame["tasks"].notna()]
    few, many = int(frame["judges"].min()), int(frame["judges"].max())
    most, least = (frame.loc[frame["judges"] == end, "tasks"] for end in (few, many))
    return chart(
        "tasks-needed",
        "curves",
        say("separate.curve"),
        say("separate.curve-chart", most=int(most.max()), least=int(least.min()), few=few, many=many),
        frame=frame.assign(which=frame["languages"].astype(str) + " languages"),
        x="judges",
        y="tasks",
        by="which",
        title="Tasks needed",
        x_title="judges",
        y_title="tasks",
    )


def separated(result: Separation, panel: Panel | None = None) -> Report:
    """Tasks needed now, what more judges would change, and where the scores vary."""
    needed = result.table
    variance = result.variance.components.sort_values("share", ascending=False, kind="stable")
    components = say("separate.components")
    shares = "component | share/low/high:share | points squared = variance:number"
    head = "judges:count | languages:count | tasks:count | floor, points = floor:points"
    shown = needed.assign(tasks=pd.to_numeric(needed["tasks"], errors="coerce").astype(float))
    return Report(
        **frame_of("plan", result, panel),
        title=say("separate.title"),
        verdict=_apart(result, panel),
        picture=(table("tasks", say("separate.table"), shown, head, most=60),),
        beside=(_judges_curve(needed),) if needed.loc[needed["tasks"].notna(), "judges"].nunique() > 1 else (),
        sections=(
            Section(
                name="components",
                title=components,
                says=(say("separate.scope"),),
                blocks=(table("variance", components, variance, shares, most=20),),
            ),
        ),
    )


def _apart(s: Separation, panel: Panel | None) -> tuple[Words, ...]:
    """How many tasks, at what cost, what the pilot tells already, and what more judges would change."""
    first, second = s.best
    half = 1.96 * s.se
    known = s.table[s.table["tasks"].notna()]
    pilot = known[known["languages"] == (len(panel.languages) if panel is not None else known["languages"].max())]
    judges = len(panel.judges) if panel is not None else max(int(s.table["judges"].max()) // 2, 1)
    ends = {"low": s.difference - half, "high": s.difference + half}
    says: list[Words] = [say("separate.needed", judges=judges, **fields(s, "points", "needed", "power", "level"))]
    if s.kept_tasks is not None and s.cost is not None:
        cost = {"cost": s.kept_cost, "full": s.cost, "tasks": s.kept_tasks}
        says.append(say("separate.choice", judges=s.kept, all=judges, priced=s.priced, **cost))
    pair = {"first": first, "second": second, "judge": s.hangs_on}
    says.append(say("separate.now", **pair, **ends, **fields(s, "tasks", "difference")))
    if len(pilot) > 1:
        few, many = pilot.iloc[0], pilot.iloc[-1]
        values = {"few": few["judges"], "few_tasks": few["tasks"], "many": many["judges"], "many_tasks": many["tasks"]}
        says.append(say("separate.judges", **{name: int(value) for name, value in values.items()}))
    return tuple(says)


def replayed(result: Replay, panel: Panel | None = None) -> Report:
    """What was settled for how many calls."""
    last = result.looks.iloc[-1]
    verdict = say(
        "replay.saved",
        settled=int(last["settled"]),
        of=len(result.state.verdict),
        open=int(last["open"]),
        **fields(result, "share", "calls"),
        **fields(result.rule, "questions", "matters", "level"),
    )
    blind = () if result.blind_spot is None else (say("replay.blind-spot", **result.blind_spot),)
    head = "look:count | tasks:count | settled:count | open:count | scores bought = calls:count | of all = share:share"
    return Report(
        **frame_of("plan", result, panel),
        title=say("replay.title"),
        verdict=(verdict, *blind),
        picture=(table("looks", say("replay.looks"), result.looks, head),),
        sections=(questions_section(result.to_frame(), folded=True),),
    )


def questions_section(answers: pd.DataFrame, folded: bool) -> Section:
    """What was asked, and the answers."""
    head = (
        "language | first:label | second:label | answer = verdict | difference = estimate/low/high:+points "
        "| at look = settled_at:count | in the end = final:+points"
    )
    answered = table("questions", say("replay.questions"), answers, head)
    scope = (say("replay.scope"),)
    return Section(name="questions", title="The questions", says=scope, blocks=(answered,), folded=folded)


VIEWS = {"Replay": replayed, "Separation": separated, "Plan": tasks_needed, "LabelBudget": labels_needed}
