"""The labelling page in Chromium, offline: by keyboard, closed and resumed, exported, read back; hostile items stay
inert."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import polyjudge.second as pj

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.slow, pytest.mark.browser]

LANGUAGES = ("Arabic", "Japanese", "English")
TEXTS = {
    "Arabic": ("اشرح لماذا السماء زرقاء.", "بسبب تشتت رايلي."),
    "Japanese": ("空が青いのはなぜですか。", "レイリー散乱のためです。"),
    "English": ("Why is the sky blue?", "Because of Rayleigh scattering."),
}
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    "abc\u202egnp.exe \u2066isolate",
    "data:image/svg+xml,<svg onload=document.title='owned'> ![x](data:image/png;base64,AAAA) @@data@@",
    "x" * 1_000_000,
    "\u2028\u2029\x00\x07 {{ 7 * 7 }} <!-- <script>",
)

Make = Callable[..., Path]
Open = Callable[[Path, Path], "tuple[BrowserContext, Page, list[str]]"]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=60, languages=LANGUAGES, judges=3, seed=3)[0]


@pytest.fixture
def make(panel: pj.Panel, tmp_path: Path) -> Make:
    def made(texts: Callable[[str, int], str] | None = None, **options: Any) -> Path:
        rows = []
        for i, task in enumerate(panel.tasks):
            for language in panel.languages:
                prompt, response = TEXTS[language]
                text = texts(response, i) if texts else response
                rows.append((task, language, prompt, text, f"{text} B"))
        columns = ["task", "language", "prompt", "response", "response_b"]
        items = pd.DataFrame(rows, columns=columns).assign(response_a=lambda f: f["response"])
        folder = tmp_path / "labels"
        pj.label.make(panel, items, folder, **{"per_language": 20, "annotators": 1, "repeats": 0.0} | options)
        return folder

    return made


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a page in a browser with a profile of its own, kept between visits; errors and requests are noted."""
    contexts: list[BrowserContext] = []
    kept: dict[str, Any] = {}

    def opened(path: Path, profile: Path) -> tuple[BrowserContext, Page, list[str]]:
        key = str(profile)
        if key not in kept:
            contexts.append(
                browser.new_context(viewport={"width": 400, "height": 800}, offline=True, accept_downloads=True)
            )
            kept[key] = contexts[-1]
        page = kept[key].new_page()
        wrong: list[str] = []
        page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: wrong.append(str(e)))
        page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
        page.goto(path.as_uri(), wait_until="load")
        return kept[key], page, wrong

    yield opened
    for context in contexts:
        context.close()


def _export(page: Page, button: str, to: Path) -> Path:
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(to)
    return to


def test_twenty_items_by_keyboard_closed_resumed_exported_and_read(
    make: Make, open_page: Open, panel: pj.Panel, tmp_path: Path
) -> None:
    folder = make(ask="levels", levels=5)
    given: dict[str, list[int]] = {}
    for language in LANGUAGES:
        path = folder / "pages" / f"{language}-1.html"
        _, page, wrong = open_page(path, tmp_path / language)
        assert page.evaluate("document.documentElement.dir") == ("rtl" if language == "Arabic" else "ltr")
        assert TEXTS[language][1] in page.inner_text("#responses")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        keys = [1 + (i * 7 + len(language)) % 5 for i in range(20)]
        for key in keys[:8]:
            page.keyboard.press(str(key))
        page.keyboard.press("5")
        page.keyboard.press("u")  # the last one was a slip
        assert page.inner_text("#count") == "9 / 20"
        page.close()
        _, page, again = open_page(path, tmp_path / language)
        assert page.inner_text("#count") == "9 / 20", "it goes on where it stopped"
        for key in keys[8:19]:
            page.keyboard.press(str(key))
        page.keyboard.press("s")
        page.keyboard.press("3")
        assert page.is_visible("#done")
        # an odd name: files are known by what they hold
        _export(page, "#save" if language != "English" else "#csv",
                folder / f"came back ({language}).{'json' if language != 'English' else 'csv'}")  # fmt: skip
        assert (wrong, again) == ([], [])
        given[language] = keys[:19]
        page.close()
    found = pj.label.read(folder)
    assert found.missing == 0
    assert len(found.skipped) == 3
    assert set(found.skipped["why"]) == {"cannot"}
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    low, high = manifest["ask"]["to"]
    for language in LANGUAGES:
        mine = found.labels[found.labels["language"] == language]
        expected = sorted(low + (high - low) * (key - 1) / 4 for key in given[language])
        assert sorted(mine["score"]) == pytest.approx(expected)
    result = pj.anchor(panel, folder, resamples=20)
    assert result.humans is not None
    assert result.labels.tolist() == [19, 19, 19]


