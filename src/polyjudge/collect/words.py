"""Words about collecting scores."""

from __future__ import annotations

from polyjudge.panel.say import Template, Values, plural


def _adaptive(v: Values) -> str:
    bought = "{answered} of {calls} calls were made"
    left = f"{{open}} of {{of}} {plural(v['of'], 'question', 'questions')}"
    if not v["open"]:
        others = "" if v["answered"] == v["calls"] else "; no open question needs the others"
        return f"All {{of}} questions are settled. {bought}{others}."
    if v["finished"]:
        return f"All is bought, and {left} cannot be settled to within what matters: {{names:text}}."
    limit = "The cost limit was reached before" if v["limit"] else "The run stopped before"
    return f"{limit} look {{look}} of {{looks}}. {left} still open: {{names:text}}. {bought}; the same command goes on."


WORDS: dict[str, Template] = {
    "collect.title": "Run: {name} in {folder:text}",
    "collect.complete": "All {calls} calls are answered.",
    "collect.adaptive": _adaptive,
    "collect.left": lambda v: (
        f"{{left}} {plural(v['left'], 'call is', 'calls are')} still to be asked."
        + (" The cost limit was reached." if v["limit"] else "")
        + " The same command goes on with them."
    ),
    "collect.aside": "Set aside: {judge}: {why:text}",
    "collect.failed": "{count} calls to {judge} failed after all retries.",
    "collect.dropped": "{count} items were left out: they do not align across languages.",
    "collect.next": "Audit the scores:",
    "collect.uneven": "{what} are not spread evenly over the cells ({p:p}): some languages or judges lose more than "
    "others, which can bias a comparison. Look at the stored answers of the worst cells.",
    "collect.even": "{what} are spread over the cells as chance would ({p:p}).",
    "collect.plan-title": "Plan: {name}",
    "collect.plan": lambda v: (
        "{tasks} tasks ({items} items) x {languages} languages x {judges} judges: {calls} calls"
        + (", {answered} of them already answered." if v["answered"] else ".")
    ),
    "collect.probes": lambda v: (
        "Probes: {tasks} tasks x {versions} versions, {calls} of these calls"
        + (", {cost:money}." if v["cost"] is not None else ".")
    ),
    "collect.estimate": "Estimate (prices of {date})",
    "collect.range": "The cost lies between {low:money} and {high:money}: tokens are estimated from the text.",
    "collect.batch": "Judges in batch mode are priced as batches.",
    "collect.examples": "The plan's parser read all of its {count} example answers as it should.",
    "collect.unreviewed": "Written by a machine and not yet reviewed by a speaker: the prompts in {names:text}.",
    "collect.reason": lambda v: (
        f"{{judge}}: {{count}} {plural(v['count'], 'call', 'calls')} without an answer ({{kind:text}}): {{error:text}}"
    ),
    "collect.batches": lambda v: (
        f"{{count}} {plural(v['count'], 'batch is', 'batches are')} under way; the same command fetches what is ready."
    ),
    "collect.orphans": "{count} answers belong to judges, languages, items or repeats that the plan no longer has.",
    "collect.model": "{judge} changed during the run: the service reports {names:text}.",
    "collect.estimated": "{count} attempts came without a count of tokens; their cost is an estimate.",
    "collect.follows": "Missing answers follow the {factor:text} ({p:p}): what is left is not a fair sample.",
    "collect.missing": lambda v: (
        f"{{count}} {plural(v['count'], 'answer', 'answers')} could not be read and {plural(v['count'], 'is', 'are')} "
        "missing."
    ),
    "collect.retry": "Ask for them in another way:",
    "collect.prompt": lambda v: "Prompt in {language} ({task}" + (", {part})" if v["part"] else ")"),
}
