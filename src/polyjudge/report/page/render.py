"""From a page's parts to one HTML file that needs no network and runs no code but its own.

The file carries a content-security policy: nothing is loaded from anywhere, and only the two inlined scripts, named by
their hashes, run. Vega evaluates its expressions with its interpreter (`ast`), so that `eval` stays forbidden.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from polyjudge.report.charts.theme import DARK, LIGHT, SCALED, configuration
from polyjudge.report.page.model import Figure, Page, Table

VARIABLES = {name: f"var(--{name})" for name in LIGHT}


def render(page: Page) -> str:
    """The page as one HTML document."""
    scripts = [vega_script(), _file("page.js")]
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    charts = {
        "config": configuration(VARIABLES),
        "scaled": {"light": _scaled(LIGHT), "dark": _scaled(DARK)},
        "charts": {chart_id(f, i): page_spec(c) for f in page.figures for i, c in enumerate(f.charts)},
    }
    return _environment().get_template("page.html.j2").render(
        page=page,
        policy=policy,
        style=_style(),
        scripts=scripts,
        charts=json_for_script(charts),
        payload=json_for_script(page.payload),
        chart_id=chart_id,
        is_table=lambda block: isinstance(block, Table),
    )


def json_for_script(value: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def chart_id(figure: Figure, index: int) -> str:
    return f"chart-{figure.name}-{index}"


def page_spec(chart: Any) -> dict[str, Any]:
    """The specification of a chart with the page's colours in place of its own."""
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)
    for param in spec.get("params", []):
        if param["name"] in VARIABLES and param["name"] not in SCALED:
            param["value"] = VARIABLES[param["name"]]
    return spec


@cache
def vega_script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    return _inline_safe(vl_convert.javascript_bundle())


def _inline_safe(script: str) -> str:
    if "</script" in script.lower() or "<!--" in script:
        raise RuntimeError("A script that is inlined in the page would end early.")
    return script.replace("\r\n", "\n")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _scaled(colours: dict[str, str]) -> dict[str, str]:
    return {name: colours[name] for name in SCALED}


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
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
