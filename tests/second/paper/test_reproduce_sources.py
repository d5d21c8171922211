"""The loaders of the authors' files: right files become panels, others are refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.paper import inputs as sources
from polyjudge.second.paper import published
from refusals import refused


def write_panel(path: Path, seed: int = 0) -> pd.DataFrame:
    """A file of the M-RewardBench layout: whole margins whose cell means are exactly the published ones."""
    book = published.load("mrewardbench")
    rng = np.random.default_rng(seed)
    subsets = ["alpacaeval-easy"] * 805 + ["alpacaeval-hard"] * 695
    items = [(f"{subset}::{i}", i, subset) for i, subset in enumerate(subsets)]
    order = rng.permutation(1500)
    rows = []
    for language, cells in book["raw_mean_margin"].items():
        for judge, mean in cells.items():
            count = next(n for n in range(1500, 1400, -1) if abs(mean * n - round(mean * n)) < 1e-9)
            margin = np.full(1500, np.nan)
            present = rng.permutation(1500)[:count]
            base, extra = divmod(round(mean * count), count)
            margin[present] = base
            margin[present[:extra]] += 1
            # Spread that leaves the sum alone: +1 on some, -1 on as many.
            up = rng.permutation(present)[: 2 * (count // 3)]
            margin[up[: len(up) // 2]] += 1
            margin[up[len(up) // 2 :]] -= 1
            for i in order:
                there = not np.isnan(margin[i])
                chosen = 1 + max(0, int(margin[i])) if there else ""
                rejected = chosen - int(margin[i]) if there else 3
                value = f"{margin[i]:.1f}" if there else ""
                name, number, subset = items[i]
                rows.append(
                    (name, number, subset, language, judge, "a", "b", chosen, rejected, value, there and margin[i] > 0)
                )
    names = (
        "item_id item_numeric_id subset language evaluator_model chosen_model rejected_model chosen_score "
        "rejected_score margin pref_correct"
    )
    frame = pd.DataFrame(rows, columns=names.split())
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture(scope="session")
def panel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mrewardbench") / "pilot_complete_panel.csv"
    write_panel(path)
    return path


def test_devai(devai_like_path: Path) -> None:
    panel = sources.devai_panel(devai_like_path)
    assert panel.shape == (55, 8, 6)
    assert panel.replicates == ("MetaGPT", "GPT-Pilot", "OpenHands")
    table = pd.read_csv(devai_like_path)
    one = table.query("language == 'Hindi' and backbone == 'Qwen' and framework == 'OpenHands'").set_index("task")
    mine = panel.replicate_scores[:, panel.languages.index("Hindi"), panel.judges.index("Qwen"), 2]
    assert mine.tolist() == one.loc[list(panel.tasks), "score"].tolist()


def test_mrewardbench_panel(panel_file: Path) -> None:
    panel = sources.mrewardbench_panel(panel_file)
    assert panel.shape == (1500, 7, 5)
    assert int(np.isnan(panel.scores).sum()) == 35
    assert [len(panel.slice(g).tasks) for g in panel.grouping.labels] == [805, 695]
    table = pd.read_csv(panel_file).dropna(subset="margin").sample(500, random_state=1)
    for row in table.itertuples():
        at = (
            panel.tasks.index(row.item_id),
            panel.languages.index(row.language),
            panel.judges.index(row.evaluator_model),
        )
        assert panel.scores[at] == row.margin


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda t: t.rename(columns={"backbone": "judge"}), ("backbone", "judge, language, framework")),
        (lambda t: t.iloc[:-1], (55, 7919, 7920)),
        (lambda t: t.iloc[:3000], ("judges", "DeepSeek, Gemini, Qwen")),
        (lambda t: pd.concat([t.iloc[:-1], t.iloc[:1]]), (55, 7920, "twice")),
        (lambda t: t.assign(score=t["score"].where(t.index != 5)), (55, 7919, 7920)),
        (lambda t: t.assign(score=t["score"].where(t.index != 5, 1e9)), (55, 7919, 7920)),
        (lambda t: t.assign(score=t["score"].where(t.index != 5, 0.0)), (48, "English x GPT-4o")),
        (lambda t: t.assign(language=t["language"].replace("Hindi", "Urdu")), ("languages", "Hindi, Urdu")),
    ],
)
def test_a_changed_devai_file_is_refused(
    devai_like_path: Path, tmp_path: Path, spoil: object, named: tuple[object, ...]
) -> None:
    path = tmp_path / "x.csv"
    spoil(pd.read_csv(devai_like_path)).to_csv(path, index=False)  # type: ignore[operator]
    with refused(pj.PanelError, "x.csv", *named):
        sources.devai_panel(path)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda t: t.rename(columns={"margin": "m"}), ("margin", "chosen_score")),
        (lambda t: t.iloc[:-1], (52499, 1500, 35)),
        (lambda t: t.iloc[:20000], ("languages", "hin_Deva, jpn_Jpan, spa_Latn, zho_Hans")),
        (lambda t: pd.concat([t.iloc[:-1], t.iloc[:1]]), (52500, 1500, 35)),
        (lambda t: t.assign(margin=t["margin"].fillna(0.0)), (52500, 0, 35)),
        (lambda t: t.assign(margin=t["margin"].astype(object).where(t.index != 7, "high")), ("margin", "line 9")),
        (lambda t: t.assign(margin=t["margin"].where(t.index != 7, 5.0)), ("margin", "-4..4")),
        (lambda t: t.assign(subset="all"), ("all: 1500", "alpacaeval-easy: 805")),
    ],
)
def test_a_changed_panel_file_is_refused(
    panel_file: Path, tmp_path: Path, spoil: object, named: tuple[object, ...]
) -> None:
    path = tmp_path / "x.csv"
    spoil(pd.read_csv(panel_file)).to_csv(path, index=False)  # type: ignore[operator]
    with refused(pj.PanelError, "x.csv", *named):
        sources.mrewardbench_panel(path)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda t: t.drop(columns="raw_margin"), ("raw_margin", "cbc_margin")),
        (lambda t: t.iloc[:-1], (699, 100)),
        (lambda t: t.assign(cbc_margin=t["cbc_margin"].where(t.index != 3)), ("margin", "missing")),
        (lambda t: t.assign(subset="all"), (700, 100, "alpacaeval-easy: 54")),
    ],
)
def test_a_changed_sample_is_refused(
    anchor_like_path: Path, tmp_path: Path, spoil: object, named: tuple[object, ...]
) -> None:
    path = tmp_path / "x.csv"
    spoil(pd.read_csv(anchor_like_path)).to_csv(path, index=False)  # type: ignore[operator]
    with refused(pj.PanelError, "x.csv", *named):
        sources.anchor_sample(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"\x00" * 100, b'a,b\n"1,2\n'])
@pytest.mark.parametrize("load", [sources.devai_panel, sources.mrewardbench_panel, sources.anchor_sample])
def test_what_is_no_table_is_refused(tmp_path: Path, load: object, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with refused(pj.PanelError, "x.csv"):
        load(path)  # type: ignore[operator]
    path.unlink()
    with refused(pj.PanelError, "x.csv", "no file"):
        load(path)  # type: ignore[operator]
