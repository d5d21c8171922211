"""Words of a check."""

from polyjudge.second.panel.say import Template, names, plural

WORDS: dict[str, Template] = {
    "check.title": "How {source} is read",
    "check.unclear": lambda v: (
        "It cannot be read yet: " + plural(v["questions"], "one question is", "{questions} questions are") + " open."
    ),
    "check.able": lambda v: (
        "It can be read, and "
        + names(v["commands"], 6)
        + " can answer."
        + (plural(v["doubts"], " One reading is doubtful.", " {doubts} readings are doubtful.") if v["doubts"] else "")
    ),
    "check.useless": "It can be read, but no command can answer from it.",
    "check.unable": lambda v: (
        names(v["commands"], 6)
        + (f" need a second {' and a second '.join(v['few'])}." if v["few"] else " cannot answer: {why:text}")
    ),
    "check.apart": "The languages share no tasks. If they do, name the column that says which are the same: --task.",
    "check.inside": "only what stays inside a language",
    "check.without": "without {labels}, which missing scores leave unknown",
    "check.no_systems": "there are no systems to rank",
    "check.answers": "What each command can answer",
    "check.full": "Right? Then run",
    "check.then": "Answer, and check again:",
    "check.roles": "What was taken for what",
    "check.coverage": "Tasks scored in each language by each judge, of {tasks}",
    "check.scale": lambda v: {
        "binary": "Two values: shares are shown in percentage points.",
        "likert": "A rating scale from {low} to {high}.",
        "percent": "A scale from 0 to 100.",
        "open": "An open scale.",
    }[v["scale"]],
    "formats.title": "Formats that polyjudge reads",
    "formats.tools": "Files of eval tools, recognised by content; --format NAME overrides",
    "formats.tables": "Tables: long, wide (a column per judge, language or both), or pairs with a winner",
}