def test_the_order_of_items_is_the_manifests(make: Make, open_page: Open, tmp_path: Path) -> None:
    """The answer to the item that is on screen goes to that item, also after going back."""
    folder = make(texts=lambda text, i: f"{text} #{i}", ask="pass")
    _, page, wrong = open_page(folder / "pages" / "English-1.html", tmp_path / "p")
    seen = {}
    for i in range(20):
        text = page.inner_text("#responses .text")
        page.keyboard.press("1" if i % 3 else "2")
        seen[text.rsplit("#", 1)[1]] = bool(i % 3)
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    changed = page.inner_text("#responses .text").rsplit("#", 1)[1]
    page.keyboard.press("2" if seen[changed] else "1")
    seen[changed] = not seen[changed]
    _export(page, "#save", folder / "back.json")
    labels = pj.label.read(folder).labels
    high = labels["score"].max()
    numbers = {
        f"{int(task.removeprefix('task')) - 1}": score == high for task, score in labels[["task", "score"]].values
    }
    assert numbers == seen
    assert wrong == []


def test_a_slider_and_pairs(make: Make, open_page: Open, tmp_path: Path) -> None:
    folder = make(ask="slider")
    _, page, wrong = open_page(folder / "pages" / "Arabic-1.html", tmp_path / "a")
    page.keyboard.press("Enter")
    assert page.inner_text("#count") == "1 / 20", "an untouched slider is no answer"
    page.keyboard.press("7")
    page.keyboard.press("ArrowLeft")  # to the left is up where one reads from the right
    page.keyboard.press("Enter")
    file = json.loads(_export(page, "#save", tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [a["label"] for a in file["answers"]] == [71]
    assert wrong == []


def test_pairs_are_read_in_their_own_order(make: Make, open_page: Open, panel: pj.Panel, tmp_path: Path) -> None:
    folder = make(ask="pairs", repeats=0.2)
    _, page, wrong = open_page(folder / "pages" / "English-1.html", tmp_path / "b")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    mine = [look for look in manifest["shown"].values() if look["annotator"] == "English-1"]
    for _ in mine:
        first, second = (box.inner_text() for box in page.query_selector_all("#responses .text"))
        page.keyboard.press("3" if first.endswith(" B") else "1")  # always the response without the B
        assert first.endswith(" B") != second.endswith(" B")
    _export(page, "#save", folder / "back.json")
    labels = pj.label.read(folder).labels
    assert labels["preference"].tolist() == [1.0] * len(mine)
    assert 0 < sum(look["swapped"] for look in mine) < len(mine)
    assert {look["item"] for look in mine if look["again"]}
    assert wrong == []


def test_hostile_items_stay_text(make: Make, open_page: Open, tmp_path: Path) -> None:
    folder = make(texts=lambda text, i: HOSTILE[i % len(HOSTILE)], ask="pass", per_language=40)
    _, page, wrong = open_page(folder / "pages" / "English-1.html", tmp_path / "c")
    shown = set()
    for _ in range(40):
        shown.add(page.evaluate("document.querySelector('#responses .text').textContent.slice(0, 12)"))
        assert page.evaluate("document.querySelectorAll('#responses img, #responses script, main svg').length") == 0
        assert page.evaluate("getComputedStyle(document.querySelector('#responses .text')).unicodeBidi") == "isolate"
        page.keyboard.press("1")
    assert "owned" not in page.title()
    assert len(shown) == len(HOSTILE)
    assert wrong == []
    page.keyboard.press("PageUp")


def test_the_page_holds_nothing_that_must_stay_blind(make: Make) -> None:
    folder = make(ask="pass")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "manifest.json" and path.suffix != ".xlsx":
            text = path.read_text(encoding="utf-8")
            for item, about in manifest["items"].items():
                assert item not in text
                assert f'"{about["task"]}"' not in text
            for word in ("judge1", "probability", "stratum"):
                assert word not in text, path
