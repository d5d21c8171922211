"""Write docs/api.md: the public names in groups, each with its signature and its docstring, readable as a file."""

import inspect
import re
import sys
from pathlib import Path

import polyjudge

GROUPS = {
    "Scores in": "read_panel check Panel simulate_panel sample_panel",
    "Questions": "audit systems compare judges label anchor probe plan replay drift",
    "Calibration": "ConsensusCalibrator SparseCalibrator AnchoredCalibrator load_calibrator",
    "Reports": "read_report",
    "Errors": "PolyjudgeError PanelError",
}
"""Group -> names. A name that stands nowhere comes under "More analyses"."""
REST = "More analyses"
HEAD = """# Python interface

`import polyjudge as pj`; every name below is an attribute of `pj`. A function that takes a `panel` also takes a data
frame, a path or an Ibis table, with the column arguments of `read_panel` (`task=`, `language=`, `judge=`, ...).
Results are frozen dataclasses: `.to_frame()` is the main table, `.to_dict()` plain values for JSON, `.to_html(path)`
a page, `.charts` names what `.plot(name)` draws, and `print` shows the first screen. Wrong use raises
`PolyjudgeError`, never a bare `AttributeError`.

This page is written by `docs/make_api.py`.
"""


def first_line(thing: object) -> str:
    doc = inspect.getdoc(thing) or ""
    return " ".join(doc.split("\n\n")[0].split()).replace("|", "\\|")


def signature(name: str, thing: object) -> str:
    try:
        shown = str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    shown = re.sub(r"polyjudge\.[\w.]*\.(\w+)", r"\1", shown)
    return f"{name}{shown}"


def wrap(text: str, width: int = 110) -> str:
    """A signature over several lines, cut at its commas."""
    lines, line = [], ""
    for part in re.split(r"(?<=,) ", text):
        if line and len(line) + len(part) + 1 > width:
            lines.append(line)
            line = "    "
        line += ("" if not line.strip() else " ") + part
    return "\n".join([*lines, line])


def page() -> str:
    names = [n for n in polyjudge.__all__ if not n.startswith("__")]
    groups = {title: [n for n in text.split() if n in names] for title, text in GROUPS.items()}
    known = {n for some in groups.values() for n in some}
    rest = [n for n in names if n not in known]
    ordered = {}
    for title, some in groups.items():
        if title == "Held-out comparison" and rest:
            ordered[REST] = rest
        ordered[title] = some
    out = [HEAD]
    for title, some in ordered.items():
        out += [f"## {title}", "", "| name | what it does |", "|---|---|"]
        out += [f"| `{n}` | {first_line(getattr(polyjudge, n))} |" for n in some]
        out.append("")
    for title, some in ordered.items():
        out += [f"## {title}: in detail", ""]
        for n in some:
            thing = getattr(polyjudge, n)
            doc = re.sub(r"^>>> ", "    >>> ", inspect.getdoc(thing) or "")
            text = doc.replace("```", "'''")
            out += [f"### {n}", "", "```text", wrap(signature(n, thing)), "", text, "```", ""]
    return "\n".join(out).rstrip() + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("api.md")
    target.write_text(page(), encoding="utf-8")
