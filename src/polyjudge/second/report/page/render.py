"""From a page's parts to one HTML file that needs no network and runs no code but its own.

The file carries a content-security policy: nothing is loaded from anywhere, and only two scripts, named by their
hashes, run: the page's own, and the chart library that it unpacks. Vega evaluates its expressions with its interpreter
(`ast`), so that `eval` stays forbidden.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from polyjudge._version import __version__
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import atomic_write
from polyjudge.second.panel.labels import label, labels, redact_address, shell_line
from polyjudge.second.panel.say import word
from polyjudge.second.report import sections
from polyjudge.second.report.charts import draw
from polyjudge.second.report.charts.theme import DARK, LIGHT, SCALED, configuration
from polyjudge.second.report.charts.vega import Picture, can_draw, converter
from polyjudge.second.report.schema import pack, to_json
from polyjudge.second.report.sections import Report
from polyjudge.second.report.tables import cells, entries, left_out, numeric

LIBRARIES = ("numpy", "scipy", "pandas", "vl-convert-python")
FOLDED = 30
"""Tables with more rows than this are folded."""
PAGES = {"light": LIGHT, "dark": DARK}
VARIABLES = {name: f"var(--{name})" for name in LIGHT}


def render_report(report: Report, command: str) -> str:
    """A report as one HTML document. `command` is what makes it again."""
    library, library_hash = chart_library()
    script = _file("page.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' '{library_hash}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    pictures = {chart_id(c, i): drawn for c in report.charts for i, drawn in enumerate(draw(c))}
    shown = [b for b in (*report.picture, *report.beside) if isinstance(b, sections.Chart)]
    first = [chart_id(block, i) for block in shown for i in range(len(block.data))]
    charts = {
        "config": configuration(VARIABLES),
        "scaled": {page: {name: colours[name] for name in SCALED} for page, colours in PAGES.items()},
        "charts": {name: page_spec(drawn) for name, drawn in pictures.items()},
    }
    page = environment().get_template("page.html.j2")
    return page.render(
        report=report,
        findings=report.unsaid,
        judges=list(labels(report.judges).values()),
        facts=facts(report.facts),
        command=command,
        # One picture with a title of its own needs no caption beside it.
        titled={c.name for c in report.charts if len(c.data) == 1 and "title" in pictures[chart_id(c, 0)].spec},
        # The charts of the first screen are there before any script has run, where pictures can be made.
        drawn={name: _still(pictures[name]) for name in first} if can_draw() else {},
        policy=policy,
        style=_style(),
        script=script,
        packed={"results": pack(to_json(report.payload())), "charts": pack(to_json(charts)), "library": library},
    )


def _still(chart: Picture) -> str:
    """A chart as a picture in a data address."""
    # Ids are counted over all charts that a process draws; the page counts its own.
    svg = re.sub(r"(\d\.\d\d)\d+", r"\1", chart.svg)  # a hundredth of a pixel is enough
    svg = re.sub(r' (?:class|role|aria-[a-z]+|xmlns:xlink)="[^"]*"| opacity="1"', "", svg)  # nobody looks inside
    ids = {name: f"i{i}" for i, name in enumerate(dict.fromkeys(re.findall(r'id="([^"]+)"', svg)))}
    for name, own in ids.items():
        svg = svg.replace(f'id="{name}"', f'id="{own}"').replace(f"(#{name})", f"(#{own})")
    svg = re.sub(r"rgb\((\d+), (\d+), (\d+)\)", lambda c: "#{:02x}{:02x}{:02x}".format(*map(int, c.groups())), svg)
    if "'" not in svg:
        svg = svg.replace('"', "'")
    return "data:image/svg+xml," + quote(svg, safe=" ='/:;,.()-_~!*$@?|")


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
def chart_library() -> tuple[str, str]:
    """Vega, Vega-Lite and Vega-Embed as one script, packed, and its hash.

    A built package holds it. A checkout makes it, which takes seconds, and keeps it beside this module.
    """
    kept = Path(__file__).parents[3] / "report" / "vega.b64"
    if not kept.exists():
        script = converter().javascript_bundle("window.vegaEmbed=vegaEmbed;")
        text = f"{_hash(script)}\n{pack(script)}"
        with suppress(OSError, UsageError), atomic_write(kept) as file:
            file.write(text)
    else:
        text = kept.read_text(encoding="utf-8")
    digest, _, packed = text.partition("\n")
    return packed, digest


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
def environment() -> jinja2.Environment:
    """The templates, and what they may call."""
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    own = (word, cells, entries, left_out, numeric, chart_id)
    found.globals.update(
        {function.__name__: function for function in own},
        severity=lambda sentence: getattr(sentence, "severity", ""),
        label=lambda name: label(str(name)),
        # Labels of the judges a row is about, with tabs between them: the page highlights it with them.
        judges_of=lambda table, row: "\t".join(
            c.text for column, c in zip(table.columns, row, strict=True) if column.kind == "judge"
        ),
        is_chart=lambda block: isinstance(block, sections.Chart),
        is_grid=lambda block: isinstance(block, sections.Grid),
        fold=FOLDED,
    )
    return found


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


def command_line() -> str:
    """The command that is running, as a shell would take it, without passwords."""
    return shell_line(["polyjudge", *map(redact_address, sys.argv[1:])])
