"""The annotator's page in Chromium, by keyboard alone, wide and narrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.humans.draw import draw_labels
from polyjudge.answers.humans.returned import read_labels
from polyjudge.panel import Panel

WIDTHS = [(1400, 900), (400, 800)]


def drawn(folder: Path, ask: str, language: str = "en") -> Path:
    rng = np.random.default_rng(0)
    panel = Panel.from_array(
        rng.integers(1, 6, (8, 1, 1, 2)).astype(float),
        languages=[
            language,
        ],
        scale=(1, 5),
    )
    items = pd.DataFrame(
        {"task": panel.tasks, "prompt": "What is it?", "response": [f"It is {t}. " * 60 for t in panel.tasks]}
    )
    draw_labels(panel, n=4, items=items, output=folder, annotators=1, ask=ask, rubric="Is it right?\nIs it kind?")  # type: ignore[arg-type]
    return folder / f"{language}-1.html"


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts = []

    def open_(ask: str, width: tuple[int, int], language: str = "en") -> Any:
        path = drawn(tmp_path / f"{ask}{width[0]}{language}", ask, language)
        context = browser.new_context(viewport={"width": width[0], "height": width[1]}, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.wrong = []
        page.on("pageerror", lambda e: page.wrong.append(str(e)))
        page.on("console", lambda m: page.wrong.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: page.wrong.append(r.url) if not r.url.startswith(("file:", "blob:")) else None)
        page.goto(path.as_uri())
        page.folder = path.parent
        return page

    yield open_
    for context in contexts:
        context.close()


def saved(page: Any) -> dict[str, Any]:
    with page.expect_download() as got:
        page.keyboard.press("Control+s")
    path = page.folder / got.value.suggested_filename
    got.value.save_as(path)
    return json.loads(path.read_text())


def seen(page: Any) -> None:
    """What must hold at every width: nothing beyond the edge, nothing failed, nothing fetched."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in page.query_selector_all("button:visible"):
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= page.viewport_size["width"] + 1
    assert page.wrong == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_slider_rests_empty(open_page: Any, width: tuple[int, int]) -> None:
    page = open_page("slider", width)
    assert page.inner_text("#value") == "–"
    assert "empty" in page.get_attribute("#range", "class")
    assert page.inner_text("#rubric") == "Is it right?\nIs it kind?"
    page.keyboard.press("Enter")
    assert page.inner_text("#note") == "Give an answer first."
    assert page.inner_text("#count") == "1 / 4"
    seen(page)
    page.keyboard.press("7")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    assert page.inner_text("#value") == "61"
    assert page.inner_text("#note") == ""
    page.keyboard.press("Enter")
    assert page.inner_text("#count") == "2 / 4"
    assert page.inner_text("#value") == "–"  # the next one is empty again
    page.keyboard.press("PageUp")
    assert page.inner_text("#value") == "61"
    assert [a["label"] for a in saved(page)["answers"]] == [61]
    assert read_labels(page.folder).labels["label"].tolist() == [pytest.approx(1 + 0.61 * 4)]
    seen(page)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("ask", "keys", "labels"),
    [("levels", "2513", [2.0, 5.0, 1.0, 3.0]), ("pass", "1221", ["pass", "fail", "fail", "pass"])],
)
def test_all_by_keyboard(open_page: Any, width: tuple[int, int], ask: str, keys: str, labels: list[Any]) -> None:
    page = open_page(ask, width)
    assert page.query_selector("[aria-pressed=true]") is None  # nothing is chosen before the person chooses
    page.keyboard.press("Enter")
    assert page.inner_text("#note") == "Give an answer first."
    shown = page.eval_on_selector_all("#choices kbd", "found => found.map(x => x.textContent)")
    assert shown == (["1", "2", "3", "4", "5"] if ask == "levels" else ["1", "2"])
    for key in keys:
        page.keyboard.press(key)
    assert page.is_visible("#done")
    seen(page)
    made = saved(page)["answers"]
    assert len(made) == 4
    order = [x["item"] for x in made]
    tokens = page.evaluate("JSON.parse(document.getElementById('data').textContent).items.map(x => x.id)")
    assert order == tokens
    found = read_labels(page.folder)
    assert sorted(map(str, found.labels["label"])) == sorted(map(str, labels))
    assert found.missing == 0


def test_undo_skip_and_coming_back(open_page: Any) -> None:
    page = open_page("pass", WIDTHS[0])
    page.keyboard.press("1")
    page.keyboard.press("u")
    assert page.inner_text("#count") == "1 / 4"
    page.keyboard.press("s")
    assert page.is_visible("#reasons")
    page.keyboard.press("2")
    page.keyboard.press("r")
    assert not page.is_visible("#rubric")
    page.keyboard.press("1")
    page.reload()
    assert page.inner_text("#count") == "3 / 4"
    made = saved(page)["answers"]
    assert [(x["label"], x["skip"]) for x in made] == [(None, "broken"), ("pass", None)]
    assert read_labels(page.folder).skipped["why"].tolist() == ["broken"]


