"""What a plan for telling systems apart says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.core.sections import Chart, Column, Report, Section, Table, say
from polyjudge.report.build.shared import frame_of

if TYPE_CHECKING:
    from polyjudge.analyse.separate import Separation
    from polyjudge.core.panel import Panel

TASKS = (
    Column(name="judges", title="judges", kind="count"),
    Column(name="languages", title="languages", kind="count"),
    Column(name="tasks", title="tasks", kind="count"),
    Column(name="floor", title="floor, points", kind="points"),
)
SHARES = (
    Column(name="component", title="component"),
    Column(name="share", title="share", kind="share", low="low", high="high"),
    Column(name="variance", title="points squared", kind="number"),
)


def _curve(table: pd.DataFrame) -> Chart:
    """Tasks needed against judges, a line for each number of languages."""
    few, many = (table.loc[table["judges"] == table["judges"].agg(end), "tasks"] for end in ("min", "max"))
    return Chart(
        name="tasks-needed",
        draw="curves",
        data=(
            {
                "frame": table.assign(which=table["languages"].astype(str) + " languages"), "x": "judges", "y": "tasks",
                "by": "which", "title": "Tasks needed", "x_title": "judges", "y_title": "tasks",
            },
        ),
        caption=say("separate.curve"),
        alt=say(
            "separate.curve-chart", most=int(few.max()), least=int(many.min()), few=int(table["judges"].min()),
            many=int(table["judges"].max()),
        ),
    )  # fmt: skip


def build(result: Separation, panel: Panel | None = None) -> Report:
    """Tasks needed now, what more judges would change, and where the scores vary."""
    first, second = result.best
    half = 1.96 * result.se
    table = result.table
    pilot = table[table["languages"] == (len(panel.languages) if panel is not None else table["languages"].max())]
    few, many = pilot.iloc[0], pilot.iloc[-1]
    variance = result.variance.components.sort_values("share", ascending=False, kind="stable")
    return Report(
        **frame_of("plan", result, panel),
        title=say("separate.title"),
        verdict=(
            say("separate.needed", points=result.points, needed=result.needed, power=result.power, level=result.level),
            say(
                "separate.choice",
                judges=result.kept,
                all=len(panel.judges) if panel is not None else int(table["judges"].max()) // 2,
                tasks=result.kept_tasks,
                cost=result.kept_cost,
                full=result.cost,
                priced=result.priced,
            ),
            say(
                "separate.now",
                tasks=result.tasks,
                first=first,
                second=second,
                difference=result.difference,
                low=result.difference - half,
                high=result.difference + half,
                judge=result.hangs_on,
            ),
            say(
                "separate.judges",
                few=int(few["judges"]),
                few_tasks=int(few["tasks"]),
                many=int(many["judges"]),
                many_tasks=int(many["tasks"]),
            ),
        ),
        picture=(Table(name="tasks", caption=say("separate.table"), frame=table, columns=TASKS, most=60),),
        beside=(_curve(table),),
        sections=(
            Section(
                name="components",
                title=say("separate.components"),
                says=(say("separate.scope"),),
                blocks=(
                    Table(name="variance", caption=say("separate.components"), frame=variance, columns=SHARES, most=20),
                ),
            ),
        ),
    )
