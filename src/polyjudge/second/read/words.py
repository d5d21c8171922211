"""Words about how scores were read."""

from __future__ import annotations

from polyjudge.second.panel.labels import clean, shell
from polyjudge.second.panel.say import Template, Values, escape, names, plural

HOW = {
    "named": "as you said",
    "usual name": "by its name",
    "content": "by what it holds",
    "joins": "it joins languages",
    "nested": "by its name inside",
    "pattern": "by your pattern",
    "file name": "part of the file's name",
    "column names": "in the names of the score columns",
    "row": "each row is a task",
    "format": "the format says so",
    "only": "all scores are of one",
}
"""How a role was found."""


def _shape(v: Values) -> str:
    """Tasks x systems (column) x languages x judges (column) from where."""
    parts = ["{tasks} " + plural(v["tasks"], "task", "tasks")]
    for many, column in (("systems", "system"), ("languages", "language"), ("judges", "judge")):
        if v.get(many):
            said = v.get(column)
            named = f" ({{{column}}})" if said and said.lower() != column else ""
            parts.append(f"{{{many}}} {plural(v[many], column, many)}{named}")
    if v.get("replicates"):
        parts.append("{replicates} replicates")
    return " x ".join(parts) + (" from {source:text}" if v.get("source") else "")


def _scores(v: Values) -> str:
    missing = "none missing" if not v["missing"] else "{missing} of {entries} missing"
    absent = " {unanswered} answers of systems no judge scored." if v.get("unanswered") else ""
    return f"{{scores}} scores from {{low:.4g}} to {{high:.4g}}, {missing}.{absent}"


def _flags(role: str, columns: list[str]) -> str:
    return " or ".join(f"--{role} {shell(c)}" for c in columns[:6])


def _missing(v: Values) -> str:
    role, maybe = str(v["role"]), list(v["candidates"])
    more = ""
    if role in ("language", "judge"):
        by = f", {escape(_flags('by', v['by']))} to compare by that" if v.get("by") else ""
        more = (
            f", --{role}-from PATTERN if it stands in a file or task name{by}, or --{role}s NAME if there is only one"
        )
    hint = f"Perhaps {escape(_flags(role, maybe))}" if maybe else f"Say --{role} NAME"
    if role == "score" and len(maybe) > 1:
        more = f", or all of them as criteria: --criteria {escape(','.join(clean(c, 40) for c in maybe))}"
    return f"Which column is the {role}? {hint} ({role}=... in Python){more}."


def _map(v: Values) -> str:
    pairs = ", ".join(f"{clean(word, 30)} = {number:g}" for word, number in list(v["map"].items())[:12])
    return f"Words are read as numbers: {escape(pairs)}."


def _margins(v: Values) -> str:
    if v["systems"] > 2:
        return "Winners are read as margins: +1 for the winner, -1 for the loser, 0 for a tie, averaged over opponents."
    orders = " Both orders of showing are there; they are kept as replicates." if v["orders"] == 2 else ""
    return "Winners are read as margins: +1 where {first} won, -1 where {second} did, 0 for a tie." + orders


WORDS: dict[str, Template] = {
    "read.from": _shape,
    "read.values": _scores,
    "read.else": "Not what you meant? polyjudge check {source:text}",
    "read.above": lambda v: (
        plural(v["lines"], "The line above the header is", "The {lines} lines above the header are")
        + " skipped: {first}"
    ),
    "read.wide": "Scores stand in several columns, named {pattern}.",
    "read.map": _map,
    "read.percent": "Percent signs were dropped: 85% is 85.",
    "read.out_of": "Scores out of {most:g} are read as plain numbers: 3/{most:g} is 3.",
    "read.comma": "Commas are read as decimal commas: 1,5 is one and a half.",
    "read.absent": lambda v: "Read as missing: " + names([f"{w} ({c})" for w, c in v["words"].items()]) + ".",
    "read.margins": _margins,
    "read.unused": "Not used: {columns}.",
    "read.role_doubt": lambda v: {
        "system": "{column} is taken as the system, the thing that is judged. If it repeats a measurement: --replicate "
        "{column}.",
        "replicate": "{column} is taken as repeats of one measurement. If it is what is judged: --system {column}.",
    }.get(
        v["role"], "{column} is not used. If it repeats a measurement: --replicate {column}; if it is judged: --system."
    ),
    "read.by_position": "The same {column} is taken as the same task in every language. Are the files parallel?",
    "read.task_key": "Tests that share {column} are taken as one task in several languages.",
    "read.language_in_name": "The language is read from {column}: {pattern}.",
    "read.missing": _missing,
    "read.several": lambda v: (
        f"Several columns could be the {{role}}: {escape(_flags(str(v['role']), list(v['columns'])))}?"
    ),
    "read.lone_model": "Is {column} ({labels}) the judge, or what is judged? If it judges: --judge {column}. If it is "
    "judged: --system {column}, and name the judge: --judges NAME, or where it stands: --judge COLUMN.",
    "read.swapped": "Where {column} is true, is the winner named as shown (--swapped flip) or already turned back "
    "(--swapped keep)?",
    "read.winner": "{words} in {column} is the name of a system and also a position. Which one is meant? --winner "
    "{column}:name or --winner {column}:position.",
    "read.alike": "The {axis}s {one} and {other} may be one: they differ only in how they are written. Are they one "
    "(--alike same) or two (--alike different)?",
    "read.summary": lambda v: (
        "{labels} "
        + plural(len(v["labels"]), "looks", "look")
        + f" like a summary of the other {{axis}}s. Without it: --{v['axis']}s "
        + escape(shell(",".join(v["rest"])))
        + f". With it: name all of them in --{v['axis']}s."
    ),
    "read.scales": lambda v: (
        "Not all judges are on one scale: "
        + "; ".join(escape(f"{clean(j)} from {low:g} to {high:g}") for j, (low, high) in list(v["judges"].items())[:6])
        + "; the others from {low:g} to {high:g}. If these are two scales: --range {range} --rescale "
        + escape(shell(",".join(f"{j}={ends}" for j, ends in list(v["rescale"].items())[:6])))
        + ". If all judges use one: --range {range}."
    ),
    "read.far_column": "{columns} holds far larger numbers than the other score columns. Which columns are scores? "
    "--wide PATTERN, now {pattern}.",
    "read.stand_in": lambda v: (
        plural(v["count"], "One score is", "{count} scores are")
        + " {value:g}, far from all others. If that means no score: --map {value:g}="
    ),
    "read.no_judges": "Left out as no judges, by name or as one value throughout: {columns}. To read them as judges: "
    "--wide '{pattern}'",
    "read.metrics": "The judges gave several metrics: {metrics}. Say which one: --metric NAME.",
}
