"""The `--labels` part of `polyjudge plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polyjudge.core.errors import UsageError

if TYPE_CHECKING:
    from polyjudge.core.panel import Panel


def plan_labels(
    panel: Panel | None, gold: str, half_width: float | None, batch: int, seed: int, as_json: bool, output: Path | None
) -> None:
    """Labels per language for a target half-width, from the pilot labels in the file `gold`."""
    if panel is None:
        raise UsageError("--labels needs the panel's scores: add --from SCORES.")
    if half_width is None:
        raise UsageError("--labels needs a target: --half-width POINTS, for example --half-width 2.")
    from polyjudge.analyse.label_budget import label_budget
    from polyjudge.core.gold import align_gold
    from polyjudge.sources.gold import read_gold

    result = label_budget(panel, align_gold(panel, read_gold(gold)), half_width, batch=batch, seed=seed)
    if output is not None:
        from polyjudge.cli.output import result_folder, write_result

        with result_folder(output, "plan") as folder:
            write_result(folder, "label_plan", result.to_dict(), {"label_plan": result.table})
    if as_json:
        from polyjudge.cli.options import print_json

        print_json("plan", {"labels": result.to_dict()})
        return
    from polyjudge.report.terminal.label_plan import show_label_plan

    show_label_plan(result)
