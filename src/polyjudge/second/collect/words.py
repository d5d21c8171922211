"""Words about collecting scores."""

from __future__ import annotations

from polyjudge.second.panel.numbers import money
from polyjudge.second.panel.say import Template, Values, escape, plural


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


def _look(v: Values) -> str:
    spent = "" if v["cost"] is None else " for {cost:money}"
    low, middle, high = v["ahead"]
    ahead = (
        f" Expected to follow: {middle:,.0f} calls ({low:,.0f} to {high:,.0f}){_dollars(v['money'])}." if high else ""
    )
    return (
        f"Look {{look}} of {{looks}}, {{tasks}} tasks: {{settled}} settled, {{open}} open after {{calls}} calls{spent};"
        f" {{saved}} of {{whole}} are no longer needed.{ahead}"
    )


def _dollars(value: tuple[float, float, float] | None) -> str:
    return "" if value is None else f", {money(value[1])} ({money(value[0])} to {money(value[2])})"


def _expected(v: Values) -> str:
    looks = "It looks after {looks} tasks"
    if v["calls"] is None:
        return (
            f"{looks} and stops when all is settled. To see what that would take, give earlier scores: --pilot SCORES."
        )
    low, middle, high = v["calls"]
    whole = v["whole"]
    return (
        f"Until all is settled: about {middle:,.0f} of {whole:,} calls ({low:,.0f} to {high:,.0f})"
        f"{_dollars(v['money'])}. {looks}."
    )


def _lost(refused: int, count: int) -> str:
    why = {"refused to score": refused, "could not be read": count - refused}
    return ", ".join(f"{n} {words}" for words, n in why.items() if n)


PROBLEMS = {
    "setup": "it cannot be asked as it is set up",
    "address": "nothing like a judge answers at its address. Is the server running, and is base_url right",
    "key": "its key is refused",
    "model": "its service does not know the model",
    "money": "its account has no money left, or its quota is spent",
    "rate": "its service asks to slow down. Set requests_per_minute, or a lower concurrency",
    "timeout": "it does not answer in time",
    "too long": "the prompt is too long for it",
    "no chat api": "what answers at its address is no chat API. Does base_url end as it should (/v1)",
    "error": "the call fails",
    "refuses settings": "its service refuses the settings",
    "cut": "its answer is cut before the score. Raise max_tokens",
    "refused": "it refuses to score",
    "empty": "its answer is empty",
    "off the scale": "its score is off the scale",
    "unreadable": "no score can be read from its answer",
    "no log-probabilities": "its service sends no log-probabilities, which expected scores need",
}
NOTES = {
    "no price": "its price is not known. --max-cost needs it: price: {input: 2.5, output: 10} in the plan",
    "no usage": "its service does not count tokens: its cost is an estimate",
    "slow": "it took {} s to answer",
    "other model": "another model answered: {}",
    "without": "it is asked without {}, which its service does not know",
}
OMITTED = {"structured": "a schema of the answer"}

WORDS: dict[str, Template] = {
    "collect.title": "Run: {name} in {folder:text}",
    "collect.complete": lambda v: (
        "All {calls} calls are answered."
        if not v["missing"]
        else "All {calls} calls were refused."
        if v["refused"] == v["calls"]
        else "All {calls} calls were made; {missing} gave no score."
    ),
    "collect.adaptive": _adaptive,
    "collect.parts": (
        "Judges or languages joined later: the questions are in {parts} parts, and the claims of each part hold "
        "together at {level:share}."
    ),
    "collect.left": lambda v: (
        f"{{left}} {plural(v['left'], 'call is', 'calls are')} still to be asked."
        + {"cost": " The cost limit was reached.", "interrupted": " The run was stopped."}.get(str(v["why"]), "")
        + " The same command goes on with them."
    ),
    "collect.aside": "Set aside: {judge}: {why:text}",
    "collect.failed": "{count} calls to {judge} failed after all retries.",
    "collect.dropped": "{count} items were left out: they do not align across languages.",
    "collect.next": "Audit the scores",
    "collect.uneven": "{what} are not spread evenly over the cells ({p:p}): some languages or judges lose more than "
    "others, which can bias a comparison. Look at the stored answers of the worst cells.",
    "collect.even": "{what} are spread over the cells as chance would ({p:p}).",
    "collect.plan-title": "Plan: {name}",
    "collect.plan": lambda v: (
        "{tasks} tasks ({items} items) x {languages} "
        + plural(v["languages"], "language", "languages")
        + " x {judges} "
        + plural(v["judges"], "judge", "judges")
        + ": {calls} calls"
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
    "first.title": "First calls: {name}",
    "first.all": lambda v: (
        "All {calls} first calls gave a score."
        if v["good"] == v["calls"]
        else "{good} of {calls} first calls gave a score."
    ),
    "first.problem": lambda v: (
        "{judge}"
        + (" in {languages}" if v["languages"] else "")
        + f": {PROBLEMS[v['problem']]}. It said: {{said:text}}"
    ),
    "first.note": lambda v: (
        "{judge}: " + escape(NOTES[v["note"]].replace("{}", OMITTED.get(v["value"], str(v["value"])))) + "."
    ),
    "first.offer": "Before you pay for all of it, one call per judge and language:",
    "collect.estimated": "{count} attempts came without a count of tokens; their cost is an estimate.",
    "collect.follows": "Missing answers follow the {factor:text} ({p:p}): what is left is not a fair sample.",
    "collect.missing": lambda v: (
        f"{{count}} {plural(v['count'], 'answer is', 'answers are')} missing: {_lost(v['refused'], v['count'])}."
    ),
    "collect.limit": "{cost:money} of at most {limit:money} is spent. Calls in flight are counted at the worst seen so "
    "far: the bill is over the limit by one round of them at most, here {round:money}.",
    "collect.omitted": lambda v: (
        "{judge} is asked without "
        + escape(" and ".join(OMITTED.get(w, str(w)) for w in v["what"]))
        + ": its service does not know it."
    ),
    "collect.unusable": "{judge} cannot be asked: {why:text}",
    "collect.one-rubric": "The criteria are one text for all languages: the prompts in {names:text} hold it as it is. "
    "Give it in each language (criteria: {{English: ..., Turkish: ...}}).",
    "collect.retry": "Ask for them in another way:",
    "collect.prompt": lambda v: "Prompt in {language} ({task}" + (", {part})" if v["part"] else ")"),
    "probe.made": "{rows} versions of {tasks} tasks in {languages} languages. {discarded} came out unchanged and were "
    "left out.",
    "probe.lost": "{language} lost {share:share} of its versions: its responses may be too short or too uniform.",
    "probe.short": "Too short to damage, left out: {tasks}.",
    "probe.ask": "Score them: add probes: {{path: {path:text}}} to the plan of the items. Then: polyjudge audit RUN "
    "--probes RUN",
    "adaptive.look": _look,
    "adaptive.expected": _expected,
}
