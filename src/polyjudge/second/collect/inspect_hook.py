"""The calibrated score in every log that Inspect writes, by itself: `POLYJUDGE_CALIBRATOR=cal.json inspect eval ...`.

Inspect finds this module by the entry point of the package. A hook that fails is a warning of Inspect's, and leaves the
log as it was.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.log import read_eval_log

from polyjudge.second.collect.inspect_scores import score_log

CALIBRATOR = "POLYJUDGE_CALIBRATOR"
"""Environment variable with the path of a saved calibrator; without it nothing happens."""


@hooks(name="polyjudge_calibrated", description="Adds the mean of the graders' calibrated scores to each sample.")
class CalibratedScores(Hooks):  # type: ignore[misc]
    """Writes the score `calibrated` into the log of a task as soon as the task is done."""

    def enabled(self) -> bool:
        return bool(os.environ.get(CALIBRATOR))

    async def on_task_end(self, data: TaskEnd) -> None:
        if data.log.status != "success":
            return
        path = Path(unquote(str(data.log.location).removeprefix("file://")))
        score_log(path, os.environ[CALIBRATOR], path, overwrite=True)
        if data.log.samples is not None:  # what `eval` returns says the same as the file
            written = read_eval_log(str(path))
            data.log.samples, data.log.results = written.samples, written.results
