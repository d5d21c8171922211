"""Variance components and the model of levels against R: lme4 and ordinal, loaded once for all of them."""

from __future__ import annotations

import io
import subprocess
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from test_bounded import counts, draw

import polyjudge.second as pj
from conftest import need
from polyjudge.second.estimate.ordinal import fit_ordinal
from polyjudge.second.panel.arrays import Array
from polyjudge.second.questions.audit import variance
from polyjudge.second.questions.plan.separate import system_variance

pytestmark = [pytest.mark.r, pytest.mark.timeout(280)]

SCRIPT = """
suppressMessages({library(ordinal); library(lme4)})
said <- function(part, names, values) data.frame(part = part, name = names, value = as.numeric(values))
control <- lmerControl(optimizer = "nlminbwrap", calc.derivs = FALSE)
components <- function(part, factors) {
  d <- read.csv(paste0(part, ".csv"))
  terms <- unlist(lapply(seq_along(factors), function(i) combn(factors, i, paste, collapse = ":")))
  for (term in terms) d[[gsub(":", ".", term)]] <- do.call(interaction, unname(as.list(d[strsplit(term, ":")[[1]]])))
  random <- paste0("(1|", gsub(":", ".", terms), ")", collapse = " + ")
  fit <- as.data.frame(VarCorr(lmer(as.formula(paste("score ~ 1 +", random)), d, control = control)))
  said(part, fit$grp, fit$vcov)
}
levels <- function(part) {
  d <- read.csv(paste0(part, ".csv"))
  d$task <- factor(d$task, unique(d$task)); d$cell <- factor(d$cell, unique(d$cell))
  d
}
sums <- list(cell = "contr.sum")
f <- clmm(ordered(score) ~ cell + (1 | task), levels("four"), nAGQ = 15, contrasts = sums)
g <- glmer(I(score - 1) ~ cell + (1 | task), levels("two"), binomial, nAGQ = 15, contrasts = sums,
           control = glmerControl(optimizer = "bobyqa", calc.derivs = FALSE))
write.csv(rbind(
  components("plain", c("task", "language", "judge")),
  components("systems", c("task", "system", "language", "judge")),
  said("four", "", c(f$alpha, f$beta, f$ST[[1]], logLik(f))),
  said("two", "", c(-fixef(g)[1], fixef(g)[-1], sqrt(unlist(VarCorr(g))), logLik(g)))
), row.names = FALSE)
"""


def plain() -> pj.Panel:
    panel, _ = pj.simulate_panel(
        12, 5, 5, replicates=2, seed=12, language_sd=9, three_way_sd=6, task_language_sd=6, task_judge_sd=6
    )
    return panel


def systems() -> pj.Panel:
    rng = np.random.default_rng(0)  # a panel with every component above zero, where both methods must agree
    sizes = (5, 3, 3, 3)
    scores = np.zeros((*sizes, 2))
    for size in range(1, 5):
        for axes in combinations(range(4), size):
            scores += rng.normal(0, 6 * (5 - size), [sizes[a] if a in axes else 1 for a in range(4)])[..., None]
    return pj.Panel.from_array(scores + rng.normal(0, 3, scores.shape), systems="abc")


def of_levels(levels: int) -> pj.Panel:
    return draw(3, 25, 3, 3, levels, 0.5)[0]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """What R says of every panel: part, name, value."""
    folder = tmp_path_factory.mktemp("r")
    for name, panel in {"plain": plain(), "systems": systems(), "four": of_levels(4), "two": of_levels(2)}.items():
        rows = panel.to_long()
        rows["cell"] = rows["language"] + rows["judge"]
        rows.to_csv(folder / f"{name}.csv", index=False)
    done = subprocess.run([need("r"), "-e", SCRIPT], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(io.StringIO(done.stdout)).set_index("part")


def agree(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    values = theirs.set_index("name")["value"]
    values = values.rename(lambda name: "noise" if name == "Residual" else name.replace(".", ":"))
    variance = ours.set_index("component")["variance"]
    assert (variance > 0).all()
    for component, value in variance.items():
        assert value == pytest.approx(values[component], rel=0.01), component


def test_variance_components_are_lme4s(theirs: pd.DataFrame) -> None:
    """On a balanced panel with every component above zero, analysis of variance and REML agree."""
    agree(variance(plain()).to_frame(), theirs.loc["plain"])


def test_variance_components_with_systems_are_lme4s(theirs: pd.DataFrame) -> None:
    agree(system_variance(systems()).to_frame(), theirs.loc["systems"])


@pytest.mark.parametrize(("name", "levels"), [("four", 4), ("two", 2)])
def test_levels_are_those_of_ordinal_and_lme4(theirs: pd.DataFrame, name: str, levels: int) -> None:
    """Thresholds, cells, spread of tasks and log-likelihood: clmm for four levels, glmer for two."""
    fit = fit_ordinal(counts(of_levels(levels)), 15)
    ours: Array = np.array([*fit.cuts, *fit.cells[:-1], fit.sigma, fit.log_likelihood])
    np.testing.assert_allclose(ours, theirs.loc[name, "value"], atol=2e-3)
