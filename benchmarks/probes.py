"""Reading probes on planted truth: judges that see, see half, are blind, severe or competent, or follow form.

    python benchmarks/probes.py [--panels 500] [--only "all see"] [--through-server 2]
    python benchmarks/probes.py --table            # of the results that are kept, with 95% intervals (Wilson's)

60 items x 4 languages (en, ar, ko, th) x 5 judges, and probes of 30 of them: 9 versions by `make_probes`. The judges of
tests/seeing_judges.py score each text from the text alone: how many words of the clean answer are there in their
order. They answer in memory; with `--through-server` as many panels of each kind are also collected from a loopback
server by a plan with `probes:`, and must be equal, score by score.

"right" is the share of panels in which the planted cell gets its verdict, the judge that follows form is named by
placebos, or the one that scores length by padding; "confused" that in which a blind cell anywhere is called competent
or seeing, or a seeing one blind; "form" that in which a judge is said to follow form that does not, "help" that in
which one is said to be swayed by pleas or padding that is not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import polyjudge as pj
from polyjudge.collect import load_plan
from polyjudge.collect.items import load_items
from polyjudge.questions.probe.reaction import probe
from seeing_judges import Seeing, items

ITEMS, TASKS = 60, 30
LANGUAGES = ["en", "ar", "ko", "th"]
JUDGES = [f"judge{j + 1}" for j in range(5)]
SEVERE = {"shift": {"en": -25.0}}


def scenarios() -> dict[str, tuple[dict[str, Any], str | None]]:
    """Settings of judges (those not named see), and the verdict of judge1 in the first language."""
    others = {name: {"sees": {"en": 0.0}} for name in JUDGES[1:]}
    half = dict.fromkeys(LANGUAGES, 0.5)
    return {
        "all see, judge1 severe in one language": ({"judge1": SEVERE}, "severity"),
        "judge1 sees half, severe in one language": ({"judge1": {**SEVERE, "sees": half}}, "severity"),
        "judge1 blind in one language": ({"judge1": {**SEVERE, "sees": {"en": 0.0}}}, "blind"),
        "judge1 competent where the others are blind": ({"judge1": SEVERE, **others}, "competence"),
        "judge2 follows form (8 points)": ({"judge2": {"placebo": 8.0}}, None),
        "judge2 scores length alone": (
            {"judge2": {"sees": dict.fromkeys(LANGUAGES, 0.0), "length": 40.0}}, None,
        ),
    }  # fmt: skip


def configuration(judges: dict[str, Any], seed: int) -> dict[str, Any]:
    return {"seeing": {"seed": seed, "judges": {name: judges.get(name, {}) for name in JUDGES}}}


def write_plan(folder: Path, url: str) -> Path:
    """The plan that a user would write: items, a rubric, judges, and probes."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = items(ITEMS, LANGUAGES)
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    plan = {
        "languages": LANGUAGES,
        "items": {"path": "items.jsonl"},
        "rubric": {"kind": "rating", "scale": [0, 100]},
        "probes": {"tasks": TASKS},
        "defaults": {"base_url": url, "concurrency": 32, "price": {"input": 1, "output": 2}},
        "judges": [{"name": j, "model": f"openai-api/local/{j}"} for j in JUDGES],
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder / "plan.json"


class Texts:
    """Items and versions of the plan, and the panels that judges give them in memory."""

    def __init__(self, plan: Path) -> None:
        aligned = load_items(load_plan(plan))
        self.first = aligned.first_version or 0
        found = [aligned.item(place) for place in range(len(aligned))]
        self.items = [(item.name.task, item.fields) for item in found[: self.first]]
        self.tasks = list(dict.fromkeys(item.name.task for item in found[self.first :]))
        self.versions = list(dict.fromkeys(item.name.system for item in found[self.first :]))
        self.probes = {(item.name.task, item.name.system): item.fields for item in found[self.first :]}

    def panels(self, judges: Seeing) -> tuple[pj.Panel, pj.Panel]:
        """The probes and the items."""

        def row(task: str, fields: Any) -> list[list[float]]:
            texts = {x: fields[x]["response"].strip() for x in LANGUAGES}
            return [[judges.score(judge, task, x, texts[x]) for judge in JUDGES] for x in LANGUAGES]

        probes = [[row(t, self.probes[t, v]) for v in self.versions] for t in self.tasks]
        names: dict[str, Any] = {"languages": LANGUAGES, "judges": JUDGES, "declared_range": (0.0, 100.0)}
        own = np.array([row(task, fields) for task, fields in self.items], float)
        return (
            pj.Panel.from_array(np.array(probes, float), tasks=self.tasks, systems=self.versions, **names),
            pj.Panel.from_array(own, tasks=[task for task, _ in self.items], **names),
        )


def read(texts: Texts, judges: dict[str, Any], wanted: str | None, seed: int) -> dict[str, bool]:
    """What one panel shows."""
    config = configuration(judges, seed)
    probes, audited = texts.panels(Seeing(config))
    result = probe(probes, audit=audited)
    cells = result.cells
    sight = dict(zip(zip(cells["language"], cells["judge"], strict=True), cells["sight"], strict=True))
    truth = {(x, j): config["seeing"]["judges"][j].get("sees", {}).get(x, 1.0) for x in LANGUAGES for j in JUDGES}
    verdict = cells[(cells["language"] == "en") & (cells["judge"] == "judge1")]["verdict"].iloc[0]
    competent = set(zip(*(cells.loc[cells["verdict"] == "competence", c] for c in ("language", "judge")), strict=True))
    helped = result.susceptibility
    named = {
        "placebo": set(result.judges.loc[result.judges["false"], "judge"]),
        "length": set(helped.loc[helped["rises"] & (helped["kind"] == "padding"), "judge"]),
    }
    followers = {name for name, entry in judges.items() if "placebo" in entry or "length" in entry}
    due = {name: {judge for judge in judges if name in judges[judge]} for name in named}
    swayed = set(helped.loc[helped["rises"], "judge"]) - followers
    return {
        "right": verdict == wanted if wanted is not None else all(due[name] <= named[name] for name in named),
        "confused": any(
            (sight[cell] == "blind" and sees == 1) or (sees == 0 and (sight[cell] == "sees" or cell in competent))
            for cell, sees in truth.items()
            if not followers
        ),
        "form": bool(named["placebo"] - followers),
        "help": bool(swayed),
    }


def table(out: dict[str, Any]) -> str:
    """The results for docs/probes.md."""
    from scipy.stats import binomtest

    lines = ["| judges | panels | right | confused | accused of form | of pleas or length |", "|" + "---|" * 6]
    for name, found in out.items():
        n = found["panels"]
        shares = [(found[key], binomtest(round(found[key] * n), n).proportion_ci(method="wilson"))
                  for key in ("right", "confused", "form", "help")]  # fmt: skip
        cells = [f"{p:.0%} [{low:.0%}, {high:.0%}]" for p, (low, high) in shares]
        lines.append(f"| {name} | {n} | {' | '.join(cells)} |")
    return "\n".join(lines)


def through_server(folder: Path, panels: int) -> int:
    """Collects panels from a server; how many, all of them equal to those in memory (else an error)."""
    from judge_server import running
    from polyjudge.collect import collect
    from polyjudge.read import read_panel, read_probes

    count = 0
    os.environ["LOCAL_API_KEY"] = "a-key-for-loopback"
    with running(configuration({}, 0)) as server:
        plan = write_plan(folder / "served", server.url)
        texts = Texts(plan)
        for number, (judges, _) in enumerate(scenarios().values()):
            for seed in range(panels):
                config = configuration(judges, seed)
                server.set(**config)
                run = folder / f"run-{number}-{seed}"
                collect(load_plan(plan), run)
                probes, audited = texts.panels(Seeing(config))
                for served, direct in ((read_probes(run), probes), (read_panel(run), audited)):
                    part = served.select(systems=direct.systems) if direct.systems else served
                    mine, theirs = (x.to_long().sort_values([*x.to_long().columns][:-1]) for x in (direct, part))
                    assert (mine.to_numpy() == theirs[mine.columns].to_numpy()).all(), (number, seed)
                count += 1
                print(f"through the server: {count} panels equal", flush=True)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=500)
    parser.add_argument("--through-server", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    kept = Path(__file__).with_name("results") / "probes.json"
    if options.table:
        print(table(json.loads(kept.read_text())))
        return
    out: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        if options.through_server:
            through_server(Path(folder), options.through_server)
        texts = Texts(write_plan(Path(folder) / "direct", "http://127.0.0.1:1/v1"))
        for name, (judges, wanted) in scenarios().items():
            if options.only not in name:
                continue
            begun = time.perf_counter()
            found = [read(texts, judges, wanted, seed) for seed in range(options.panels)]
            out[name] = {"panels": options.panels} | {
                key: round(float(np.mean([f[key] for f in found])), 4) for key in found[0]
            }
            print(name, json.dumps(out[name]), f"({time.perf_counter() - begun:.0f} s)", flush=True)
            kept.write_text(json.dumps({n: out[n] for n in scenarios() if n in out}, indent=1) + "\n")


if __name__ == "__main__":
    main()
