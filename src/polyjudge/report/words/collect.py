"""Words about collecting scores."""

from __future__ import annotations

from polyjudge.report.words import Template, plural

WORDS: dict[str, Template] = {
    "collect.title": "Run: {name} in {folder:text}",
    "collect.complete": "All {calls} calls are answered.",
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
    "collect.estimate": "Estimate (prices of {date})",
    "collect.guess": "Tokens are guessed from the scripts of the prompts; expect them to be off by up to a third. No "
    "interval is given because the tokenizers are not known.",
    "collect.prompt": lambda v: "Prompt in {language} ({task}" + (", {part})" if v["part"] else ")"),
}
