"""Variance components against lme4, the reference for mixed models, run in R."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import polyjudge as pj
from conftest import need

pytestmark = pytest.mark.r

SCRIPT = """
suppressMessages(library(lme4))
d <- read.csv("scores.csv")
d$tl <- interaction(d$task, d$language); d$tb <- interaction(d$task, d$judge)
d$lb <- interaction(d$language, d$judge); d$tlb <- interaction(d$task, d$language, d$judge)
control <- lmerControl(calc.derivs = FALSE, optCtrl = list(ftol_abs = 1e-10, xtol_abs = 1e-10))
fit <- lmer(score ~ 1 + (1|task) + (1|language) + (1|judge) + (1|tl) + (1|tb) + (1|lb) + (1|tlb), d, control = control)
write.csv(as.data.frame(VarCorr(fit))[, c("grp", "vcov")], row.names = FALSE)
"""
NAMES = {
    "task": "task",
    "language": "language",
    "judge": "judge",
    "tl": "task:language",
    "tb": "task:judge",
    "lb": "language:judge",
    "tlb": "task:language:judge",
    "Residual": "noise",
}


@pytest.mark.timeout(280)
def test_variance_components_are_lme4s(tmp_path: Path) -> None:
    """On a balanced panel with every component above zero, analysis of variance and REML agree."""
    rscript = need("r")
    panel, _ = pj.simulate_panel(
        12, 5, 5, replicates=2, seed=12, language_sd=9, three_way_sd=6, task_language_sd=6, task_judge_sd=6
    )
    ours = pj.variance(panel).to_frame().set_index("component")["variance"]
    assert (ours > 0).all()
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    done = subprocess.run([rscript, "-e", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = pd.read_csv(io.StringIO(done.stdout)).set_index("grp")["vcov"].rename(NAMES)
    for component, value in ours.items():
        assert value == pytest.approx(theirs[component], rel=0.01), component
