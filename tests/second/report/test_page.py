"""The report page in Chromium, offline: drawn without an error or a request, linked, sortable, readable, printable."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

import polyjudge.second as pj
from polyjudge.second.panel.labels import label
from polyjudge.second.questions.audit.audit import Audit
from polyjudge.second.report.schema import SCHEMA

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

HOSTILE = (
    "</script><img src=x onerror=document.title='owned'>",
    "=cmd()|' /C calc'!A0",
    "bell\x07 and \x1b[31mred",
    "abc\u202egnp.exe",
    "\N{ROCKET}\N{WOMAN}\u200d\N{ROCKET}",
    "x" * 200 + "1",
    "x" * 200 + "2",
    "datum['judge'].x",
    "line\u2028separator",
    "<!--<script>",
    "{{ 7 * 7 }}",
    "حَكَم",
    "\"'><b onclick=x>",
    "審査員",
    "a.b[0]",
)

CONTRAST = """() => {
    const parse = (c) => { const d = document.createElement('canvas').getContext('2d');
        d.fillStyle = c; d.fillRect(0, 0, 1, 1); return [...d.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const line = (v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    const light = (c) => parse(c).reduce((sum, v, i) => sum + line(v / 255) * [.2126, .7152, .0722][i], 0);
    const page = getComputedStyle(document.documentElement).backgroundColor;
    const pick = (selector, key) => {
        const own = light(getComputedStyle(document.querySelector(selector))[key]);
        return (Math.max(own, light(page)) + .05) / (Math.min(own, light(page)) + .05); };
    return { body: pick('.verdict', 'color'), soft: pick('.subtitle', 'color'), link: pick('summary', 'color'),
             axis: pick('#chart-heatmap-0 .role-axis-label text', 'fill'), page: light(page) };
}"""


@dataclass
class Opened:
    """A page in the browser with what went wrong on it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def js(self, code: str, argument: Any = None) -> Any:
        return self.page.evaluate(code, argument)


def _open(contexts: list[Any], browser: Browser, path: Path, offline: bool = True, **options: Any) -> Opened:
    contexts.append(browser.new_context(viewport={"width": 1600, "height": 900}, offline=offline, **options))
    page = contexts[-1].new_page()
    opened = Opened(page)
    page.on("console", lambda m: opened.errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: opened.errors.append(str(e)))
    page.on("request", lambda r: opened.requests.append(r.url))
    page.on("dialog", lambda d: (opened.errors.append(f"dialog {d.message}"), d.dismiss()))
    page.goto(path.as_uri(), wait_until="load")
    page.wait_for_selector("html[data-drawn], html[data-failed]", state="attached", timeout=120_000)
    page.evaluate("() => document.querySelectorAll('details.fold').forEach((d) => { d.open = true; })")
    return opened


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Opened]]:
    contexts: list[Any] = []
    yield partial(_open, contexts, browser)
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def demo_page(browser: Browser, demo: Path) -> Iterator[Opened]:
    """The page of the sample, opened once. What a test chooses on it, it takes back."""
    contexts: list[Any] = []
    yield _open(contexts, browser, demo)
    contexts[0].close()


@pytest.fixture(scope="module")
def hostile_page(browser: Browser, hostile: Path) -> Iterator[Opened]:
    contexts: list[Any] = []
    yield _open(contexts, browser, hostile)
    contexts[0].close()


@pytest.fixture(scope="module")
def small_page(browser: Browser, small: Path) -> Iterator[Opened]:
    """A page in a browser that could reach the network."""
    contexts: list[Any] = []
    yield _open(contexts, browser, small, offline=False)
    contexts[0].close()


@pytest.fixture(scope="module")
def odd_page(browser: Browser, folder: Path) -> Iterator[Opened]:
    """Names that every object of JavaScript answers to, seen in the dark."""
    scores = pj.simulate_panel(tasks=8, languages=3, judges=4, seed=1)[0].scores
    names = ["constructor", "toString", "__proto__", "👩‍🔬"]
    panel = pj.Panel.from_array(scores, None, ["valueOf", "👍", "hasOwnProperty"], names)
    pj.audit(panel, resamples=100).to_html(folder / "odd.html")
    contexts: list[Any] = []
    yield _open(contexts, browser, folder / "odd.html", color_scheme="dark")
    contexts[0].close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def audit() -> Audit:
    return pj.audit(pj.sample_panel(), threshold=50, base="English", resamples=100)


@pytest.fixture(scope="module")
def demo(audit: Audit, folder: Path) -> Path:
    path = folder / "demo.html"
    audit.to_html(path)
    return path


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    panel, _ = pj.simulate_panel(tasks=10, languages=20, judges=30, seed=3)
    judges = [*HOSTILE, *(f"judge {i}" for i in range(30))][:30]
    languages = [*(f"{name} L" for name in HOSTILE), *(f"language {i}" for i in range(20))][:20]
    path = folder / "hostile.html"
    pj.audit(pj.Panel.from_array(panel.scores, judges=judges, languages=languages), resamples=100).to_html(path)
    return path


@pytest.fixture(scope="module")
def small_audit() -> Audit:
    return pj.audit(pj.simulate_panel(tasks=5, languages=2, judges=2, seed=1)[0], resamples=100)


@pytest.fixture(scope="module")
def small(small_audit: Audit, folder: Path) -> Path:
    path = folder / "small.html"
    small_audit.to_html(path)
    return path


def results(page: Page) -> Any:
    """The results that the page carries."""
    return json.loads(zlib.decompress(base64.b64decode(page.locator("#results").text_content() or "")))


def charts_drawn(opened: Opened) -> None:
    """No error, no request but for the file itself, and ink in every chart."""
    assert opened.errors == []
    assert [u for u in opened.requests if not u.startswith(("file:", "data:"))] == []
    assert len([u for u in opened.requests if u.startswith("file:")]) == 1
    marks = opened.js(
        """() => [...document.querySelectorAll('.chart')].map((c) =>
            [c.id, c.querySelectorAll('svg .mark-rect path, svg .mark-symbol path, svg .mark-line path').length])"""
    )
    assert len(marks) >= 11
    assert [name for name, count in marks if count < 2] == []


def test_demo_draws_offline_and_is_small(demo: Path, demo_page: Opened) -> None:
    charts_drawn(demo_page)
    assert demo.stat().st_size < 900_000


def test_page_is_accessible(demo_page: Opened) -> None:
    """Before any other test that touches the page: the focus is where loading leaves it."""
    opened = demo_page
    heads = opened.js("() => [...document.querySelectorAll('h1, h2, h3')].map((h) => h.tagName)")
    assert heads.count("H1") == 1
    assert heads.index("H1") == 0
    lacking = opened.js(
        """() => [
            ...[...document.querySelectorAll('.chart')].filter((c) => (c.getAttribute('aria-label') || '').length < 20),
            ...[...document.querySelectorAll('table')].filter((t) => !t.caption || !t.querySelector('th[scope=col]')),
            ...[...document.querySelectorAll('select')].filter((s) => !document.querySelector(`label[for="${s.id}"]`)),
            ...[...document.querySelectorAll('.scroll, .charts')].filter((e) => e.tabIndex !== 0),
        ].map((e) => e.id || e.className)"""
    )
    assert lacking == []
    opened.page.keyboard.press("Tab")
    assert opened.js("() => document.activeElement.className") == "skip"
    for _ in range(30):  # the filter stands after the verdict, with its chart and its commands
        opened.page.keyboard.press("Tab")
        if opened.js("() => document.activeElement.id") == "judge":
            break
    assert opened.js("() => document.activeElement.id") == "judge"


def test_hovering_a_cell_shows_its_interval(demo_page: Opened) -> None:
    opened = demo_page
    cells = opened.page.locator("#chart-heatmap-0 .mark-rect.role-mark path")
    cells.nth(10).scroll_into_view_if_needed()
    cells.nth(10).hover(force=True)
    tip = opened.page.locator("#vg-tooltip-element.visible")
    tip.wait_for(timeout=5000)
    audit = results(opened.page)
    cell = audit["uncertainty"]["cells"][10]
    text = tip.inner_text()
    assert cell["judge"] in text
    assert f"[{cell['low']:+.2f}, {cell['high']:+.2f}]" in text
    assert f"[{cell['band_low']:+.2f}, {cell['band_high']:+.2f}]" in text
    assert "55" in text


def test_choosing_a_judge_highlights_it_in_every_chart_and_table(demo_page: Opened) -> None:
    opened = demo_page
    ink = """() => [...document.querySelectorAll('.chart')].map((c) => [c.id, c.querySelector('svg').outerHTML])"""
    before = dict(opened.js(ink))
    opened.page.select_option("#judge", "Cobalt")
    after = dict(opened.js(ink))
    about_judges = {i for i in before if not any(w in i for w in ("effects-1", "variance", "gate", "held-out"))}
    assert len(about_judges) >= 7
    assert {i for i in before if before[i] != after[i]} >= about_judges
    signals = opened.js("() => [...window.polyjudge.views.values()].map((v) => v.signal('chosen'))")
    assert set(signals) == {"Cobalt"}
    rows = opened.page.locator("tr.chosen").all_text_contents()
    assert rows
    assert all("Cobalt" in row for row in rows)
    opened.page.select_option("#judge", "")
    assert dict(opened.js(ink)) == before


def test_clicking_a_mark_chooses_its_judge(demo_page: Opened) -> None:
    opened = demo_page
    cell = opened.page.locator("#chart-heatmap-0 .mark-rect.role-mark path").nth(1)
    cell.scroll_into_view_if_needed()
    cell.click(force=True)
    assert opened.page.input_value("#judge") == "Borealis"
    opened.page.select_option("#judge", "")


def test_tables_sort_by_mouse_and_keyboard(demo_page: Opened) -> None:
    opened = demo_page
    head = opened.page.locator("#reversals-table-2 thead th").nth(3)
    values = """() => [...document.querySelectorAll('#reversals-table-2 tbody tr')]
        .map((r) => parseFloat(r.cells[3].textContent))"""
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert opened.js(values) == sorted(opened.js(values))
    head.locator("button").focus()
    opened.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert opened.js(values) == sorted(opened.js(values), reverse=True)
    names = opened.page.locator("#reversals-table-2 thead th").nth(0)
    names.locator("button").click()
    column = opened.js("() => [...document.querySelectorAll('#reversals-table-2 tbody th')].map((c) => c.textContent)")
    assert column == sorted(column)


def test_rank_probabilities_follow_the_chosen_language(demo_page: Opened) -> None:
    opened = demo_page
    texts = (
        "() => [...document.querySelectorAll('#chart-rank-probabilities-0 .mark-text text')].map((t) => t.textContent)"
    )
    before = opened.js(texts)
    first = opened.page.input_value("#rank-probabilities-scope")
    opened.page.select_option("#rank-probabilities-scope", "Turkish")
    assert opened.js(texts) != before
    opened.page.select_option("#rank-probabilities-scope", first)
    assert opened.js(texts) == before


def test_nothing_is_wider_than_the_window(demo_page: Opened, hostile_page: Opened) -> None:
    for opened in (demo_page, hostile_page):
        for width in (400, 1600):
            opened.page.set_viewport_size({"width": width, "height": 900})
            assert opened.js("() => document.documentElement.scrollWidth") <= width
            small = opened.js(
                """() => [...document.querySelectorAll('p, td, th, li, .chart svg text')].filter((e) =>
                    e.textContent.trim() && parseFloat(getComputedStyle(e).fontSize) < 9.5).length"""
            )
            assert small == 0


def test_dark_and_light_have_contrast_and_print_is_light(demo_page: Opened, odd_page: Opened) -> None:
    for page, dark in ((demo_page, False), (odd_page, True)):
        found = page.js(CONTRAST)
        assert (found.pop("page") < 0.2) == dark
        assert min(found.values()) >= 4.5, found
    odd_page.page.emulate_media(media="print", color_scheme="dark")
    assert odd_page.js("() => getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert odd_page.js("() => getComputedStyle(document.querySelector('.bar')).display") == "none"
    odd_page.page.emulate_media(media="screen", color_scheme="dark")


def test_hostile_names_are_text(hostile_page: Opened) -> None:
    opened = hostile_page
    charts_drawn(opened)
    assert opened.page.title() == "Audit of 30 judges in 20 languages"
    assert (
        opened.js("() => document.querySelectorAll('main img, main b, svg image, svg script, [onclick]').length") == 0
    )
    assert opened.js("() => document.scripts.length") == 5
    options = opened.page.locator("#judge option").all_text_contents()
    assert options[1:16] == [label(name) for name in HOSTILE]
    assert len(set(options)) == 31
    text = opened.page.locator("body").inner_text()
    assert "{{ 7 * 7 }}" in text
    assert not any(c in text for c in "\u202e\x07\x1b\x00")
    drawn = opened.js(
        "() => [...document.querySelectorAll('#chart-heatmap-0 text')].map((t) => t.textContent).join(' ')"
    )
    assert "<!--<script>" in drawn
    shown = label(HOSTILE[0])
    opened.page.select_option("#judge", shown)
    assert opened.js("() => [...window.polyjudge.views.values()][0].signal('chosen')") == shown
    cell = opened.page.locator("#chart-heatmap-0 .mark-rect.role-mark path").first
    cell.scroll_into_view_if_needed()
    cell.hover(force=True)
    tip = opened.page.locator("#vg-tooltip-element.visible")
    tip.wait_for(timeout=5000)
    assert shown in tip.inner_text()
    assert tip.locator("img").count() == 0
    assert opened.errors == []
    opened.page.select_option("#judge", "")


def test_labels_do_not_overlap_on_a_large_page(hostile_page: Opened) -> None:
    overlaps = """(id) => {
        const boxes = [...document.querySelectorAll(`#${id} .role-axis-label text, #${id} .mark-text text`)]
            .filter((t) => !(t.getAttribute('transform') || '').includes('rotate('))
            .map((t) => Object.assign(t.getBoundingClientRect(), { text: t.textContent })).filter((b) => b.width);
        const found = [];
        for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
            const [a, b] = [boxes[i], boxes[j]];
            const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (x > 3 && y > 5) found.push([a.text, b.text]);
        }
        return found; }"""
    opened = hostile_page
    for chart in ("chart-rank-lines-0", "chart-effects-0", "chart-rank-probabilities-0", "chart-gaps-0"):
        assert opened.js(overlaps, chart) == [], chart


def test_the_results_can_be_saved_and_read_again(small_audit: Audit, small: Path, small_page: Opened) -> None:
    page = small_page.page
    with page.expect_download() as saved:
        page.evaluate("() => document.getElementById('save').click()")
    kept = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))
    assert kept == results(page) == pj.read_report(small)
    assert kept["summary"] == json.loads(json.dumps(small_audit.to_dict()["summary"]))


