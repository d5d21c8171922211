"""Fits, variance components and the noise of repeated calls (METHODS 6)."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from numpy.typing import NDArray

from common import need
from polyjudge.stats.resample import MOST_GROUPS, bootstrap, groups_of
from polyjudge.stats.variance import TERMS, components, fits

Array = NDArray[np.float64]


LME4 = """suppressMessages(library(lme4)); d <- read.csv(file("stdin"), stringsAsFactors = TRUE); d$r <- factor(d$r)
f <- y ~ (1 | task) + (1 | language) + (1 | judge) + (1 | task:language) + (1 | task:judge) + (1 | language:judge)
if (nlevels(d$r) > 1) f <- update(f, . ~ . + r + (1 | task:language:judge))
v <- as.data.frame(VarCorr(lmer(f, d))); cat(paste(v$grp, v$vcov), sep = "\\n")"""


def runs(seed: int, n: int = 9, f: int = 3, k: int = 3, m: int = 4) -> Array:
    g = np.random.default_rng(seed)
    y = g.normal(0, 5, (n, 1, 1, 1)) + g.normal(0, 3, (k, m)) + g.normal(0, 2, (n, 1, k, 1)) + g.normal(0, 1, (f, 1, 1))
    return y + g.normal(0, 4, (n, f, k, m))


def test_fits_with_holes_are_those_of_statsmodels() -> None:
    smf = pytest.importorskip("statsmodels.formula.api")
    pd = pytest.importorskip("pandas")
    y = runs(0)
    y[np.random.default_rng(1).random(y.shape) < 0.3] = np.nan
    at = np.nonzero(np.isfinite(y))
    d = pd.DataFrame({"t": at[0], "f": at[1], "l": at[2], "b": at[3], "y": y[at]})
    want = [smf.ols(x, d).fit().rsquared for x in ("y ~ C(t) + C(f) + C(l)*C(b)", "y ~ C(t)*C(l) + C(f) + C(b)*C(l)")]
    assert fits(y) == pytest.approx(want, abs=1e-9)


def test_scores_that_never_vary_have_no_fit() -> None:
    assert np.isnan(fits(np.full((5, 2, 2, 2), 3.0))).all()


def test_components_are_found_again() -> None:
    g = np.random.default_rng(2)
    n, k, m = 400, 12, 10
    sizes = dict(zip(TERMS, (8, 3, 4, 2, 5, 3, 0), strict=True))
    y = sizes["task"] * g.normal(size=(n, 1, 1)) + sizes["language"] * g.normal(size=(k, 1))
    y = y + sizes["judge"] * g.normal(size=m) + sizes["task:language"] * g.normal(size=(n, k, 1))
    y = y + sizes["task:judge"] * g.normal(size=(n, 1, m)) + sizes["language:judge"] * g.normal(size=(k, m))
    y = y + 3 * g.normal(size=(n, k, m))
    found = components(y)
    assert found is not None
    for term in ("task", "task:language", "task:judge", "language:judge"):
        assert found.variance[term] == pytest.approx(sizes[term] ** 2, rel=0.3)
    assert found.variance["task:language:judge"] == pytest.approx(9, rel=0.05)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.p is None


@pytest.mark.lme4
@pytest.mark.parametrize(("replicates", "rest"), [(1, "task:language:judge"), (3, "noise")])
def test_components_are_those_of_lme4(replicates: int, rest: str) -> None:
    """Referee: where no component of a complete panel is below 0, restricted maximum likelihood is our arithmetic."""
    g = np.random.default_rng(4)
    y = 8 * g.normal(size=(12, 1, 1)) + 5 * g.normal(size=(5, 1)) + 6 * g.normal(size=6) + 4 * g.normal(size=(12, 5, 1))
    y = y + 5 * g.normal(size=(12, 1, 6)) + 6 * g.normal(size=(5, 6)) + 4 * g.normal(size=(12, 5, 6))
    y = y[..., None] + 3 * g.normal(size=(12, 5, 6, replicates))
    rows = "".join(f"t{t},l{x},j{b},{r},{v}\n" for (t, x, b, r), v in np.ndenumerate(y))
    said = subprocess.run(
        [need("lme4"), "-e", LME4], input="task,language,judge,r,y\n" + rows, capture_output=True, text=True, check=True
    )
    theirs = {name: float(v) for name, v in (line.split() for line in said.stdout.splitlines())}
    theirs[rest] = theirs.pop("Residual")
    found = components(y.mean(3), y if replicates > 1 else None)
    assert found is not None
    assert min(theirs.values()) > 1
    assert found.variance == pytest.approx(theirs, rel=1e-3)


def test_replicates_tell_noise_from_the_three_way_term() -> None:
    g = np.random.default_rng(3)
    three = g.normal(0, 3, (60, 3, 4, 1))
    calls = three + g.normal(0, 2, (60, 3, 4, 5))
    found, calm = (components(x.mean(3), x) for x in (calls, calls - three))
    assert found is not None
    assert calm is not None
    assert found.noise == pytest.approx(2, rel=0.1)
    assert found.variance["task:language:judge"] == pytest.approx(9, rel=0.2)
    assert found.p is not None
    assert found.p < 1e-6
    assert calm.p is not None
    assert calm.p > 0.001


def test_too_small_panels_have_no_components() -> None:
    assert components(np.ones((1, 3, 3))) is None
    assert components(np.full((5, 3, 3), np.nan)) is None


def test_units_are_drawn_as_often_as_there_are() -> None:
    w = bootstrap(30, 50)
    assert w.shape == (50, 30)
    assert (w.sum(1) == 30).all()
    assert (groups_of(10) == np.arange(10)).all()
    many = np.bincount(groups_of(3 * MOST_GROUPS))
    assert (many == 3).all()
