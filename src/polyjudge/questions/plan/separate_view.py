"""What a plan for telling systems apart says."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import say
from polyjudge.questions.plan.separate import Separation
from polyjudge.report.build import chart, fields, frame_of, table
from polyjudge.report.sections import Chart, Report, Section


def _curve(frame: pd.DataFrame) -> Chart:
    """Tasks needed against judges, a line for each number of languages."""
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


def build(result: Separation, panel: Panel | None = None) -> Report:
    """Tasks needed now, what more judges would change, and where the scores vary."""
    first, second = result.best
    half = 1.96 * result.se
    needed = result.table
    pilot = needed[needed["languages"] == (len(panel.languages) if panel is not None else needed["languages"].max())]
    few, many = pilot.iloc[0], pilot.iloc[-1]
    variance = result.variance.components.sort_values("share", ascending=False, kind="stable")
    components = say("separate.components")
    shares = "component | share/low/high:share | points squared = variance:number"
    head = "judges:count | languages:count | tasks:count | floor, points = floor:points"
    return Report(
        **frame_of("plan", result, panel),
        title=say("separate.title"),
        verdict=(
            say("separate.needed", **fields(result, "points", "needed", "power", "level")),
            say(
                "separate.choice",
                judges=result.kept,
                all=len(panel.judges) if panel is not None else int(needed["judges"].max()) // 2,
                tasks=result.kept_tasks,
                cost=result.kept_cost,
                full=result.cost,
                priced=result.priced,
            ),
            say(
                "separate.now",
                first=first,
                second=second,
                low=result.difference - half,
                high=result.difference + half,
                judge=result.hangs_on,
                **fields(result, "tasks", "difference"),
            ),
            say(
                "separate.judges",
                few=int(few["judges"]),
                few_tasks=int(few["tasks"]),
                many=int(many["judges"]),
                many_tasks=int(many["tasks"]),
            ),
        ),
        picture=(table("tasks", say("separate.table"), needed, head, most=60),),
        beside=(_curve(needed),),
        sections=(
            Section(
                name="components",
                title=components,
                says=(say("separate.scope"),),
                blocks=(table("variance", components, variance, shares, most=20),),
            ),
        ),
    )
