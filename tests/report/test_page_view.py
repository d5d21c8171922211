"""The page: what it holds, that it is safe and offline, and in a browser: drawers, filters, keyboard, print, axe."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_samples import HOSTILE, LANGUAGES, SYSTEMS, Answer, charts, hostile, report

from polyjudge.report import figures
from polyjudge.report.model import Chart, Finding, Report, Section, Table
from polyjudge.report.page import minus, notebook, page


def data(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


# --- without a browser ---


def test_a_page_is_small_and_asks_nothing_of_the_network():
    html = page(report())
    assert len(html) < 300_000
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=|url\(|@import|https?://", html)


def test_cards_say_few_words_large_and_the_rest_small():
    html = page(report())
    assert re.search(r'<p class="head short">Too close to call</p>\s*<p>delta is ahead of charlie by 1.1 points', html)
    given = (Finding("info", "j", "A and B agree (r = 0.5). C, D and E do not.", "Judges"),)
    assert re.search(
        r">A and B agree \(r = 0.5\)</p>\s*<p>C, D and E do not.</p>", page(replace(report(), findings=given))
    )


def test_no_sentence_is_said_twice():
    html = page(report())
    assert html.count("relative to the other judges, than in the other languages") == 1
    assert "Also found" in html
    assert "Longer responses get higher scores." in html


def test_the_board_draws_what_its_table_says():
    drawn = figures.board(report().board, None, {})
    leader, second = drawn["rows"][:2]
    assert (leader["text"], leader["best"], leader["low"]) == ("", True, None)
    assert second["text"] == "-1.1 [-3.0, +0.8]"
    assert second["low"] < second["at"] < drawn["zero"] < second["low"] + second["wide"]
    assert all(0 <= row["at"] <= 100 for row in drawn["rows"])
    assert (drawn["rows"][-1]["low"], drawn["zero"]) == pytest.approx((2.83, 93.85), abs=0.02)  # from -21.9 to 0.8
    assert [text for _, text in drawn["ticks"]] == ["-20", "-15", "-10", "-5", "0"]


def test_a_board_of_criteria_is_a_table():
    table = Table(
        "criteria", "Criteria", pd.DataFrame({"criterion": ["tone"], "r": [0.5]}), {"criterion": "name", "r": "number"}
    )
    assert figures.board(table, None, {}) is None
    assert '<td class="num" data-v="0.5">0.50</td>' in page(replace(report(), board=table))


def test_the_heatmap_has_all_numbers_and_shades_by_size():
    drawn = figures.figure(charts(LANGUAGES, ("a", "b", "c", "d"), SYSTEMS)["heatmap"], {"Thai|c": "d0"})
    named = drawn["rows"][-1]["cells"][2]
    assert (named["text"], named["shade"], named["key"]) == ("-12.2", "n5", "d0")
    assert named["hint"] == "off -12.2 [-12.9, -11.5], beta -7.32"
    every = [x for row in drawn["rows"] for x in row["cells"]]
    assert all(x["text"] for x in every)
    assert all(x["weak"] and x["shade"][-1:] in ("", "1") for x in every if abs(float(x["text"])) < 2)
    assert sum(bool(x["key"]) for x in every) == 1


def test_a_cell_that_is_missing_is_empty():
    frame = pd.DataFrame({"row": ["x", "x"], "column": ["a", "b"], "value": [np.nan, 0.0]})
    cells = figures.figure(Chart("h", "heatmap", "H", frame, "alt"))["rows"][0]["cells"]
    assert [x["text"] for x in cells] == ["", "0.00"]


def test_ranks_and_lines_lie_inside_their_areas():
    drawn = charts(LANGUAGES, ("a", "b", "c"), SYSTEMS)
    for kind in ("ranks", "lines"):
        made = figures.figure(drawn[kind])
        every = made["lines"] if kind == "lines" else [x for p in made["panels"] for x in p["lines"]]
        assert all(0 <= v <= 100 for line in every for point in line["points"] for v in point)
    assert [text for _, text in figures.figure(drawn["lines"])["across"]] == ["100"]
    ranks = figures.figure(drawn["ranks"])
    assert ranks["panels"][0]["lines"][0]["points"][0] == (10.0, 16.67)  # the first of five groups, rank 1 of 3
    assert [at for at, _ in ranks["groups"]] == [10.0, 30.0, 50.0, 70.0, 90.0]


def test_bars_begin_at_zero_and_grow_with_their_values():
    made = figures.figure(charts(LANGUAGES, ("a", "b", "c"), SYSTEMS)["bars"])
    rows = made["panels"][0]["rows"]
    assert made["bars"]
    assert not made["whole"]
    assert {row["from"] for row in rows} == {made["zero"]}
    assert rows[2]["size"] / rows[0]["size"] == pytest.approx(42 / 40, rel=0.01)


def test_one_value_and_no_values_have_an_axis():
    one = pd.DataFrame({"label": ["a"], "value": [5.0], "low": [5.0], "high": [5.0]})
    assert 0 < figures.figure(Chart("i", "intervals", "I", one, "alt"))["panels"][0]["rows"][0]["at"] < 100
    none = one.assign(value=np.nan, low=np.nan, high=np.nan)
    assert figures.figure(Chart("i", "intervals", "I", none, "alt"))["panels"][0]["rows"][0]["at"] is None


def test_numbers_have_a_true_minus():
    assert minus("x-1 -2.5 [-3, -1] 2-6 gpt-4") == "x-1 −2.5 [−3, −1] 2-6 gpt-4"


def test_drawers_are_cut_until_they_fit():
    long = pd.DataFrame({"task": [f"t{i}" for i in range(50)], "score": 1.0, "response": "long " * 2000})
    many = replace(report(), drawers={f"k{i}": long for i in range(60)})
    html = page(many)
    assert len(html) < 1_500_000
    assert data(html)["drawers"]["d7"]["answers"][0]["response"].endswith(" …")


def test_csv_is_left_to_the_files_where_it_is_large():
    big = Table("big", "Big", pd.DataFrame({"name": ["x" * 50] * 20_000}), {"name": "name"})
    html = page(Report("audit", "A", sections=(Section("s", "S", tables=(big,)),)))
    assert "big" not in data(html)["csv"]
    assert "and 19,800 more" in html
    assert len(html) < 1_500_000


def test_an_empty_report_is_a_page():
    assert "<h1>Nothing</h1>" in page(Report("check", "Nothing"))


def test_notebook_has_cards_board_and_heatmap_and_no_script():
    html = notebook(report())
    assert "<script" not in html
    assert "<button" not in html
    assert "Too close to call" in html
    assert "charlie" in html
    assert "−12.2" in html
    assert "pj.audit(&#39;scores.csv&#39;" in html
    assert Answer(pd.DataFrame(), 0.0, ())._repr_html_() == html


def test_hostile_names_are_text():
    for html in (page(hostile()), notebook(hostile())):
        assert "window.hit=1</script>" not in html
        assert "<img" not in html
        assert "{{ 7 * 7 }}" in html
        assert "\x1b" not in html
        assert "\u202e" not in html
        assert " style='position:fixed" not in html.split("<script")[0]


# --- in Chromium ---


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    """Opens a report's page and fails on errors of the console and on requests."""
    opened = []

    def show(given, **options):
        path = tmp_path_factory.mktemp("page") / "report.html"
        path.write_text(page(given), encoding="utf-8")
        tab = browser.new_page(**options)
        tab.problems = []
        tab.on("console", lambda m: tab.problems.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda e: tab.problems.append(str(e)))
        tab.on("request", lambda r: None if r.url.startswith(("file:", "blob:")) else tab.problems.append(r.url))
        tab.goto(path.as_uri())
        opened.append(tab)
        return tab

    yield show
    for tab in opened:
        tab.close()


