"""Reports made by hand: a whole audit, and one whose every name and text is hostile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table, spread

LANGUAGES = ("English", "German", "Japanese", "Swahili", "Thai")
JUDGES = ("claude-opus-4", "gpt-5", "mistral-large", "qwen3-235b")
SYSTEMS = ("delta", "charlie", "alpha", "echo", "bravo", "foxtrot", "golf", "hotel", "india", "juliett")
WINNER = (
    "Too close to call: delta is ahead of charlie by 1.1 points [-0.8, 3.0]. About 900 tasks would settle a difference "
    "of 1 point."
)
OFF = (
    "In Thai, mistral-large scores 12.2 points [11.5, 12.9] lower, relative to the other judges, than in the other "
    "languages. Apart from this, nothing differs by more than 2."
)
HOSTILE = (
    "</script><script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "=cmd|' /C calc'!A1",
    "a|b\n# heading",
    "\x1b]52;c;ZXZpbA==\x07\u202eevil\u2028",
    "{{ 7 * 7 }}{% raw %}",
    "[x](javascript:window.hit=1) @all http://evil.example",
    "__proto__",
    "' style='position:fixed",
    "x" * 500,
)


def board(systems: tuple[str, ...] = SYSTEMS) -> Table:
    """A board whose third row has an interval that holds 0."""
    gap = -np.array([0.0, 1.1, *np.linspace(3, 20, len(systems) - 2)])
    frame = pd.DataFrame(
        {"system": systems, "mean": 64 + gap, "behind_leader": gap, "low": gap - 1.9, "high": gap + 1.9}
    )
    frame.loc[0, ["low", "high"]] = np.nan
    frame["rank_low"] = [1, 1, *range(3, len(systems) + 1)]
    frame["rank_high"] = [2, 2, *range(3, len(systems) + 1)]
    frame["may_be_best"] = frame["rank_low"] == 1
    columns = {"rank_low": "rank rank_high", "system": "name", "mean": "points", "behind_leader": "+points low high"}
    titles = {"rank_low": "rank", "behind_leader": "difference from the leader"}
    return Table("systems", "Systems (mean score, difference from the leader)", frame, columns, titles)


def off(languages: tuple[str, ...], judges: tuple[str, ...]) -> pd.DataFrame:
    """A heatmap's frame; the cell of the last language and third judge is named."""
    rng = np.random.default_rng(1)
    value = rng.normal(0, 1, (len(languages), len(judges)))
    value[-1, 2] = -12.2
    rows = [
        {"row": x, "column": j, "value": value[a, b], "low": value[a, b] - 0.7, "high": value[a, b] + 0.7,
         "beta": 0.6 * value[a, b], "mark": "named" if value[a, b] < -9 else "", "key": f"{x}|{j}"}
        for a, x in enumerate(languages) for b, j in enumerate(judges)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def charts(languages: tuple[str, ...], judges: tuple[str, ...], systems: tuple[str, ...]) -> dict[str, Chart]:
    """One chart of each kind."""
    rng = np.random.default_rng(2)
    gaps = [{"panel": x, "label": s, "value": -float(i), "low": -i - 1.0, "high": -i + 1.0, "best": i == 0}
            for x in languages for i, s in enumerate(systems)]  # fmt: skip
    ranks = [{"panel": p, "group": x, "label": j, "rank": (a + b if p == "Before" else b) % len(judges) + 1}
             for p in ("Before", "After calibrating") for a, x in enumerate(languages)
             for b, j in enumerate(judges)]  # fmt: skip
    pairs = [
        {"row": i, "column": j, "value": np.nan if i == j else rng.uniform(0.3, 0.7)} for i in judges for j in judges
    ]
    curve = [{"label": j, "x": n, "value": 40 / n**0.5, "low": 30 / n**0.5, "high": 50 / n**0.5}
             for j in judges[:2] for n in (20, 100, 500)]  # fmt: skip
    options = {"limit": 12.2, "least": 2.0}
    made = (
        Chart("board-languages", "intervals", "Systems by language", pd.DataFrame(gaps), "delta leads in all.",
              "points behind the leader", options={"zero": "leader"}),
        Chart("off", "heatmap", "Judges by language", off(languages, judges), "One pair is off.", "points",
              options=options),
        Chart("ranks", "ranks", "Ranks of the judges", pd.DataFrame(ranks), "Ranks cross before.", "language"),
        Chart("agreement", "matrix", "Agreement", pd.DataFrame(pairs), "Correlations from 0.3 to 0.7."),
        Chart("curve", "lines", "Tasks needed", pd.DataFrame(curve), "It falls.", "tasks", "points", {"log": True}),
        Chart("passes", "bars", "Pass rates", pd.DataFrame({"label": judges, "value": 40.0 + np.arange(len(judges))}),
              "From 40% up.", "% that pass"),
    )  # fmt: skip
    return {c.kind: c for c in made}


def report(
    languages: tuple[str, ...] = LANGUAGES,
    judges: tuple[str, ...] = JUDGES,
    systems: tuple[str, ...] = SYSTEMS,
    text: str = "The response is not in English.",
    findings: tuple[Finding, ...] | None = None,
    source: str = "scores.csv",
) -> Report:
    """An audit with everything that a page can show."""
    rng = np.random.default_rng(0)
    drawn = charts(languages, judges, systems)
    key = f"{languages[-1]}|{judges[2]}"
    answers = pd.DataFrame(
        {"task": [f"t{i}" for i in range(6)], "system": systems[0], "language": languages[-1], "judge": judges[2],
         "score": [20.0, 25, 30, 31, 32, np.nan], "others": 78.123, "prompt": "Summarise the notice.", "response": text,
         "reason": [text, None, "", text, text, text]}
    )  # fmt: skip
    disagree = pd.DataFrame(
        {"task": [f"t{i:02d}" for i in range(40)], "language": rng.choice(languages, 40),
         "panel": rng.uniform(0, 100, 40),
         "people": 50.0, "reason": text}
    )  # fmt: skip
    found = findings or (
        Finding("info", "winner", WINNER, "Winner", head="Too close to call"),
        Finding("notice", "judges", "They agree on which system is better (r = 0.54).", "Judges"),
        Finding("warning", "off", OFF, "Off", {"language": "Thai", "judge": "mistral-large"}),
        Finding("info", "length", "Longer responses get higher scores."),
    )
    off_table = Table("off", "Off, all pairs", drawn["heatmap"].frame,
                      {"row": "name", "column": "name", "value": "+points low high", "beta": "+points"},
                      {"row": "language", "column": "judge", "value": "off"})  # fmt: skip
    columns = {"task": "name", "language": "name", "panel": "points", "people": "points", "reason": "text"}
    people = Table("disagreements", "Where judges and people disagree", disagree, columns)
    return Report(
        command="audit",
        title=f"Audit of {source}",
        facts=("80 tasks x 10 systems x 5 languages x 4 judges: 16,000 scores from 0 to 100, none missing.",),
        findings=found,
        board=board(systems),
        next=(
            Step("polyjudge audit scores.csv --cell Thai,mistral-large", "read 10 Thai answers"),
            Step("polyjudge calibrate scores.csv -o calibrated.csv", "if you use one judge at a time"),
        ),
        sections=(
            Section("systems", "Systems", ("Every difference is taken on the same tasks.",), (), (drawn["intervals"],)),
            Section("off", "Judges by language", (OFF,), (off_table,), (drawn["heatmap"],)),
            Section("ranks", "Ranks of the judges", (), (), (drawn["ranks"],)),
            Section("agreement", "Agreement of every two judges", (), (), (drawn["matrix"],)),
            Section("people", "People", ("120 answers with human labels.",), (people,)),
            Section("plan", "How many tasks", (), (), (drawn["lines"], drawn["bars"]), open=False),
            Section("details", "Details", ("Intervals are at 95% over tasks.",)),
        ),
        drawers={key: answers, f"system|{systems[0]}": answers.drop(columns="judge")},
        spreads={key: spread({judges[2]: rng.normal(48, 9, 300), "the others": rng.normal(61, 9, 900)}, 0, 100)},
        about={"seed": 0, "level": 0.95, "input": source},
    )


def hostile() -> Report:
    """The same, with names and texts that try to be more than text."""
    findings = (Finding("warning", "off", f"Safe by name(): {HOSTILE[2]}", "Off"),)
    return report(HOSTILE[:5], HOSTILE[4:8], HOSTILE, " ".join(HOSTILE), findings, HOSTILE[0])


@dataclass(frozen=True)
class Answer(Result):
    """A result as answers make them."""

    table: pd.DataFrame
    number: float
    findings: tuple[Finding, ...]
    panel_: object = None

    def report(self) -> Report:
        """The whole audit."""
        return report()
