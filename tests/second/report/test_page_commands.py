"""Every command that writes a report: the page draws, its JSON is that of --json, figures are saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import polyjudge.second as pj
from refusals import lacks

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

COMMANDS = {
    "demo": ("demo",),
    "gate": ("audit", "SCORES", "--at", "50", "--sweep", "30:70:10", "--base", "English", "--resamples", "100"),
    "drift": ("drift", "CALIBRATOR", "SCORES", "--fail-on", "never"),
    "plan": ("plan", "--from", "SCORES"),
    "separate": ("plan", "--from", "SYSTEMS", "--separate", "3"),
    "systems": ("systems", "SYSTEMS", "--resamples", "100"),
    "compare": ("compare", "SCORES", "--methods", "raw,cbc,oracle,per-language norm", "--resamples", "100"),
    "preferences": ("anchor", "MARGINS", "CHOICES", "--resamples", "100"),
    "scores": ("anchor", "SCORES", "GOLD", "--resamples", "100"),
}


@pytest.fixture
def run_here(cli: Callable[..., Any]) -> Callable[..., str]:
    """Run a command that succeeds and give what it prints."""

    def run(*arguments: object) -> str:
        done = cli(*arguments)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    return run


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    panel = pj.sample_panel()
    rng = np.random.default_rng(1)
    panel.to_long().to_parquet(folder / "scores.parquet")
    gold = panel.to_long().groupby(["task", "language"], sort=False)["score"].mean().reset_index()
    gold["score"] = (gold["score"] + rng.normal(0, 4, len(gold))).clip(0, 100)
    gold.to_csv(folder / "gold.csv", index=False)
    margins = panel.to_long().groupby(["task", "language", "judge"], sort=False)["score"].mean().reset_index()
    margins["score"] = (margins["score"] - 50).round()
    margins.to_parquet(folder / "margins.parquet")
    choices = gold.assign(preference=np.sign(gold["score"] - 50).astype(int)).drop(columns="score")
    choices.to_csv(folder / "choices.csv", index=False)
    pj.ConsensusCalibrator().fit(panel).save(folder / "cal.json")
    systems, _ = pj.simulate_panel(30, 3, 4, systems=4, seed=1)
    systems.to_long().to_csv(folder / "systems.csv", index=False)
    names = {"SCORES": "scores.parquet", "GOLD": "gold.csv", "MARGINS": "margins.parquet", "CHOICES": "choices.csv"}
    names |= {"CALIBRATOR": "cal.json", "SYSTEMS": "systems.csv"}
    return {key: folder / name for key, name in names.items()}


@pytest.fixture(scope="module")
def narrow(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A window as wide as that of a telephone, for one page after the other, and the errors of all of them."""
    page = browser.new_page(viewport={"width": 400, "height": 800}, offline=True)
    errors: list[str] = []
    page.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    yield page, errors
    page.close()


@pytest.fixture
def open_page(narrow: tuple[Page, list[str]]) -> Callable[[Path], Page]:
    """A page drawn without an error."""
    page, errors = narrow

    def opened(path: Path) -> Page:
        errors.clear()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn], html[data-failed]", state="attached", timeout=60_000)
        assert errors == []
        return page

    return opened


@pytest.mark.parametrize("name", COMMANDS)
def test_page_of(
    name: str,
    inputs: dict[str, Path],
    tmp_path: Path,
    open_page: Callable[[Path], Page],
    run_here: Callable[..., str],
) -> None:
    arguments = [str(inputs.get(part, part)) for part in COMMANDS[name]]
    printed = run_here(*arguments, "-o", tmp_path / "out", "--json")
    page = open_page(tmp_path / "out" / "report.html")
    drawn = page.evaluate(
        "() => [...document.querySelectorAll('.chart')].map((c) => c.querySelectorAll('svg path').length)"
    )
    assert drawn
    assert all(count > 3 for count in drawn)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert pj.read_report(tmp_path / "out" / "report.html") == json.loads(printed)
    assert page.locator(".verdict").count() >= 1
    text = page.locator("main").inner_text()
    assert not [word for word in ("nan", "NaN", "None", "<NA>") if f" {word}" in text]


def test_an_incomplete_panel_has_a_page_that_says_what_is_missing(
    tmp_path: Path, open_page: Callable[[Path], Page]
) -> None:
    scores = np.array(pj.simulate_panel(tasks=30, languages=4, judges=4, seed=3)[0].scores)
    scores[np.random.default_rng(0).random(scores.shape) < 0.1] = np.nan
    panel = pj.Panel.from_array(scores)
    audit = pj.audit(panel, resamples=100)
    assert audit.variance is None
    audit.to_html(tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    page.evaluate("() => document.querySelectorAll('details.fold').forEach((d) => { d.open = true; })")
    missing = int(np.isnan(panel.scores).sum())
    assert not lacks(page.locator("#panel").inner_text(), missing, 480)
    assert page.locator("#variance table, #variance svg").count() == 0


def test_figures_in_all_formats_from_charts_that_are_compiled_once(
    inputs: dict[str, Path], tmp_path: Path, run_here: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page and figures in three formats share the picture."""
    import vl_convert

    compiled: list[str] = []

    def counted(spec: Any, **more: Any) -> str:
        compiled.append(json.dumps(spec, sort_keys=True, default=str))
        return str(real(spec, **more))

    real = vl_convert.vegalite_to_svg
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", counted)
    sweep = ("--at", 50, "--sweep", "30:70:10", "--resamples", 100)
    run_here("audit", inputs["SCORES"], *sweep, "-o", tmp_path, "--figures", "svg,png,pdf")
    assert len(compiled) == len(list((tmp_path / "figures").glob("*.svg"))) > 0
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for form, start in starts.items():
        assert (tmp_path / "figures" / f"gate-spread.{form}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("more", "words"), [(["--figures", "gif", "-o", "OUT"], "svg, png, pdf"), (["--figures", "svg"], "-o DIR")]
)
def test_bad_figures_are_refused_before_the_work(
    more: list[str], words: str, inputs: dict[str, Path], tmp_path: Path, cli: Callable[..., Any]
) -> None:
    arguments = [part.replace("OUT", str(tmp_path / "out")) for part in more]
    done = cli("audit", inputs["SCORES"], "--at", 50, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_same_command_gives_the_same_bytes(
    tmp_path: Path, run_here: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel, _ = pj.simulate_panel(tasks=12, languages=3, judges=3, interaction=20.0, seed=1)  # with a scale of colours
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        panel.to_long().to_csv("scores.csv", index=False)
        run_here("audit", "scores.csv", "--resamples", 100, "-o", "out")
    pages = [(tmp_path / folder / "out" / "report.html").read_bytes() for folder in ("a", "b")]
    assert pages[0] == pages[1]
