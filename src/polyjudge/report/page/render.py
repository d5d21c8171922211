"""From a page's parts to one HTML file that needs no network and runs no code but its own.

The file carries a content-security policy: nothing is loaded from anywhere, and only the two inlined scripts, named by
their hashes, run. Vega evaluates its expressions with its interpreter (`ast`), so that `eval` stays forbidden.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shlex
import sys
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from polyjudge._version import __version__
from polyjudge.panel.errors import UsageError
from polyjudge.panel.files import atomic_write
from polyjudge.panel.labels import label, labels
from polyjudge.panel.say import word
from polyjudge.report import sections
from polyjudge.report.charts import draw
from polyjudge.report.charts.theme import DARK, LIGHT, SCALED, configuration
from polyjudge.report.charts.vega import Picture, can_draw, converter
from polyjudge.report.schema import to_json
from polyjudge.report.sections import Report
from polyjudge.report.tables import Cell, cells, entries, left_out, numeric

LIBRARIES = ("numpy", "scipy", "pandas", "vl-convert-python")
SECRET = re.compile(r"(://[^:/@\s]*:)[^@/\s]+@|((?:password|passwd|token|secret|api_?key)=)[^&\s]+", re.IGNORECASE)
FOLDED = 30
"""Tables with more rows than this are folded."""
BUNDLES = {"1.9.0.post1": "373b1f84072b31010f15ceb787be6b415c53936411aae267c8c2b2b6ccde46e7"}
"""SHA-256 of the script that each version of vl-convert makes. A version that is not here is bundled every time."""
LONG = 500_000
"""JSON of more characters than this is packed."""
PAGES = {"light": LIGHT, "dark": DARK}
VARIABLES = {name: f"var(--{name})" for name in LIGHT}


def render_report(report: Report, command: str) -> str:
    """A report as one HTML document. `command` is what makes it again."""
    scripts = [vega_script(), _file("page.js")]
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    pictures = {chart_id(c, i): drawn for c in report.charts for i, drawn in enumerate(draw(c))}
    shown = [b for b in (*report.picture, *report.beside) if isinstance(b, sections.Chart)]
    first = [chart_id(block, i) for block in shown for i in range(len(block.data))]
    charts = {
        "config": configuration(VARIABLES),
        "scaled": {page: {name: colours[name] for name in SCALED} for page, colours in PAGES.items()},
        "charts": {name: page_spec(drawn) for name, drawn in pictures.items()},
    }
    drawings, payload = json_for_script(charts), json_for_script(report.payload())
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            findings=[f for f in report.findings if f not in report.verdict],
            judges=list(labels(report.judges).values()),
            facts=facts(report.facts),
            command=command,
            # The charts of the first screen are there before any script has run, where pictures can be made.
            drawn={name: _still(pictures[name]) for name in first} if can_draw() else {},
            policy=policy,
            style=_style(),
            scripts=scripts,
            charts=drawings,
            packed_charts=packed(drawings),
            payload=payload,
            packed_payload=packed(payload),
        )
    )


def _still(chart: Picture) -> str:
    """A chart as a picture in a data address."""
    # Ids are counted over all charts that a process draws; the page counts its own.
    svg = re.sub(r"(\d\.\d\d)\d+", r"\1", chart.svg)  # a hundredth of a pixel is enough
    ids = {name: f"i{i}" for i, name in enumerate(dict.fromkeys(re.findall(r'id="([^"]+)"', svg)))}
    for name, own in ids.items():
        svg = svg.replace(f'id="{name}"', f'id="{own}"').replace(f"(#{name})", f"(#{own})")
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _judges_of(table: sections.Table, row: list[Cell]) -> list[str]:
    """Labels of the judges a row is about: the page highlights it with them."""
    return [c.text for column, c in zip(table.columns, row, strict=True) if column.kind == "judge"]


def json_for_script(value: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element or start a comment."""
    text = to_json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(text: str) -> str:
    """A long text deflated and in base64, which a browser unpacks; empty for a short one."""
    if len(text) <= LONG:
        return ""
    # Mostly digits, which repeat themselves little: this way smaller than at level 9, in half the time.
    deflate = zlib.compressobj(7, memLevel=9, strategy=zlib.Z_FILTERED)
    return base64.b64encode(deflate.compress(text.encode()) + deflate.flush()).decode()