@pytest.fixture(scope="module")
def tab(view):
    return view(report())


@pytest.fixture
def fresh_tab(tab):
    """The page as it opens."""
    tab.reload()
    yield tab
    assert tab.problems == []


def serious(tab):
    """What axe finds serious: name of the rule and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(tab).response["violations"]
    return [
        (v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.browser
def test_a_click_or_a_key_opens_the_answers(fresh_tab):
    drawer, square = fresh_tab.locator("dialog"), fresh_tab.locator("button.cell.named")
    square.click()
    assert drawer.is_visible()
    assert drawer.locator("h2").inner_text() == "mistral-large in Thai"
    assert "off −12.2 [−12.9, −11.5]" in drawer.inner_text()
    assert drawer.locator(".answer").count() == 6
    assert "mistral-large 20, the others 78.1" in drawer.inner_text()
    assert drawer.locator(".strip .bars").count() == 2
    fresh_tab.click("dialog .close")
    assert not drawer.is_visible()
    square.focus()
    fresh_tab.keyboard.press("Enter")
    assert drawer.is_visible()
    fresh_tab.keyboard.press("Escape")
    assert not drawer.is_visible()
    assert fresh_tab.evaluate("document.activeElement.classList.contains('named')")
    fresh_tab.click(".board button:has-text('delta')")
    assert drawer.locator("h2").inner_text() == "delta"


@pytest.mark.browser
def test_a_table_is_filtered_and_sorted(fresh_tab):
    table = fresh_tab.locator("table:has(caption:text('Where judges and people disagree'))")
    rows = table.locator("tbody tr:visible")
    assert rows.count() == 40
    fresh_tab.fill("input[aria-label*='people disagree']", "t07")
    assert rows.count() == 1
    fresh_tab.fill("input[aria-label*='people disagree']", "")
    head = table.locator("th:has-text('panel')")
    for direction, sign in (("ascending", 1), ("descending", -1)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        values = [sign * float(x) for x in table.locator("tbody td:nth-child(3)").all_inner_texts()]
        assert values == sorted(values)


@pytest.mark.browser
def test_a_chart_switches_to_its_numbers_and_a_table_is_saved(fresh_tab):
    chart = fresh_tab.locator("#c-board-languages")
    assert chart.locator(".numbers").bounding_box()["width"] < 5
    chart.locator("button:has-text('Numbers')").click()
    assert chart.locator(".numbers").bounding_box()["width"] > 300
    assert not chart.locator(".drawn").is_visible()
    with fresh_tab.expect_download() as waiting:
        fresh_tab.click("[data-csv=disagreements]")
    assert waiting.value.suggested_filename == "audit-disagreements.csv"
    assert len(pd.read_csv(waiting.value.path())) == 40


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "light"), (1400, "dark"), (400, "dark")])
def test_axe_finds_nothing_serious_and_letters_are_large_enough(view, width, scheme):
    languages = (*LANGUAGES, *(f"l{i}" for i in range(9))) if width == 400 else LANGUAGES  # more than fit in one row
    tab = view(report(languages), viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    for opened in (False, True):
        if opened:
            tab.locator("button.cell.named").click()
        assert serious(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    letters = """() => [...document.querySelectorAll("main *")].filter((e) => [...e.childNodes].some(
        (n) => n.nodeType === 3 && n.textContent.trim()) && parseFloat(getComputedStyle(e).fontSize) < 11).length"""
    assert tab.evaluate(letters) == 0, "letters of less than 11 pixels"
    assert tab.problems == []


@pytest.mark.browser
def test_print_is_light_and_whole(view):
    tab = view(report(), color_scheme="dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.locator("[data-csv]").first.is_hidden()
    assert tab.pdf(format="A4")[:4] == b"%PDF"


@pytest.mark.browser
def test_hostile_names_stay_text_in_the_browser(view):
    tab = view(hostile())
    for i in range(tab.locator("[data-key]").count()):
        tab.locator("[data-key]").nth(i).click()
        assert tab.locator("dialog").is_visible()
        tab.keyboard.press("Escape")
    assert tab.evaluate("window.hit") is None
    assert tab.locator("img").count() == 0
    assert tab.locator("script").count() == 2
    assert HOSTILE[0][:40] in tab.locator(".board").inner_text()
    assert tab.problems == []


@pytest.mark.browser
def test_a_large_page_opens_in_a_second(view):
    languages, judges = tuple(f"language {i}" for i in range(31)), tuple(f"judge-{i}" for i in range(20))
    tab = view(report(languages, judges, tuple(f"system {i}" for i in range(40))))
    assert tab.evaluate("performance.getEntriesByType('navigation')[0].domComplete") < 1000
    tab.click("#c-board-languages button")
    assert tab.locator("#c-board-languages details").is_hidden()
    assert tab.problems == []
