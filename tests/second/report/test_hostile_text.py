"""Names that want to be code appear as text: terminal, CSV, JSON, page, notebook and figures."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from fcntl import ioctl
from html.parser import HTMLParser
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import polyjudge.second as pj
from polyjudge.second.cli import main
from polyjudge.second.panel.labels import label, short
from polyjudge.second.questions.audit.audit import Audit
from polyjudge.second.report import charts, report_of, terminal
from polyjudge.second.report.export import chart_bytes
from polyjudge.second.report.page.render import command_line
from polyjudge.second.report.schema import pack, to_json, unpack
from refusals import refused

NAMES = (
    "</script><img src=x onerror=alert(1)>",
    "=cmd()|' /C calc'!A0 {judge} {0} {",
    "bell\x07\x1b[31mred\x00",
    "abc\u202egnp.exe",
    "\N{ROCKET} [bold]judge[/bold] :smile:",
    "x" * 200 + "1",
    "x" * 200 + "2",
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    scores = pj.simulate_panel(tasks=15, languages=7, judges=7, seed=2)[0].scores
    return pj.Panel.from_array(scores, judges=NAMES, languages=[f"{n}~" for n in NAMES])


@pytest.fixture(scope="module")
def audit(panel: pj.Panel) -> Audit:
    return pj.audit(panel, resamples=100)


def test_terminal_text_is_plain_and_narrow(audit: Audit) -> None:
    report = report_of(audit)
    assert report is not None
    text = terminal.text(report, full=True)
    assert not CONTROL.search(text)
    assert "</script><img" in text
    assert "[bold]judge[/bold] :smile:" in text
    lines = text.split("\n")
    assert max(len(line) for line in lines) <= 96
    assert [line for line in lines if line.endswith(" ")] == []


def test_short_names_that_look_alike_are_told_apart() -> None:
    shown = short(NAMES, 14)
    assert len(set(shown.values())) == len(NAMES)
    assert all(len(text) <= 14 for text in shown.values())


def test_colours_on_a_terminal_unless_no_color() -> None:
    lead, follow = pty.openpty()
    ioctl(follow, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    code = (
        "import os; import polyjudge as pj; from polyjudge.second.report import report_of, terminal; "
        "panel = pj.simulate_panel(tasks=12, languages=3, judges=3)[0]; "
        "report = report_of(pj.audit(panel, resamples=100)); "
        "terminal.show(report); print('=' * 9); os.environ['NO_COLOR'] = '1'; terminal.show(report)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=follow, stderr=subprocess.DEVNULL, env=environment | {"TERM": "xterm"}
    )
    os.close(follow)
    written = b""
    while True:
        try:
            part = os.read(lead, 65536)
        except OSError:
            break
        if not part:
            break
        written += part
    assert process.wait(60) == 0, written.decode()
    usual, without = written.decode().split("=" * 9)
    assert re.search(r"\x1b\[[0-9;]*3[0-7]", usual)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", without)
    for text in (usual, without):
        bare = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r", "")
        assert "3 judges" in bare
        lines = [line.rstrip() for line in bare.split("\n") if "polyjudge " not in line]  # commands are not broken
        assert max(map(len, lines)) <= 60


def test_output_in_ascii_does_not_fail(
    panel: pj.Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with PYTHONIOENCODING=ascii."""
    path = tmp_path / "scores.parquet"
    panel.select(languages=panel.languages[:3], judges=panel.judges[:4]).to_long().to_parquet(path)

    def run(*more: str) -> str:
        out = BytesIO()
        monkeypatch.setattr(sys, "argv", ["polyjudge", "audit", str(path), "--resamples", "100", *more])
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(out, encoding="ascii", errors="strict"))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, capsys.readouterr().err
        sys.stdout.flush()
        return out.getvalue().decode("utf-8" if "--json" in more else "ascii")  # JSON is UTF-8 whatever the terminal is

    assert "</script><img" in run("--full")
    assert json.loads(run("--json"))["summary"]["judges"] == list(NAMES[:4])


