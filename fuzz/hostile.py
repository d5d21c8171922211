"""Every command on hostile names, odd and damaged files, odd options and hard places; and ended at any moment.

    python fuzz/hostile.py --seed 1 --cases 300        one of its units again: --seed 1 --only "odd 3"
    python fuzz/hostile.py --mutants                   plants faults in the reader: each must be found

A case is a command in a process of its own. It may not end with a traceback or a code that is not ours, hang, take more
than its budget and 500 MB, change an input, leave half a file, show a planted name raw, or read another panel than the
planted one without a word.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import traceback
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import typer

sys.path.extend(str(Path(__file__).resolve().parents[1] / x) for x in ("tests", "tools"))
from commands import DAMAGED, NAMES, ODD, PLACES, PLANS, WRITERS, Bench, fill, hard_places, stamp  # noqa: I001
from harmless import bombs, harm, hostile, odd_file, world, write, wrong_in

from polyjudge import cli
from polyjudge.read.long import Long
from polyjudge.read import panels as reader


def lines(text):
    return [line.split() for line in text.replace("\n", "|").split("|")]


# --- units: what is tried ---


def plain(bench):
    """What commands need, made once and copied into the folder: word -> path."""
    files = {
        "S": "s.csv",
        "CAL": "cal.json",
        "LABELS": "l.csv",
        "ITEMS": "i.jsonl",
        "PLAN": "p.json",
        "WEIGHTS": "w.csv",
    }
    made = Path(tempfile.gettempdir()) / f"hostile-{os.getpid()}"
    if not made.exists():
        kept, bench.folder = bench.folder, made
        world(made, random.Random(2), hostile=lambda rng, what: what)
        (made / "w.csv").write_text("judge,weight\nJ1,1\nJ2,0.5\n")
        bench.run(["calibrate", "s.csv", "--save", "cal.json"], codes=(0,))
        bench.run(["label", "make", "s.csv", "--items", "i.jsonl", "-n", "3", "-o", "labels"], codes=(0,))
        fill(made / "labels")
        bench.folder = kept
    folder = bench.folder / "has"
    shutil.copytree(made, folder)
    return {k: str(folder / f) for k, f in {**files, "FOLDER": "labels"}.items()}


def names(bench, rng) -> None:
    """All commands on scores whose judge, language, task, system, columns, files and folder are hostile."""
    place = hostile(rng, "f").replace("/", "_").encode()[:150].decode("utf-8", "ignore")
    has = world(bench.folder / place, rng) | {"O": str(bench.folder / "o")}
    (bench.folder / "o").mkdir()
    for words in lines(NAMES):
        words = [has["JUDGE"] + w[5:] if w.startswith("JUDGE=") else named(w, has) for w in words]
        done = bench.run(words, watch=[has[k] for k in ("S", "LABELS", "ITEMS", "PLAN")], real=rng.random() < 0.1)
        if words[:2] == ["label", "make"] and done[0] == 0:
            fill(bench.folder / "o" / "labels")
    for path in (p for p in (bench.folder / "o").rglob("*") if p.is_file() and p.name not in ("c.csv", "c2.jsonl")):
        for what in wrong_in(path):
            if not what.startswith("raw") or "labels" not in str(path):  # annotators see texts in their direction
                bench.find(f"{what} in {path.name}", more=str(path.relative_to(bench.folder)))


def named(word, has):
    head, mark, rest = word.partition("/" if "/" in word else "::")
    return has.get(head, head) + mark + has.get(rest, rest)


def odd(bench, rng) -> None:
    """A planted panel with one odd thing in a file: read as it is, with a word where that is not sure, or refused."""
    made, to = odd_file(bench.folder, rng), bench.folder.with_suffix(".panel")
    words = ["check", made.source, *(["--drop", ",".join(made.options["drop"])] if made.options else []), "--json"]
    code = bench.run(words, watch=[made.source], read=(made, to))[0]
    found = json.loads(to.read_text()) if to.exists() else {"refused": "nothing was read"}
    to.unlink(missing_ok=True)
    wrong = made.wrong(found) or (
        f"exit {code}, in Python {found}"[:300] if ("refused" in found) != (code == 2) else ""
    )
    if wrong:
        bench.find(wrong, words)


def damage(bench, rng) -> None:
    """Damaged tables of every format, calibrators, labels, plans, items and weights."""
    has = plain(bench)
    has["T"] = write(pd.read_csv(has["S"], dtype=str), bench.folder, rng)[0]
    what, *words = rng.choice(lines(DAMAGED))
    target = Path(has[what])
    harm(rng.choice(sorted(target.iterdir())) if target.is_dir() else target, rng)
    bench.run([has.get(w, w) for w in words], watch=has.values())


def options(bench, rng) -> None:
    """Odd values of the options of every command."""
    has = plain(bench)
    words = rng.choice(lines(NAMES + "|" + WRITERS + "|check S|audit S|demo"))
    words = words[: 1 + (words[0] in ("label", "paper", "audit"))]
    words = ["audit", "S"] if words[:1] == ["audit"] else words
    command = typer.main.get_command(cli._app(words))
    for word in words[: 1 + (words[0] in ("label", "paper"))]:
        command = getattr(command, "commands", {}).get(word, command)
    needs = {"apply": "S CAL", "drift": "S S", "collect": "PLAN", "read": "FOLDER", "demo": ""}
    words = [*words[: 1 + (words[0] in ("label", "paper"))], *needs.get(command.name, "S").split()]
    flags = [p for p in command.params if p.param_type_name == "option" and p.name not in ("engine", "help")]
    for p in rng.sample(flags, min(rng.randint(1, 3), len(flags))):
        writes = p.name in ("output", "output_folder", "save", "junit", "write")
        odd = rng.choice(("x", "x.csv", "a/b/x", "x.jsonl", "")) if writes else rng.choice(ODD)
        words += [p.opts[-1]] if p.is_flag else [p.opts[-1], odd]
    words += ["--replicates", "100"] if command.name in ("compare", "report") and "--replicates" not in words else []
    words += ["--dry-run"] if command.name == "collect" else []
    bench.run([has.get(w, w) for w in words], watch=has.values())


def places(bench, rng) -> None:
    """Outputs that are inputs, links, devices, pipes, folders of others; full disks; folders that nobody may write."""
    has, folder = plain(bench), bench.folder
    spots = hard_places(folder, has["S"])
    hard = rng.choice(("", "", "", "disk", "stdout", "nobody"))
    has["T"] = "new" if hard in ("disk", "nobody") else rng.choice(spots)
    words, before = [has.get(w, w) for w in rng.choice(lines(PLACES))], stamp(folder)
    how = {"most": 3000 * (hard == "disk"), "nobody": hard == "nobody", "outputs": "/dev/full" * (hard == "stdout")}
    code = bench.run(
        words,
        watch=[has[k] for k in ("S", "CAL", "FOLDER")] + [folder / "mine", folder / "mine.txt", folder / "device"],
        **how,
    )[0]
    if code == 2 and hard != "stdout" and stamp(folder) != before:
        bench.find("a command that failed left something", words, str(set(os.listdir(folder))))


def bomb(bench, rng) -> None:
    """Small files that grow, never end, or nest without end; plans of the same kind."""
    for path in bombs(bench.folder):
        bench.run([rng.choice(("check", "audit")), str(path)], watch=[path])
        path.unlink()
    for text in PLANS:
        (bench.folder / "plan.yaml").write_text(text)
        bench.run(["collect", "plan.yaml", "--dry-run"], codes=(2,))


def kill(bench, rng) -> None:
    """A command that writes is ended at a random moment: the old or the new is there, whole."""
    has, place, line = plain(bench), bench.folder / "to", rng.choice(lines(WRITERS))
    words = [has.get(w, w) if w[0] != "T" else str(place) + w[1:] for w in line]
    if any(w.startswith("T/") for w in line):
        place.mkdir()
    took, number = (
        bench.run(words, real=True, codes=(0, 1))[3],
        rng.choice((signal.SIGTERM, signal.SIGINT, signal.SIGKILL)),
    )
    old, beside = stamp(place), set(os.listdir(bench.folder))
    end = (rng.uniform(0.1, 1.05) * took, number)
    bench.run(words, real=True, end=end, watch=has.values(), codes=(0, 1, 130, 143, -number))
    left = [p for p in (*bench.folder.rglob(".*.part"), *bench.folder.rglob("*.old")) if number != signal.SIGKILL]
    for when in ("after", "again after"):
        if stamp(place) != old or left:
            bench.find(f"not whole {when} {number.name}", words, f"{left} {sorted(p.name for p in place.rglob('*'))}")
        bench.run(words, real=True, codes=(0, 1))
    if set(os.listdir(bench.folder)) != beside:
        bench.find(f"left by {number.name} and a run after it", words, str(set(os.listdir(bench.folder)) - beside))


def nothing(*given, **more) -> None:
    """A check that is not made."""


def zero(*given):
    """What was missing is 0."""
    return tuple(None if y is None else np.nan_to_num(y) for y in AVERAGE(*given))


def light(*given, **more):
    """Each unit counts once."""
    return replace(HASHED(*given, **more), weight=[])


AVERAGE, HASHED = reader._average, Long.with_indicator


MUTANTS = (  # what is planted, the unit that finds it, where, and in whose place
    ("rows that failed count", odd, "polyjudge.read.scale.failed_sql", nothing),
    ("sentinels are scores", odd, "polyjudge.read.scale.check_range", nothing),
    ("scales are not compared", odd, "polyjudge.read.scale.check_scales", nothing),
    ("rows of means are tasks", odd, "polyjudge.read.panels._without_summaries", nothing),
    ("3 and 3.0 are two tasks", odd, "polyjudge.read.panels._one_spelling", nothing),
    ("people are judges", odd, "polyjudge.read.panels._people_among_judges", lambda work, entries, people: people),
    ("repeats are averaged", odd, "polyjudge.read.panels._refuse_repeats", nothing),
    ("missing is 0", odd, "polyjudge.read.panels._average", zero),
    ("hashed units lose their weight", odd, "polyjudge.read.long.Long.with_indicator", light),
    ("names are shown raw", names, "polyjudge.base.text.visible", lambda text, keep="": text),
    ("an output may be an input", places, "polyjudge.base.files.check_apart polyjudge.read.write.check_apart", nothing),
    ("columns of other numbers are judges", odd, "polyjudge.read.columns.NO_SCORE", re.compile("$^")),
)  # fmt: skip


def unit(bench, what, number, seed) -> None:
    bench.name = f"{what.__name__} {number}"
    bench.folder = Path(tempfile.mkdtemp(prefix="hostile-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    os.chmod(bench.folder, 0o755)
    try:
        what(bench, random.Random(f"{seed} {bench.name}"))
    except Exception:
        bench.find("a fault of this script", more=traceback.format_exc())
    shutil.rmtree(bench.folder, ignore_errors=True)


def load() -> None:
    """All modules, once, before processes begin that may not read them."""
    for key in cli.COMMANDS:
        cli._function(key)
    bench = Bench()
    bench.folder = Path(tempfile.mkdtemp())
    has = plain(bench)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        for line in ("check S", "audit S -o T --junit T/x", "calibrate S -o T/c.csv"):
            cli._run([has.get(w, w.replace("T", f"{bench.folder}/to")) for w in line.split()])


def mutants(seed) -> int:
    """Plant faults in the reader, and see that each is found."""
    missed = 0
    for what, kind, target, instead in MUTANTS:
        bench = Bench()
        with ExitStack() as stack:
            for place in target.split():
                stack.enter_context(mock.patch(place, instead))
            number = 0
            while not bench.findings and number < 400:
                unit(bench, kind, number := number + 1, seed)
        missed += not bench.findings
        found = f"found, {bench.findings[0][0][:80]}" if bench.findings else "MISSED"
        print(f"{what}: {found} ({bench.cases} cases)", flush=True)
    return int(missed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--only", default="", help="one unit, such as 'odd 3'")
    parser.add_argument("--mutants", action="store_true", help="plant faults in the reader: each must be found")
    asked = parser.parse_args()
    load()
    if asked.mutants:
        return mutants(asked.seed)
    bench, rng, every = Bench(), random.Random(asked.seed), (names, bomb, kill, odd, damage, options, places)
    if asked.only:
        kind, number = asked.only.split()
        unit(bench, next(f for f in every if f.__name__ == kind), int(number), asked.seed)
    else:
        for i in range(asked.kills):
            unit(bench, kill, i, asked.seed)
        killing, number = bench.cases, 0
        while bench.cases - killing < asked.cases:
            draw = rng.choices((odd, damage, options, places), (55, 20, 12, 13))[0]
            unit(bench, bomb if number == 5 else names if number % 80 == 0 else draw, number, asked.seed)
            number += 1
            if number % 50 == 0:
                print(f"{bench.cases} cases, {len(bench.findings)} findings", file=sys.stderr, flush=True)
    ended = f"at most {bench.peak} MB and {bench.slowest:.0f} s; exit codes {dict(sorted(bench.codes.items()))}"
    print(f"seed {asked.seed}: {bench.cases} cases, {len(bench.findings)} findings, {ended}")
    for what, name, words, more in bench.findings:
        print(f"\n{what}\n  again: --seed {asked.seed} --only '{name}'\n  polyjudge {words}\n  {more}")
    return int(bool(bench.findings))


if __name__ == "__main__":
    sys.exit(main())