def test_tab_reaches_everything(open_page: Any) -> None:
    page = open_page("slider", WIDTHS[1])
    reached = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"save", "range", "confirm", "next", "skip"} <= reached


def test_a_page_from_right_to_left(open_page: Any) -> None:
    page = open_page("slider", WIDTHS[1], "ar")
    assert page.evaluate("document.dir") == "rtl"
    page.keyboard.press("5")
    page.keyboard.press("ArrowLeft")  # to the left is up
    assert page.inner_text("#value") == "51"
    seen(page)


LAYOUTS = {  # what the keys U, S, R, 2 and 3 of a Latin keyboard give there
    "Thai": {"KeyU": "ี", "KeyS": "ห", "KeyR": "พ", "Digit2": "/", "Digit3": "-"},
    "Arabic": {"KeyU": "ع", "KeyS": "س", "KeyR": "ق", "Digit2": "٢", "Digit3": "٣"},
    "Russian": {"KeyU": "г", "KeyS": "ы", "KeyR": "к", "Digit2": "2", "Digit3": "3"},
    "Hindi": {"KeyU": "ह", "KeyS": "े", "KeyR": "र", "Digit2": "२", "Digit3": "३"},
    "AZERTY": {"KeyU": "u", "KeyS": "s", "KeyR": "r", "Digit2": "é", "Digit3": '"'},
}


def type_key(page: Any, layout: str, code: str, *, control: bool = False) -> None:
    """A key of a keyboard as Chromium gets it from the system: the place of the key, and the character it gives."""
    session = page.context.new_cdp_session(page)
    event = {"code": code, "key": LAYOUTS[layout][code], "modifiers": 2 if control else 0}
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **event})
    session.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_keys_work_in_other_layouts(open_page: Any, layout: str) -> None:
    page = open_page("levels", WIDTHS[0])
    type_key(page, layout, "Digit3")
    assert page.inner_text("#count") == "2 / 4"
    type_key(page, layout, "Digit2")
    type_key(page, layout, "KeyU")
    assert page.inner_text("#count") == "2 / 4"
    type_key(page, layout, "KeyR")
    assert not page.is_visible("#rubric")
    type_key(page, layout, "KeyS")
    assert page.is_visible("#reasons")
    type_key(page, layout, "Digit2")
    with page.expect_download() as got:
        type_key(page, layout, "KeyS", control=True)
    answers = json.loads(Path(got.value.path()).read_text())["answers"]
    assert [(x["label"], x["skip"]) for x in answers] == [(3, None), (None, "broken")]
    assert page.wrong == []


def test_a_second_tab_says_so_and_loses_nothing(open_page: Any) -> None:
    page = open_page("levels", WIDTHS[0])
    page.keyboard.press("4")
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        tab.wait_for_function("document.getElementById('elsewhere').textContent !== ''")
        assert "another tab" in tab.inner_text("#elsewhere")
    assert other.inner_text("#count") == "2 / 4"
    other.keyboard.press("2")
    page.wait_for_function("document.getElementById('count').dataset.done === '2'")
    page.keyboard.press("5")
    other.wait_for_function("document.getElementById('count').dataset.done >= '2'")
    page.reload()
    labels = [x["label"] for x in saved(page)["answers"]]
    assert labels[0] == 4
    assert 5 in labels  # the later answer counts
    page.keyboard.press("u")
    page.reload()
    assert 5 not in [x["label"] for x in saved(page)["answers"]]  # what was undone does not come back


def test_a_sheet_alone_says_nothing_of_tabs(open_page: Any) -> None:
    page = open_page("levels", WIDTHS[0])
    page.keyboard.press("4")
    page.reload()
    page.wait_for_timeout(300)
    assert not page.is_visible("#elsewhere")


@pytest.mark.parametrize("ask", ["levels", "pass", "slider"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screen_readers_and_contrast(open_page: Any, ask: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(ask, WIDTHS[0])
    page.emulate_media(color_scheme=scheme)
    found = Axe().run(page).response["violations"]
    assert [(x["id"], [n["html"] for n in x["nodes"]]) for x in found] == []
    assert page.locator("h1").count() == 1
    for button, name in (("#undo", "Undo"), ("#skip", "Skip"), ("#save", "Save the file"), ("#next", "Next")):
        snapshot = page.locator(button).aria_snapshot()
        assert f'button "{name}"' in snapshot
    if ask == "levels":
        assert page.locator("#choices button").nth(0).get_attribute("aria-label") == "1, worst"
        assert page.locator("#choices button").nth(1).get_attribute("aria-label") == "2"


def test_focus_stays_on_the_answer(open_page: Any) -> None:
    page = open_page("levels", WIDTHS[0])
    for _ in range(2):
        assert page.evaluate("document.activeElement.closest('section')?.id") == "response"
        page.keyboard.press("3")


def test_two_sets_drawn_alike_share_no_answers(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(drawn(tmp_path / "a", "levels").as_uri())
    page.keyboard.press("5")
    page.goto(drawn(tmp_path / "b", "slider").as_uri())
    assert page.inner_text("#value") == "–"
    assert page.inner_text("#count") == "1 / 4"
    context.close()
