"""Words about choosing and swapping judges."""

from polyjudge.second.panel.say import Template, Values, plural


def _keep(v: Values) -> str:
    why = {
        "budget": "the best panel for the budget",
        "matters": "the cheapest panel that tells such systems apart",
        "target": "the cheapest panel with that error",
        "noise": "no other panel is better beyond noise, and none as good is cheaper",
        "none is enough": "no panel reaches the target with these tasks; this one comes nearest",
    }[v["rule"]]
    known = "Its reliability on left-out tasks is {held_out/low/high:.2f}."
    if len(v["judges"]) == v["all"]:
        reason = "every smaller panel is less reliable" if v["rule"] == "noise" else why
        return f"Keep {'both' if v['all'] == 2 else 'all ' + str(v['all'])}: {reason}. {known}"
    money = "{cost:money} a task instead of {full:money}" if v["priced"] else "{cost} scores a task instead of {full}"
    return f"Keep {{judges}}: {why}. {known} It takes {money}."


def _language(v: Values) -> str:
    more = f" So do other panels in {v['more']} more {plural(v['more'], 'language', 'languages')}." if v["more"] else ""
    return f"In {{language}} {{judges:text}} would serve better at no higher cost.{more}"


def _where(v: Values) -> str:
    if v["kind"] == "system difference":
        return "the difference of {first} and {second} in {language}"
    if v["kind"] == "pass rate":
        return "the pass rate of {first} in {language}" if v["first"] else "the pass rate in {language}"
    return "{language} against the other languages"


def _open(v: Values) -> str:
    more = (
        " About {needed} tasks would settle it."
        if v["needed"]
        else " More tasks may not settle it: it lies at the limit."
    )
    return (
        f"Cannot tell yet whether {{into}} may replace {{out}}: {_where(v)} moves by {{change/low/high:+points}}, and "
        f"up to {{matters:.3g}} is accepted.{more}"
    )


def _blind_spot(v: Values) -> str:
    one_in = max(1, round(1 / v["blind_spot"]))
    unseen = f"Failures on fewer than 1 of {one_in} tasks would not have shown"
    guarded = " (the intervals allow for that)." if v["guard"] else " (--guard allows for that)."
    whom = "" if v["share"] < 1 else " This is for someone who uses that judge alone."
    return f"{unseen}; they could move a difference by {{blind_points:points}} points{guarded}{whom}"


WORDS: dict[str, Template] = {
    "choose.title": "Which judges to keep",
    "choose.keep": _keep,
    "choose.language": _language,
    "choose.shared-error": "This is agreement, not accuracy: an error that all judges share would not show. Labels "
    "would tell (--gold).",
    "choose.best": "Best panel of each size, all languages",
    "choose.best-language": "Best panel of each size, by language",
    "choose.frontier": "Panels that no other beats in both cost and error",
    "choose.frontier-chart": "{count} panels by cost and error; {best} of them are on the frontier.",
    "choose.searched": lambda v: (
        "Every subset was tried." if v["all"] else "More than 12 judges: judges were added one by one, the best first."
    ),
    "choose.single": "Agreement of each judge with the others, by language",
    "choose.per-cost": "The same per unit of cost, % of the best",
    "choose.groups": "Judges that agree with each other more than with the rest",
    "choose.few-for-groups": "With fewer than four judges, shared errors of two cannot be told from the third's.",
    "choose.weights": "Weights by {kind} beat equal ones on left-out tasks",
    "choose.equal": "Equal weights are as good as any on left-out tasks.",
    "choose.scope": lambda v: (
        (
            "Reliability is agreement about the systems of a task. "
            if v["systems"]
            else "There are no systems, so reliability is agreement about the tasks. "
        )
        + "Panels are measured on other tasks than they were chosen on ({level:share} intervals over tasks). "
        "Agreement is not accuracy: judges that share an error agree too, and labels decide (--gold)."
    ),
    "choose-group": "{judges} agree with each other more than with the rest (their errors correlate by "
    "{correlation/low/high:.2f}): they see more, or they share an error. Labels tell (--gold).",
    "choose-one-group": "All kept judges are of one maker or group ({group:text}): an error they share would not show.",
    "choose.heatmap-alt": "From {low:.2f} to {high:.2f}.",
    "swap.title": "May {into} replace {out}?",
    "swap.accepted": "Yes: with {into} in place of {out} nothing moves by more than {matters:.3g} points. The largest "
    "move is {change/low/high:+points}.",
    "swap.refused": lambda v: (
        f"No: with {{into}} in place of {{out}} {_where(v)} moves by {{change/low/high:+points}} points."
    ),
    "swap.open": _open,
    "swap.blind-spot": _blind_spot,
    "swap.changes": "Changes, largest first, {level:share} intervals (two one-sided tests)",
}
