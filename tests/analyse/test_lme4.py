"""Variance components against lme4, the reference for mixed models, run in R."""

from __future__ import annotations

import io
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
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


SYSTEMS = """
suppressMessages(library(lme4))
d <- read.csv("scores.csv")
f <- c("task", "system", "language", "judge")
terms <- unlist(lapply(1:4, function(i) combn(f, i, paste, collapse = ":")))
for (term in terms) d[[gsub(":", ".", term)]] <- do.call(interaction, unname(as.list(d[strsplit(term, ":")[[1]]])))
random <- paste0("(1|", gsub(":", ".", terms), ")", collapse = " + ")
control <- lmerControl(calc.derivs = FALSE, optCtrl = list(ftol_abs = 1e-9, xtol_abs = 1e-9))
fit <- lmer(as.formula(paste("score ~ 1 +", random)), d, control = control)
write.csv(as.data.frame(VarCorr(fit))[, c("grp", "vcov")], row.names = FALSE)
"""


@pytest.mark.timeout(280)
def test_variance_components_with_systems_are_lme4s(tmp_path: Path) -> None:
    rscript = need("r")
    rng = np.random.default_rng(0)  # a panel with every component above zero, where both methods must agree
    sizes = (5, 3, 3, 3)
    scores = np.zeros((*sizes, 2))
    for size in range(1, 5):
        for axes in combinations(range(4), size):
            scores += rng.normal(0, 6 * (5 - size), [sizes[a] if a in axes else 1 for a in range(4)])[..., None]
    panel = pj.Panel.from_array(scores + rng.normal(0, 3, scores.shape), systems="abc")
    ours = pj.system_variance(panel).to_frame().set_index("component")["variance"]
    assert (ours > 0).all()
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    done = subprocess.run([rscript, "-e", SYSTEMS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = pd.read_csv(io.StringIO(done.stdout)).set_index("grp")["vcov"]
    theirs = theirs.rename(lambda name: "noise" if name == "Residual" else name.replace(".", ":"))
    for component, value in ours.items():
        assert value == pytest.approx(theirs[component], rel=0.01), component
