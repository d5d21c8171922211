"""Logs that Inspect writes for our own task, and those of a run, are read without any option."""

from __future__ import annotations

from pathlib import Path

from collect_plans import write_plan
from judge_server import Running, truth

from polyjudge.collect.run import collect
from polyjudge.read import read_panel

KEYS = ["task", "language", "judge"]


def test_logs_of_our_own_task(tmp_path: Path, server: Running) -> None:
    from inspect_ai import eval

    plan = write_plan(tmp_path, server.url, tasks=4)
    for judge in ("ja", "jb"):
        logs = str(tmp_path / "logs")
        eval("polyjudge/judge", task_args={"plan": str(plan), "judge": judge}, log_dir=logs, display="none")
    panel = read_panel(tmp_path / "logs")
    assert panel.judges == ("ja", "jb")
    assert len(panel.tasks) == 4
    for row in panel.to_frame().itertuples():
        assert row.score == truth(row.judge, row.task, row.language, "all")


def test_logs_of_a_run(tmp_path: Path, server: Running) -> None:
    plan = write_plan(tmp_path, server.url, tasks=4)
    collect(plan, output=tmp_path / "run")
    scores, logs = (read_panel(tmp_path / "run" / place).to_frame() for place in ("scores.csv", "logs"))
    columns = [*KEYS, "score"]
    assert logs[columns].sort_values(KEYS).values.tolist() == scores[columns].sort_values(KEYS).values.tolist()
