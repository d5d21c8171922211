"""M-RewardBench: the human anchor, what the published matrices allow, and a whole panel of the released layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from common import shared_file
from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.paper import mrewardbench as m
from polyjudge.paper.ledger import claims, nested, reproduce


@pytest.fixture(scope="session")
def panel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whole margins whose cell means are exactly the published ones, in the released layout."""
    rng, rows = np.random.default_rng(0), []
    items = [(f"{s}::{i}", s) for i, s in enumerate(["alpacaeval-easy"] * 805 + ["alpacaeval-hard"] * 695)]
    for language, cells in nested(claims("mrewardbench"))["raw_mean_margin"].items():
        for judge, text in cells.items():
            mean = float(text)
            count = next(n for n in range(1500, 1400, -1) if abs(mean * n - round(mean * n)) < 1e-8)
            margin, present = np.full(1500, np.nan), rng.permutation(1500)[:count]
            base, extra = divmod(round(mean * count), count)
            margin[present] = base
            margin[present[:extra]] += 1
            up = rng.permutation(present)[: 2 * (count // 3)]  # spread that leaves the sum alone
            margin[up[: len(up) // 2]] += 1
            margin[up[len(up) // 2 :]] -= 1
            rows += [(*items[i], language, judge, margin[i]) for i in range(1500)]
    columns = ["item_id", "subset", "language", "evaluator_model", "margin"]
    path = tmp_path_factory.mktemp("margins") / "pilot_complete_panel.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def margins(panel_file: Path) -> m.Margins:
    return m.read_margins(panel_file)


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return m.read_sample(shared_file("mrewardbench/human_anchor_sample.csv"))


@pytest.mark.real_data
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_claim_that_can_be_computed_prints(seed: int) -> None:
    found = reproduce("mrewardbench", anchor=shared_file("mrewardbench/human_anchor_sample.csv"), seed=seed)
    rows = found.claims
    assert len(rows) == 177
    assert rows.groupby("verdict").size().to_dict() == {"needs data": 84, "reproduced": 89, "taken over": 4}
    assert (rows["verdict"][rows["kind"] == "artefact"] == "reproduced").all()
    assert not found.incomplete


@pytest.mark.real_data
def test_the_gain_is_rounding(sample: pd.DataFrame) -> None:
    """METHODS 16, 1: three margins of items that lack a judge's score move, and no decision changes."""
    total = m.anchor(sample).set_index("language").loc["all"]
    assert total.to_dict() == {
        "rows": 700, "raw_published": 481, "cbc_published": 536, "raw": 481, "cbc": 481, "ties": 64, "turned": 64,
        "counted": 55, "moved": 3, "changed": 0,
    }  # fmt: skip


@pytest.mark.real_data
def test_a_true_change_is_seen(sample: pd.DataFrame) -> None:
    moved = sample.copy()
    moved.loc[moved.index[moved["raw_margin"] < -1][0], "cbc_margin"] = 0.5
    total = m.anchor(moved).set_index("language").loc["all"]
    assert (total["changed"], total["cbc"]) == (1, 482)


@pytest.mark.real_data
def test_shuffled_margins_turn_the_anchor(sample: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "shuffled.csv"
    margins = sample["raw_margin"].sample(frac=1, random_state=0).to_numpy()
    sample.assign(raw_margin=-margins).to_csv(path, index=False)
    rows = reproduce("mrewardbench", anchor=path).claims
    assert (rows["verdict"] == "differs").sum() >= 7


def test_a_whole_panel(panel_file: Path, margins: m.Margins) -> None:
    """Means, beta^ and counts are the published ones; what hangs on single items is not."""
    found = reproduce("mrewardbench", data=panel_file)
    rows = found.claims.assign(part=found.claims["key"].str.split(" > ").str[0])
    verdicts = rows.groupby(["part", "verdict"]).size()
    for part in ("raw_mean_margin", "beta_hat", "panel", "calibrated_order"):
        assert set(verdicts[part].index) == {"reproduced"}, part
    assert not (rows["verdict"] == "needs data").any()
    assert "differs" in verdicts["held_out"].index
    assert found.incomplete
    assert margins.scores.shape == (1500, 7, 5)


def test_shuffling_a_judge_turns_the_claims(panel_file: Path, tmp_path: Path) -> None:
    table = pd.read_csv(panel_file)
    path = tmp_path / "x.csv"
    table.replace({"evaluator_model": {m.JUDGES[0]: m.JUDGES[3], m.JUDGES[3]: m.JUDGES[0]}}).to_csv(path, index=False)
    rows = reproduce("mrewardbench", data=path).claims.set_index("key")
    turned = rows[rows["verdict"] == "differs"].index
    assert turned.str.startswith("beta_hat").sum() == 14
    assert (turned == "calibrated_order > 2").any()


@pytest.mark.real_data
def test_the_sample_is_drawn_as_published(margins: m.Margins, sample: pd.DataFrame) -> None:
    drawn = m.draw_sample(margins)
    assert drawn["item"].tolist() == [f"{s}::{i}" for s, i in zip(sample["subset"], sample["item"], strict=True)]
    assert drawn["language"].tolist() == sample["language"].tolist()
    row = drawn.iloc[333]
    mine = margins.scores[margins.items.index(row["item"]), m.LANGUAGES.index(row["language"])]
    assert row["raw_margin"] == pytest.approx(np.nanmean(mine))
    total = m.anchor(drawn).set_index("language").loc["all"]
    assert total["changed"] <= total["moved"] <= 35


def test_gaps_read_off_means() -> None:
    assert m.missing_behind(np.array([[1.5, 1 / 3]]), 1500) == 0
    assert m.missing_behind(np.array([[1.5, 700 / 1499]]), 1500) == 1


def test_label_free_gain_of_the_published_means() -> None:
    """I7: the fall of the squared error to any truth that no judge changes is the mean squared interaction."""
    means = m.array_by_name(nested(claims("mrewardbench"))["raw_mean_margin"])
    beta, truth = cbc.double_centre(means), np.random.default_rng(0).normal(size=(7, 1))
    fall = ((means - truth) ** 2).mean() - ((means - beta - truth) ** 2).mean()
    assert fall == pytest.approx((beta**2).mean(), abs=1e-12) == pytest.approx(0.0170, abs=5e-5)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda t: t.rename(columns={"margin": "m"}), "no column margin"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "appear twice"),
        (lambda t: t.assign(margin=t["margin"].where(t.index != 7, 5.0)), "outside -4 to 4"),
        (lambda t: t.assign(subset="all"), "subsets"),
        (lambda t: t.assign(language="xx"), "xx"),
    ],
)
def test_another_file_is_refused(panel_file: Path, tmp_path: Path, spoil: Any, word: str) -> None:
    path = tmp_path / "x.csv"
    spoil(pd.read_csv(panel_file)).to_csv(path, index=False)
    with pytest.raises(PanelError, match=word):
        reproduce("mrewardbench", data=path)