def chart_id(chart: sections.Chart, index: int) -> str:
    return f"chart-{chart.name}-{index}"


def page_spec(chart: Picture) -> dict[str, Any]:
    """The specification of a chart with the page's colours in place of its own."""
    colours = {name: value for name, value in VARIABLES.items() if name not in SCALED}
    params = [{**param, "value": colours.get(param["name"], param["value"])} for param in chart.spec["params"]]
    spec = {**chart.to_dict(), "params": params}
    del spec["config"]
    return spec


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script.

    A built package holds it. A checkout makes it, which takes seconds, so it is kept in the user's cache. What lies in
    the cache runs in every page, so it is used only when its hash is one that is known here.
    """
    packaged = Path(__file__).with_name("vega.js")
    if packaged.exists():
        return _inline_safe(packaged.read_text(encoding="utf-8"))
    vl_convert = converter()
    known = BUNDLES.get(version("vl-convert-python"))
    folder = _cache_folder()
    kept = folder / f"vega-{known[:16]}.js" if known and folder else None
    with suppress(OSError, ValueError):
        script = kept.read_text(encoding="utf-8") if kept else ""
        if known and hashlib.sha256(script.encode()).hexdigest() == known:
            return _inline_safe(script)
    script = _inline_safe(vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;"))
    if kept and hashlib.sha256(script.encode()).hexdigest() == known:
        with suppress(OSError, UsageError), atomic_write(kept) as file:
            file.write(script)
    return script


def _cache_folder() -> Path | None:
    """The user's cache, or None for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with suppress(RuntimeError):
        return Path(base or Path.home() / ".cache") / "polyjudge"
    return None


def _inline_safe(script: str) -> str:
    """The script, unless something in it would end its element early or is not what a browser hashes."""
    if "</script" in script.lower() or "<!--" in script or "\r" in script or "vegaEmbed" not in script:
        raise ValueError("This script cannot be inlined in a page.")
    return script


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _style() -> str:
    def variables(colours: dict[str, str]) -> str:
        return "".join(f"--{name}:{value};" for name, value in colours.items())

    return (
        f":root{{color-scheme:light dark;{variables(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}\n" + _file("page.css")
    )


@cache
def _file(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        word=word,
        severity=lambda sentence: getattr(sentence, "severity", ""),
        label=lambda name: label(str(name)),
        cells=cells,
        entries=entries,
        left_out=left_out,
        judges_of=_judges_of,
        numeric=numeric,
        is_chart=lambda block: isinstance(block, sections.Chart),
        is_grid=lambda block: isinstance(block, sections.Grid),
        chart_id=chart_id,
        fold=FOLDED,
    )
    return environment


def facts(settings: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Name and value of everything the numbers depend on: the settings given, and versions."""
    out = [(name, f"{value:g}" if isinstance(value, float) else str(value)) for name, value in settings.items()]
    out.append(("polyjudge", __version__))
    out.append(("python", platform.python_version()))
    for library in LIBRARIES:
        try:
            out.append((library, version(library)))
        except PackageNotFoundError:
            continue
    return tuple(out)


def command_line(arguments: Sequence[str] | None = None) -> str:
    """The command that is running, as a shell would take it, without passwords."""
    return SECRET.sub(
        lambda m: f"{m[1]}***@" if m[1] else f"{m[2]}***",
        shlex.join(["polyjudge", *(sys.argv[1:] if arguments is None else arguments)]),
    )