def test_charts_of_the_first_screen_are_there_before_any_script(small: Path, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(small.as_uri())
        pictures = page.locator("#verdict .chart img")
        assert pictures.count() == page.locator("#verdict .chart").count() > 0
        assert all(page.locator("#verdict .chart img").nth(i).bounding_box() for i in range(pictures.count()))


def test_small_panels_have_a_page(small_page: Opened) -> None:
    assert small_page.errors == []
    assert "failed" not in small_page.js("() => document.documentElement.dataset")


def test_a_page_is_printed(small_page: Opened) -> None:
    assert small_page.page.pdf(format="A4").startswith(b"%PDF")


def test_json_in_the_page_is_the_result(audit: Audit, demo_page: Opened) -> None:
    kept = results(demo_page.page)
    frame = {"schema": SCHEMA, "command": "audit", "polyjudge": pj.__version__}
    assert kept == json.loads(json.dumps({**frame, **audit.to_dict()}))


def test_policy_forbids_the_network_and_foreign_scripts(small_page: Opened) -> None:
    seen: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(204)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    page = small_page.page
    blocked, ran = page.evaluate(
        """async (host) => {
            const out = [];
            addEventListener('securitypolicyviolation', (e) => out.push(e.effectiveDirective));
            try { await fetch(host + '/fetch'); } catch { out.push('fetch failed'); }
            const add = (tag, more) => document.body.append(Object.assign(document.createElement(tag), more));
            add('img', { src: host + '/image' });
            add('iframe', { src: host + '/frame' });
            add('script', { src: host + '/script' });
            add('script', { textContent: 'window.ran = 1' });
            add('style', { textContent: `body { background: url(${host}/style) }` });
            for (let i = 0; i < 100 && out.length < 7; i++) await new Promise((done) => setTimeout(done, 50));
            return [out, window.ran];
        }""",
        f"http://127.0.0.1:{server.server_port}",
    )
    server.shutdown()
    two = ["img-src", "script-src-elem"]  # the picture of the style and the script without an address as well
    assert sorted(blocked) == sorted(["fetch failed", "connect-src", "frame-src", *two, *two])
    assert ran is None
    assert seen == []
    policy = page.locator("meta[http-equiv]").get_attribute("content") or ""
    assert "default-src 'none'" in policy
    assert "eval" not in policy


@pytest.mark.real_data
def test_devai_page_in_time_and_without_error(
    devai_like_path: Path, folder: Path, open_page: Callable[..., Opened], cli: Callable[..., Any]
) -> None:
    few = ("--resamples", 100)
    done = cli("audit", devai_like_path, "--replicate", "framework", *few, "-o", folder / "devai", "--json")
    assert done.returncode == 0, done.stderr
    page = folder / "devai" / "report.html"
    opened = open_page(page)
    charts_drawn(opened)
    assert page.stat().st_size < 700_000
    assert pj.read_report(page) == json.loads(done.stdout)
    code = opened.page.locator("#made code").first.inner_text()
    assert code.startswith("polyjudge audit ")
    assert str(devai_like_path) in code


def test_names_that_every_object_answers_to_draw(odd_page: Opened) -> None:
    odd_page.js("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    charts_drawn(odd_page)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_of_forty_judges_and_thirty_languages_is_small(folder: Path) -> None:
    path = folder / "large.html"
    panel, _ = pj.simulate_panel(tasks=8, languages=30, judges=40, interaction=4.0, seed=1)
    pj.audit(panel, resamples=100).to_html(path)  # 60 tasks make it smaller, 1000 resamples 1% larger
    assert path.stat().st_size < 3_000_000
