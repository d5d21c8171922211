"""Any condition in place of language: the words use its name, the numbers are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.say import Say, called, word
from polyjudge.second.read.scores import condition_name
from polyjudge.second.report import report_of
from polyjudge.second.report.charts import draw
from polyjudge.second.report.fit import in_words_of
from refusals import refused

Cli = Callable[..., CompletedProcess[str]]


@pytest.fixture
def by_wording(tmp_path: Path) -> Path:
    frame = pj.sample_panel().to_long().rename(columns={"language": "rubricWording"})
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_name_comes_from_the_column() -> None:
    assert [condition_name(c) for c in ("prompt_version", "rubricWording", "meta.Domain", "a-b")] == [
        "prompt version", "rubric wording", "domain", "a b",
    ]  # fmt: skip


def test_texts_of_ours_change_and_fields_stay() -> None:
    assert called("A language, 2 languages, Language by {language}", "agency") == (
        "An agency, 2 agencies, Agency by {language}"
    )
    user = Say("read.from", {"tasks": 2, "languages": 2, "judges": 2, "source": "language.csv"}, noun="prompt")
    assert "2 prompts" in word(user)
    assert "language.csv" in word(user)


def test_no_page_or_screen_speaks_of_languages_then(by_wording: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("audit", by_wording, "--by", "rubricWording", "--resamples", 100, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "8 rubric wordings" in done.stdout
    assert "--by rubricWording" in done.stdout
    page = re.sub(
        "<(script|style).*?</\\1>|<[^>]*>", " ", (tmp_path / "out" / "report.html").read_text("utf-8"), flags=re.S
    )
    for text in (done.stdout, (tmp_path / "out" / "summary.md").read_text("utf-8"), page):
        assert not re.search("language", text, re.IGNORECASE)


def test_the_numbers_are_those_of_languages(by_wording: Path) -> None:
    by = pj.audit(by_wording, by="rubricWording", resamples=100)
    plain = pj.audit(pj.sample_panel(), resamples=100)
    pd.testing.assert_frame_equal(by.uncertainty.to_frame(), plain.uncertainty.to_frame())
    assert "rubric wording" in repr(by)
    assert "language" not in repr(by)
    json.dumps(by.to_dict())


def test_charts_too(by_wording: Path) -> None:
    panel = pj.read_panel(by_wording, by="rubricWording")
    report = report_of(pj.audit(panel, resamples=100), panel)
    assert report is not None
    titles = {t for c in report.charts for p in draw(c) for t in re.findall('"title": "(.*?)"', json.dumps(p.spec))}
    assert titles
    assert not [t for t in titles if re.search(r"\blanguages?\b", t)]
    assert in_words_of(report, "language") is report


def test_one_of_the_two_is_enough(by_wording: Path) -> None:
    with refused(UsageError, "--by", "--language"):
        pj.read_panel(by_wording, by="rubricWording", language="rubricWording")