def test_files_of_an_audit(cli: Callable[..., Any], panel: pj.Panel, tmp_path: Path) -> None:
    panel.select(languages=panel.languages[:3], judges=panel.judges[:4]).to_long().to_parquet(tmp_path / "s.parquet")
    done = cli("audit", tmp_path / "s.parquet", "-o", tmp_path / "out", "--figures", "svg", "--resamples", 100)
    assert done.returncode == 0, done.stderr
    for path in (tmp_path / "out").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [c for c in cells if c[:1] in "=@\t\r" and c]
    figures = list((tmp_path / "out" / "figures").glob("*.svg"))
    assert len(figures) >= 10
    for figure in figures:
        assert_harmless(figure.read_bytes())
    kept = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8"))
    assert kept["summary"]["judges"] == list(NAMES[:4])


def assert_harmless(svg: bytes) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in ("script", "image", "foreignObject", "a", "animate", "set")
        assert not [k for k in element.attrib if k.startswith("on") or k.endswith("href")]
    assert not CONTROL.search("".join(root.itertext()).replace("\n", ""))
    return root


def test_figures_hold_names_as_text(audit: Audit) -> None:
    chart = charts.grids.interaction_heatmap(audit.uncertainty.cells)
    text = "".join(assert_harmless(chart_bytes(chart, "svg")).itertext())
    assert "</script><img src=x" in text
    assert "=cmd()" in text
    assert chart_bytes(chart, "png").startswith(b"\x89PNG")
    assert chart_bytes(chart, "pdf").startswith(b"%PDF")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_page_source_has_only_its_own_elements(audit: Audit, tmp_path: Path) -> None:
    audit.to_html(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    parser = Tags()
    parser.feed(html)
    names = [tag for tag, _ in parser.tags]
    assert names.count("script") == 4  # three with packed data, and the page's own
    pictures = [a["src"] or "" for t, a in parser.tags if t == "img"]
    assert all(p.startswith("data:image/svg+xml,") for p in pictures)  # as a picture nothing in it can run
    assert not {"iframe", "object", "embed", "form", "base"} & set(names)
    assert not [k for _, attributes in parser.tags for k in attributes if k.startswith("on")]
    assert [a["href"] for t, a in parser.tags if t in ("a", "link") and not (a["href"] or "").startswith("#")] == [
        "data:,"
    ]
    assert pj.read_report(tmp_path / "page.html")["summary"]["judges"] == list(NAMES)
    assert not CONTROL.search(html.replace("\n", "").replace("\t", ""))


def test_notebook_form_has_no_scripts(audit: Audit) -> None:
    html = audit._repr_html_()
    parser = Tags()
    parser.feed(html)
    names = [tag for tag, _ in parser.tags]
    assert "script" not in names
    sources = [a["src"] or "" for t, a in parser.tags if t == "img"]
    assert len(sources) == 1
    assert all(s.startswith("data:image/svg+xml;base64,") for s in sources)
    assert label(NAMES[3]) in html or "abc\\u202egnp.exe" in html


def test_json_holds_half_a_surrogate_pair() -> None:
    value = {"a": "</script><!-- &\u2028\u2029", "half": "\ud800"}
    to_json(value).encode()
    assert json.loads(unpack(pack(to_json(value, indent=1)))) == value


def test_half_surrogates_are_refused() -> None:
    scores = pj.simulate_panel(tasks=12, languages=2, judges=2, seed=2)[0].scores
    with refused(pj.PanelError, "judge", "surrogate"):
        pj.Panel.from_array(scores, judges=["a\ud800", "b"])


def test_the_command_on_the_page_has_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for password in ("pa:ss", "p@ss", "pa/ss", "pa ss", "p@/ s@s"):
        given = ["audit", f"postgres://me:{password}@host/db::t", "--x", "https://h/?token=abc&b=1", "a b"]
        monkeypatch.setattr(sys, "argv", ["polyjudge", *given])
        text = command_line()
        assert not [part for part in ("pa", "ss", "abc", "me:") if part in text.replace("'a b'", "")]
        assert "postgres://host/db::t" in text
        assert text.endswith(" 'a b'")
