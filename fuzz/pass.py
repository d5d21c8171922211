"""A pass over every command and every reader with hostile names, broken files, odd options and hard places.

    python fuzz/pass.py --cases 2500 --seed 1        again one unit of it: --only "names 3"

Each case is a command in a process of its own. None may end with a traceback, hang, leave its exit codes, take more
memory than its budget and 500 MB, show a planted name raw, run it, change what is not its own, or give other numbers
for the same scores. Kills at random moments leave the old output or the new one (--kills 100).
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import re
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pandas as pd
from attempts import Bench, stamp
from killing import kills
from material import (
    READS,
    fill_sheets,
    filled,
    hostile,
    hostile_file,
    of_bytes,
    of_json_text,
    score_probes,
    write_formats,
    write_world,
)

QUICK = ("--resamples", "100")
HALF = 0.15
"""Share of cases that are programs of their own; the others are forks of one that has loaded all modules."""


class World:
    """Clean material, made once, that every unit may read and none may change. Kills alone need none of our outputs."""

    def __init__(self, folder: Path, outputs: bool) -> None:
        self.folder = folder
        self.files = write_world(
            folder / "plain", lambda axis: {"column": "judge", "system column": "system"}.get(axis, f"plain {axis}")
        )
        if not outputs:
            return
        self.formats = write_formats(folder / "formats")
        bench = Bench(folder)
        scores, place = self.files["scores"], folder / "plain"
        for line in (
            ("calibrate", scores, "-o", place / "calibrated.csv", "--save", place / "cal.json"),
            ("audit", scores, *QUICK, "-o", place / "audit"),
            ("check", scores, "--save", place / "reading.json"),
            (
                "label",
                "make",
                scores,
                "--items",
                self.files["items.jsonl"],
                "-o",
                place / "labels",
                "--per-language",
                5,
            ),
            ("collect", self.files["plan.json"], "-o", place / "run"),
            ("probe", "make", self.files["items.jsonl"], "-o", place / "probes.jsonl", "--tasks", 6),
        ):
            done = bench.run(*line)
            assert done.code == 0, (line, done.err)
        self.calibrated = values(place / "calibrated.csv")


def values(path: Path) -> list[float]:
    return [round(x, 9) for x in pd.read_csv(path)["calibrated"]]


# --- names ---


NAMES = """
check SCORES --judge COLUMN --save HERE/reading.json
check SCORES --judge COLUMN --json
check SCORES --reading HERE/reading.json
report: audit SCORES --resamples 100 --at 50 --judge COLUMN
audit SCORES --resamples 100 --judge COLUMN --cell CELL
audit SCORES --resamples 100 --judge COLUMN --judges JUDGE,Borealis
report: systems SYSTEMS --resamples 100 --judge COLUMN --system SCOLUMN
report: audit SYSTEMS --resamples 100 --judge COLUMN --system SCOLUMN
report: compare SCORES --resamples 30 --judge COLUMN
report: judges SCORES --prices PRICES --resamples 100 --judge COLUMN
report: judges SCORES --swap Borealis=JUDGE --judge COLUMN
report: anchor SCORES GOLD --resamples 100 --judge COLUMN
report: anchor SCORES --trusted JUDGE --resamples 100 --judge COLUMN
calibrate SCORES -o OUT/c.csv --save HERE/cal.json --judge COLUMN
calibrate SCORES --method sparse -o OUT/c.jsonl --judge COLUMN --json
calibrate SCORES --labels GOLD --save OUT/anchored.json --judge COLUMN
calibrate SCORES --extend HERE/cal.json --save OUT/wider.json --judge COLUMN
apply HERE/cal.json SCORES -o OUT/c2.csv --judge COLUMN
apply HERE/cal.json SCORES -o OUT/c2.xlsx --judge COLUMN
report: drift HERE/cal.json SCORES --judge COLUMN
report: drift OUT/4/audit.json OUT/4
report: plan --from SCORES --prices PRICES --judge COLUMN
report: plan --replay SCORES --first 8 --judge COLUMN
report: plan --from SCORES --labels GOLD --half-width 5 --judge COLUMN
label make SCORES --judge COLUMN --items ITEMS -o HERE/labels --per-language 5
label make SCORES --judge COLUMN -o OUT/labels2 --rubric TEXT
label read HERE/labels -o OUT/labels.csv
label read HERE/labels --json
report: anchor SCORES --labels HERE/labels --resamples 100 --judge COLUMN
label make SCORES --judge COLUMN -o HERE/labels --more --per-language 3
probe make ITEMS -o HERE/probes.jsonl --tasks 6
report: probe read HERE/probed.csv --audit HERE/probed.csv
collect PLAN --dry-run
collect PLAN -o HERE/run
collect -o HERE/run --json
collect -o HERE/run --export OUT/run.csv
report: audit HERE/run --resamples 100
paper report SCORES --resamples 100 -o OUT/paper --judge COLUMN
demo --write FILE.csv
refused: audit HERE --judge COLUMN
refused: audit SCORES --task TEXT
refused: audit SCORES --TEXT
refused: TEXT
refused: audit TEXT
refused: audit SCORES --at TEXT --judge COLUMN
refused: calibrate SCORES --method TEXT --save OUT/x.json --judge COLUMN
calibrate SCORES --mark 50 -o OUT/m.csv --column TEXT --judge COLUMN
refused: drift HERE/none SCORES
refused: audit SCORES --map TEXT=1,x --judge COLUMN
refused: audit SCORES::TEXT
refused: audit SCORES --judge COLUMN -o SCORES
judges SCORES --judge COLUMN --families TEXT
"""
"""Commands whose words in capitals have hostile names. "report": with every output, and as JSON."""


def names(bench: Bench, world: World, rng: random.Random) -> None:
    """Every command on scores whose judge, language, task, system, column, file, folder and criterion are hostile."""
    held: dict[str, str] = {}
    folder, out = bench.folder / hostile_file(rng, ""), bench.folder / "out"
    files = write_world(folder, lambda axis: held.setdefault(axis, hostile(rng, axis)))
    places = {key.split(".")[0].upper(): value for key, value in files.items()}
    places |= {"HERE": str(folder), "OUT": str(out), "JUDGE": held["judge"], "SCOLUMN": held["system column"]}
    places |= {"CELL": f"{held['language']},{held['judge']}", "FILE": str(bench.folder / hostile_file(rng, ""))}
    inputs = [Path(places[key]) for key in ("SCORES", "SYSTEMS", "GOLD", "PRICES", "ITEMS")]
    for number, line in enumerate(NAMES.strip().splitlines(), 1):
        kind, _, rest = line.rpartition(": ")
        words = _named(rest.split(), {**places, "TEXT": hostile(rng, "text")})
        real = rng.random() < HALF
        if kind == "report":
            to, junit = out / str(number), out / f"{number}.xml"
            bench.run(*words, "--full", "-o", to, "--junit", junit, watch=inputs, out=to, real=real)
            if junit.exists():
                bench.look_into(junit, set(), words)
            words.append("--json")
        to = Path(words[words.index("-o") + 1]) if "-o" in words and words[0] != "calibrate" else None
        shown = to if to is not None and to.suffix != ".csv" and words[0] != "apply" else None
        bench.run(*words, watch=inputs, out=shown, codes=(2,) if kind == "refused" else (0, 1, 2), real=real)
        if rest.startswith("label make") and "HERE" in rest and "--more" not in rest and (folder / "labels").exists():
            fill_sheets(folder / "labels", rng)
        if rest.startswith("probe make") and (folder / "probes.jsonl").exists():
            score_probes(folder / "probes.jsonl", folder / "probed.csv", held["judge"], rng)
        if "c.csv" in rest and (out / "c.csv").exists() and values(out / "c.csv") != world.calibrated:
            bench.find("other numbers for the same scores under other names", words)


def _named(words: list[str], places: Mapping[str, str]) -> list[str]:
    """Words with hostile names for those in capitals, also inside a word."""
    return [re.sub(r"[A-Z]{4,}", lambda m: places.get(m[0], m[0]), word) for word in words]


# --- damage ---


def damage(bench: Bench, world: World, rng: random.Random) -> None:
    """Damaged copies of files of every format, and of everything else that is read."""
    formats = world.folder / "formats"
    for _ in range(25):
        source, *more = rng.choice(sorted(world.formats.values()))
        place = bench.folder / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        first = Path(source.split("::")[0])
        while first.parent != formats:
            first = first.parent
        copy_of = place / first.name
        shutil.copytree(first, copy_of) if first.is_dir() else (place.mkdir(), shutil.copy(first, copy_of))
        files = sorted(p for p in copy_of.rglob("*") if p.is_file()) if copy_of.is_dir() else [copy_of]
        _damage(rng, rng.choice(files))
        words = [source.replace(str(first), str(copy_of)), *more]
        command = rng.choice(
            [
                ("check",),
                ("check", "--json"),
                ("calibrate", "--save", bench.folder / "c.json"),
                ("audit", *QUICK),
                ("calibrate", "-o", bench.folder / f"o.{rng.choice(['csv', 'jsonl'])}"),
            ]
        )
        bench.run(command[0], *words, *command[1:], "--overwrite", watch=[copy_of], real=rng.random() < HALF / 3)


def _damage(rng: random.Random, path: Path) -> None:
    body = path.read_bytes()
    if path.suffix in (".json", ".jsonl", ".yaml") and rng.random() < 0.7:
        path.write_bytes(of_json_text(rng, body.decode()))
    else:
        path.write_bytes(of_bytes(rng, body))


OTHERS = """
cal.json                apply HERE/cal.json SCORES -o OUT.csv
cal.json                drift HERE/cal.json SCORES
cal.json                calibrate SCORES --extend HERE/cal.json --save OUT.json
audit/audit.json        drift HERE/audit/audit.json PLAIN/audit/audit.json
audit/audit.json        drift PLAIN/audit/audit.json HERE/audit
audit/report.html       drift HERE/audit/report.html PLAIN/audit/audit.json
plan.json               collect HERE/plan.json --dry-run
plan.json               collect HERE/plan.json -o OUT
items.jsonl             collect HERE/plan.json --dry-run
items.jsonl             probe make HERE/items.jsonl -o OUT.jsonl
items.jsonl             label make SCORES --items HERE/items.jsonl -o OUT
run/store.sqlite        audit HERE/run --resamples 100
run/store.sqlite        collect -o HERE/run
run/store.sqlite        collect HERE/plan.json -o HERE/run
labels/manifest.json    label read HERE/labels
labels/manifest.json    anchor SCORES --labels HERE/labels --resamples 100
labels/manifest.json    label make SCORES -o HERE/labels --more
labels/back             label read HERE/labels --json
labels/back             anchor SCORES --labels HERE/labels --resamples 100
reading.json            check SCORES --reading HERE/reading.json
reading.json            audit SCORES --reading HERE/reading.json --resamples 100
prices.csv              judges SCORES --prices HERE/prices.csv --resamples 100
prices.csv              plan --from SCORES --prices HERE/prices.csv
gold.csv                anchor SCORES HERE/gold.csv --resamples 100
gold.csv                calibrate SCORES --labels HERE/gold.csv --save OUT.json
gold.csv                plan --from SCORES --labels HERE/gold.csv --half-width 4
audit/.polyjudge.json   audit SCORES --resamples 100 -o HERE/audit
scores.csv              paper report SCORES --resamples 100 -o OUT
systems.csv             systems HERE/systems.csv --resamples 100
systems.csv             judges HERE/systems.csv --resamples 100
"""
"""What is damaged, and a command that reads it."""


def damaged_others(bench: Bench, world: World, rng: random.Random) -> None:
    """Calibrators, audits, plans, items, stores, label folders, readings, prices and labels of humans."""
    plain, here = world.folder / "plain", bench.folder / "world"
    for number in range(20):
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(plain, here)
        fill_sheets(here / "labels", rng)
        target, *words = rng.choice(OTHERS.strip().splitlines()).split()
        path = here / target
        path = rng.choice(sorted(path.iterdir())) if path.is_dir() else path
        _damage(rng, path)
        written = any(word == f"HERE/{target.split('/')[0]}" for word in words)  # the folder may be gone on with
        places = {"HERE": here, "PLAIN": plain, "OUT": bench.folder / f"out{number}", "SCORES": here / "scores.csv"}
        bench.run(*filled(words, places), watch=[plain] if written else [path, plain], real=rng.random() < HALF / 3)


def bombs(bench: Bench, world: World, rng: random.Random) -> None:
    """Small files that grow, never end, or nest without end."""
    import duckdb
    from test_hostile_files import BOMBS

    for name, make in BOMBS.items():
        path = make(bench.folder / name)
        bench.run("check", f"{path}::v" if name.startswith("view") else path, watch=[path], codes=(2,))
    head = b"task,language,judge,score\n" + b"".join(
        b"t%d,%s,%s,3\n" % (t, x, j) for t in range(9) for x in (b"en", b"de") for j in (b"a", b"b")
    )
    texts = {
        "zero.csv.gz": gzip.compress(head + bytes(300_000_000)),
        "spaces.jsonl.gz": gzip.compress(b" " * 300_000_000),
        "late.csv.gz": gzip.compress(head * 3000) + gzip.compress(b"\n" * 400_000_000),
        "twice.csv.gz": gzip.compress(gzip.compress(head)),
        "deep.json": b"[" * 1_000_000,
        "deep2.json": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "deep.csv": b'"' * 3_000_000,
        "line.csv": head + b"x" * 30_000_000,
        "columns.csv": b",".join(b"c%d" % i for i in range(9000)) + b"\n" + b",".join(b"1" for _ in range(9000)),
        "digits.csv": head.replace(b",3\n", b"," + b"9" * 5000 + b"\n"),
        "label.csv": head.replace(b"t1,", b"t" * 100_000 + b","),
        "unicode.csv": head.replace(b"t1,", "\U0001f469\u200d".encode() * 400 + b","),
    }
    for name, body in texts.items():
        path = bench.folder / name
        path.write_bytes(body)
        bench.run("audit", path, *QUICK, watch=[path])
        path.unlink()
    laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
    )
    for text in (laughs, "[" * 50_000, "a: !!python/object/apply:os.system ['touch owned']", "&a [*a]", "? " * 20_000):
        (bench.folder / "plan.yaml").write_text(text)
        bench.run("collect", bench.folder / "plan.yaml", "--dry-run", codes=(2,))
    for statement in (
        "CREATE VIEW v AS SELECT * FROM range(1000000000) t(task), range(100000) u(score)",
        "CREATE VIEW v AS SELECT * FROM read_csv('/etc/passwd')",
        f"CREATE VIEW v AS SELECT * FROM read_text('{world.files['scores']}')",
        "CREATE VIEW v AS SELECT repeat('x', 2000000000) AS task, 'en' AS language, 'j' AS judge, 1 AS score",
    ):
        path = bench.folder / "v.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as db:
            db.execute(statement)
        bench.run("check", f"{path}::v", watch=[path], codes=(2,))
    trap = bench.folder / "trap.sqlite"
    with sqlite3.connect(trap) as db:
        pd.read_csv(world.files["scores"]).to_sql("scores", db, index=False)
        db.execute("CREATE TRIGGER owned AFTER UPDATE ON scores BEGIN DELETE FROM scores; END")
        db.execute("CREATE VIEW v AS SELECT *, load_extension('/tmp/owned') FROM scores")
    bench.run("check", f"{trap}::scores", watch=[trap], codes=(0,))
    bench.run("check", f"{trap}::v", watch=[trap], codes=(2,))
    run = bench.folder / "run"
    shutil.copytree(world.folder / "plain" / "run", run)
    with sqlite3.connect(run / "store.sqlite") as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f"CREATE TRIGGER owned_{table} AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END")
    bench.run("collect", world.files["plan.json"], "-o", run)


# --- options ---

ODD = """nan inf -inf -1 0 1 2 1e308 -1e308 1e-320 \u0661\u0662 0x10 1_000 -- - \x1b[2J %s a=b a=b,c = , ,,, 0:100
100:0 : 50 nan:nan 1:1e999 {judge} {x} { * [ (?P<a true null 1;2 \u202eowned 0.5 1e9"""
VALUES = [*ODD.split(), "", " ", "9" * 400, "x" * 70_000, "$(touch owned)"]


def options(bench: Bench, world: World, rng: random.Random) -> None:
    """Odd values, wrong kinds of files and odd combinations of the options of every command."""
    from typer.main import get_command

    from polyjudge.cli import app, commands

    commands.register(app)
    tree: Any = get_command(app)
    every = [((name,), c) for name, c in tree.commands.items() if not hasattr(c, "commands")]
    every += [((n, m), d) for n, c in tree.commands.items() if hasattr(c, "commands") for m, d in c.commands.items()]
    plain = world.folder / "plain"
    sources = [
        *sorted(str(p) for p in plain.rglob("*") if p.is_file()),
        *(str(plain / n) for n in ("", "run", "labels")),
    ]
    for _ in range(25):
        words, command = rng.choice(every)
        given = [*words]
        for p in command.params:
            if p.param_type_name == "argument":
                usual = str(plain / USUAL[p.metavar]) if p.metavar in USUAL else rng.choice(choices(p) or ["devai"])
                given.append(usual if rng.random() < 0.85 else rng.choice([*VALUES[:20], *sources]))
        flags = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        for p in rng.sample(flags, min(rng.randint(1, 4), len(flags))):
            given += [p.opts[-1]] if p.is_flag else [p.opts[-1], _value(p, bench.folder, sources, rng)]
        given += ["--offline"] if "reproduce" in given else []
        bench.run(*given, watch=[*_mine(bench.folder), plain], real=rng.random() < HALF / 2)


USUAL = {
    **dict.fromkeys(("SCORES", "SCORES|NEW"), "scores.csv"),
    **dict.fromkeys(("CAL", "CAL|OLD"), "cal.json"),
    **{"PLAN": "plan.json", "DIR": "labels", "GOLD": "gold.csv", "ITEMS|SCORES": "items.jsonl"},
}
"""What an argument names."""


def _value(p: Any, folder: Path, sources: list[str], rng: random.Random) -> str:
    if p.name in ("output", "save", "junit", "write", "export", "folder", "page", "translations"):
        return str(
            folder / rng.choice(["new", "a/b/new", "mine.txt", "mine", "fifo", "null", "new.csv", "new.parquet"])
        )
    if p.name in ("engine", "base_url", "translate", "send_key"):  # nothing here may ask anybody
        return rng.choice(("duckdb", "", "x"))
    if p.name == "resamples":
        return rng.choice(("100", "0", "-5", "x"))
    if choices(p) and rng.random() < 0.8:
        return rng.choice(choices(p))
    return rng.choice(VALUES if rng.random() < 0.75 else sources)


def choices(parameter: Any) -> list[str]:
    """Values that a parameter offers, as its help shows them."""
    kind = parameter.bare_type
    return [e.value for e in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _mine(folder: Path) -> list[Path]:
    """Files, a folder, a device and a pipe of the user, which no output may replace."""
    if not (folder / "fifo").exists():
        (folder / "mine.txt").write_text("mine")
        (folder / "mine").mkdir()
        (folder / "mine" / "notes").write_text("mine")
        os.mkfifo(folder / "fifo")
        (folder / "null").symlink_to("/dev/null")
    return [folder / n for n in ("mine.txt", "mine", "fifo", "null")]


# --- places ---


WRITES = """
audit SCORES --resamples 100 -o NEW
calibrate SCORES -o NEW.csv
calibrate SCORES --save NEW.json
demo --write NEW.csv
check SCORES --save NEW.json
label make SCORES --per-language 3 -o NEW
collect PLAIN/plan.json -o NEW
audit SCORES --resamples 100 --junit NEW.xml
probe make PLAIN/items.jsonl -o NEW.jsonl
paper report SCORES --resamples 100 -o NEW
"""


def places(bench: Bench, world: World, rng: random.Random) -> None:
    """Pipes and devices as inputs, places that cannot be read or written, limits, closed outputs, odd surroundings."""
    plain, folder = world.folder / "plain", bench.folder
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    named = {"SCORES": plain / "scores.csv", "PLAIN": plain, "OUT": folder / "out"}
    odd = (pipe, "/dev/zero", "/dev/null", folder, "/proc/self/mem", "/etc/shadow", folder / "none", "/dev/stdin")
    for what in odd:
        for line in READS.strip().splitlines():
            if rng.random() < 0.35:
                words = filled(line.split(), {**named, "WHAT": what})
                bench.run(*words, watch=[plain, pipe], real=rng.random() < HALF / 3)
    for line in WRITES.strip().splitlines():
        _hard_outputs(bench, plain, line.split(), named, rng)
    _surroundings(bench, plain / "scores.csv", rng)


def _hard_outputs(bench: Bench, plain: Path, line: list[str], named: dict[str, Any], rng: random.Random) -> None:
    """A sealed folder, a file of mode 600, one of somebody else, a full disk, and limits."""
    root = bench.folder / f"hard{rng.random()}"
    for name in ("sealed", "small"):
        (root / name).mkdir(parents=True, mode=0o755)
    for parent in (bench.folder, *bench.folder.parents):
        if str(parent).startswith(tempfile.gettempdir() + "/"):
            parent.chmod(parent.stat().st_mode | 0o755)
    (root / "sealed").chmod(0o555)
    ending = line[-1].removeprefix("NEW")

    def run(place: str, watch: tuple[Path, ...] = (), **how: Any) -> Any:
        return bench.run(*filled(line, {**named, "NEW": root / place}), watch=[plain, *watch], **how)

    run("sealed/x", (root / "sealed",), user=65534, env={"HOME": "/nonexistent"})
    secret, other = root / f"secret{ending}", root / f"other{ending}"
    if ending:
        secret.touch(0o600)
        run("secret")
        if stat.S_IMODE(secret.stat().st_mode) != 0o600:
            bench.find("mode 600 was opened", line)
    other.write_text("mine, not yours")
    run("other", (other,), codes=(2,))
    small = root / "small"
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode == 0:  # only root may
        try:
            (small / "mine").write_text("mine")
            run("small/x", (small / "mine",), env={"TMPDIR": str(root)})
            if [p for p in small.iterdir() if p.name.endswith(".part")]:
                bench.find("a part was left on a full disk", line)
        finally:
            subprocess.run(["umount", "-l", small], check=True)
    run("big", limits={resource.RLIMIT_FSIZE: 2000}, real=True)
    run("few", limits={resource.RLIMIT_NOFILE: rng.choice((12, 20, 40))}, real=True)
    run("as", limits={resource.RLIMIT_AS: rng.choice((1, 2, 3, 4)) << 30}, real=True)


LINES = """
audit SCORES --resamples 100
check SCORES
demo
check --formats
--help
audit --help
audit SCORES --resamples 100 -o OUT
audit SCORES --resamples 100 --json
audit none
calibrate SCORES --save OUT.json
"""
SURROUNDINGS = """
LC_ALL=C PYTHONUTF8=0;PYTHONIOENCODING=ascii;COLUMNS=1;COLUMNS=-5;COLUMNS=x;TERM=dumb;TERM=\x1b;HOME=/nonexistent
TMPDIR=/nonexistent;TZ=X/Y;POLYJUDGE_MEMORY=x;POLYJUDGE_MEMORY=256MB;POLYJUDGE_MEMORY=-1;SOURCE_DATE_EPOCH=0;LINES=0
PYTHONOPTIMIZE=1;PYTHONOPTIMIZE=2;NO_COLOR=;FORCE_COLOR=1;PYTHONWARNINGS=error;XDG_CACHE_HOME=/dev/null;CI=true
PYTHONHASHSEED=5;OMP_NUM_THREADS=-3
"""


def _surroundings(bench: Bench, scores: Path, rng: random.Random) -> None:
    """Outputs that are closed or full, odd variables of the environment, scores from standard input."""
    places = {"SCORES": scores, "OUT": bench.folder / "o"}
    lines = [filled(line.split(), places) for line in LINES.strip().splitlines()]
    err = str(bench.folder / "err")
    for words in lines:
        for closed in ((1,), (2,), (1, 2), (0, 1, 2), (0,)):
            if rng.random() < 0.4:
                bench.run(*words, closed=closed, real=True, outputs={2: err} if 2 in closed else {})
                _forgive(bench, closed)
        for number in (1, 2):
            if rng.random() < 0.4:
                lost = {"codes": (2,)} if number == 1 else {}
                bench.run(*words, outputs={number: "/dev/full"}, real=rng.random() < 0.5, **lost)
                _forgive(bench, (number,))
    for one in SURROUNDINGS.strip().replace("\n", ";").split(";"):
        for words in rng.sample(lines, 2):
            _env(bench, words, dict(pair.split("=", 1) for pair in one.split(" ")))
    text = scores.read_bytes()
    for stdin in (
        text,
        b"",
        text[:100],
        bytes(5000),
        text.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + text,
        gzip.compress(text),
    ):
        bench.run("check", "-", stdin=stdin)
        bench.run("calibrate", "-", "--save", bench.folder / "stdin.json", stdin=stdin)


def _env(bench: Bench, words: list[str], env: dict[str, str]) -> None:
    before = len(bench.findings)
    bench.run(*words, env=env, real=True)
    if "FORCE_COLOR" in env:  # colours are our own
        bench.findings[before:] = [f for f in bench.findings[before:] if not f["what"].startswith("raw '\\x1b'")]


def _forgive(bench: Bench, closed: tuple[int, ...]) -> None:
    """Who cannot be heard need not speak."""
    if 2 in closed and bench.findings and bench.findings[-1]["what"] == "exit 2 without a word":
        bench.findings.pop()


# --- truth ---


def truth(bench: Bench, world: World, rng: random.Random) -> None:
    """The same scores written otherwise give the same numbers; what changes them is said or refused."""
    frame = pd.read_csv(world.files["scores"])
    for _ in range(20):
        table, path, more = _written(frame, bench.folder, rng)
        out = bench.folder / "calibrated.csv"
        out.unlink(missing_ok=True)
        save = bench.folder / "cal.json"
        save.unlink(missing_ok=True)
        done = bench.run(
            "calibrate",
            path,
            *more,
            "--save",
            save,
            watch=[Path(str(path).split("::")[0])],
            codes=(0, 2) if "utf16" in table else (0,),
        )
        if done.code == 0 and not _same(save, world.folder / "plain" / "cal.json"):
            bench.find("other numbers for the same scores", [path, *more], table)
    for _ in range(8):
        _changed(bench, frame, rng)


def _same(one: Path, two: Path) -> bool:
    """Whether two calibrators take the same off every cell, in whatever order they name them."""
    found = [json.loads(p.read_text()) for p in (one, two)]
    cells = [
        {
            (x, j): v
            for x, row in zip(f["languages"], f["interaction"], strict=True)
            for j, v in zip(f["judges"], row, strict=True)
        }
        for f in found
    ]
    return cells[0].keys() == cells[1].keys() and all(
        math.isclose(cells[0][k], cells[1][k], abs_tol=1e-6) for k in cells[0]
    )


def _written(frame: pd.DataFrame, folder: Path, rng: random.Random) -> tuple[str, Any, tuple[Any, ...]]:
    """The scores in another order, with other columns beside them, in another format."""
    done = []
    if rng.random() < 0.7:
        frame = frame.sample(frac=1, random_state=rng.randrange(1000))
        done.append("rows")
    if rng.random() < 0.5:
        frame = frame[rng.sample([*frame.columns], len(frame.columns))]
        done.append("columns")
    if rng.random() < 0.4:
        frame = frame.assign(
            comment=rng.choice(["x", "a,b;c\td", 'say "no"', "two\nlines", "", "=1+1", "1,5"]),
            created_at="2026-01-01T10:00:00Z",
        )
        done.append("more columns")
    if rng.random() < 0.3:
        frame = frame.rename(columns={"judge": "Judge Model", "language": "Language", "score": "Score"})
        done.append("titles")
    kind = rng.choice(
        [
            "csv",
            "tsv",
            "semicolon",
            "crlf",
            "bom",
            "gz",
            "jsonl",
            "json",
            "parquet",
            "xlsx",
            "sqlite",
            "duckdb",
            "quoted",
            "decimal comma",
            "index",
            "jsonl.gz",
            "utf16",
            "folder",
            "blank lines",
        ]
    )
    done.append(kind)
    return ", ".join(done), *_saved(frame, folder, kind)


def _saved(frame: pd.DataFrame, folder: Path, kind: str) -> tuple[Any, tuple[Any, ...]]:
    path = folder / f"s.{kind.split()[0]}"
    text = {
        "tsv": lambda: frame.to_csv(index=False, sep="\t"),
        "semicolon": lambda: frame.to_csv(index=False, sep=";"),
        "crlf": lambda: frame.to_csv(index=False, lineterminator="\r\n"),
        "quoted": lambda: frame.to_csv(index=False, quoting=1),
        "decimal comma": lambda: frame.to_csv(index=False, sep=";", decimal=","),
        "index": lambda: frame.to_csv(),
    }
    if kind in text:
        path = folder / ("s.tsv" if kind == "tsv" else "s.csv")
        path.write_bytes(text[kind]().encode())
    elif kind in ("csv", "bom", "gz", "utf16", "blank lines"):
        body = frame.to_csv(index=False)
        body = body.rstrip("\n") + "\n\n\n" if kind == "blank lines" else body
        path = folder / ("s.csv.gz" if kind == "gz" else "s.csv")
        coded = body.encode({"bom": "utf-8-sig", "utf16": "utf-16"}.get(kind, "utf-8"))
        path.write_bytes(gzip.compress(coded) if kind == "gz" else coded)
    elif kind in ("jsonl", "jsonl.gz"):
        path = folder / f"s.{kind}"
        frame.to_json(path, orient="records", lines=True)
    elif kind == "json":
        frame.to_json(path, orient="records")
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    elif kind == "xlsx":
        from polyjudge.read.formats.excel import write_excel

        write_excel(path, [*frame.columns], [[tuple(row) for row in frame.astype(object).itertuples(index=False)]])
    elif kind == "folder":
        path = folder / "parts"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for i in range(3):
            frame.iloc[i::3].to_parquet(path / f"{i}.parquet", index=False)
    else:
        path.unlink(missing_ok=True)
        import duckdb

        if kind == "sqlite":
            with sqlite3.connect(path) as db:
                frame.to_sql("t", db, index=False)
        else:
            with duckdb.connect(str(path)) as db:
                db.register("held", frame)
                db.execute("CREATE TABLE t AS SELECT * FROM held")
        return f"{path}::t", ()
    return path, ()


def _changed(bench: Bench, frame: pd.DataFrame, rng: random.Random) -> None:
    """Scores that are not the same: what is wrong is refused or said, never taken for something else."""
    path = bench.folder / "changed.csv"
    frame = frame.astype({"score": object}).reset_index(drop=True)
    at = rng.randrange(len(frame))
    what = rng.choice(["lost", "word", "twice", "missing", "huge", "case", "space", "infinite"])
    if what == "lost":
        frame = frame.drop(index=at)
    elif what == "twice":
        frame = pd.concat([frame, frame.loc[[at]].assign(score=frame.loc[at, "score"] + 1)])
    elif what in ("case", "space"):
        frame.loc[at, "judge"] = frame.loc[at, "judge"].upper() if what == "case" else frame.loc[at, "judge"] + " "
    else:
        frame.loc[at, "score"] = {"word": "abc", "missing": "", "huge": 1e40, "infinite": "inf"}[what]
    frame.to_csv(path, index=False)
    done = bench.run("check", path, "--json", watch=[path])
    if what in ("word", "twice", "huge", "infinite", "case", "space") and done.code != 2:
        bench.find(f"taken in silence: {what}", [path], done.out[:800])
    if what in ("lost", "missing") and done.code == 0 and done.json()["scores"] != len(frame) - (what == "missing"):
        bench.find(f"counted wrong: {what}", [path], done.out[:800])


# --- the pass ---

FAMILIES: dict[str, tuple[Callable[[Bench, World, random.Random], None], int]] = {
    "names": (names, 8),
    "damage": (damage, 30),
    "others": (damaged_others, 18),
    "options": (options, 20),
    "places": (places, 1),
    "truth": (truth, 8),
    "bombs": (bombs, 1),
}
"""Family -> its units in a round."""


def units(families: list[str]) -> Iterator[str]:
    round_ = 0
    while True:
        for name in families:
            count = FAMILIES[name][1]
            yield from (f"{name} {round_ * count + i}" for i in range(count))
        round_ += 1


def run_unit(world: World, name: str, seed: int) -> Bench:
    folder = Path(tempfile.mkdtemp(prefix="pass-"))
    bench = Bench(folder, name=name)
    try:
        FAMILIES[name.split()[0]][0](bench, world, random.Random(f"{seed}/{name}"))
    except Exception as error:
        import traceback

        bench.find(f"the pass itself failed: {error!r}", (), traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return bench


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", default=None, metavar="UNIT")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    import importlib
    import pkgutil

    import polyjudge

    for module in pkgutil.walk_packages(polyjudge.__path__, "polyjudge."):
        if not module.name.endswith(("__main__", "make_sample", "child")):
            importlib.import_module(module.name)
    root = Path(tempfile.mkdtemp(prefix="pass-world-"))
    world = World(root, outputs=args.cases > 0)
    before, began = stamp(root), time.monotonic()
    total = Bench(root)
    for name in [args.only] if args.only else units([f for f in args.families.split(",") if f]):
        if total.cases >= args.cases:
            break
        bench = run_unit(world, name, seed)
        total.cases += bench.cases
        total.peak, total.slowest = max(total.peak, bench.peak), max(total.slowest, bench.slowest)
        total.findings += bench.findings
        for finding in bench.findings:
            print(
                f"  {name}: {finding['what']}: {' '.join(finding['argv'])[:300]!a}\n    {finding['more'][-700:]!a}",
                flush=True,
            )
        print(
            f"{name}: {total.cases} cases, {len(total.findings)} findings, {time.monotonic() - began:.0f} s", flush=True
        )
    killed = 0
    if args.kills and not args.only:
        bench = Bench(Path(tempfile.mkdtemp(prefix="pass-")), name="kills")
        killed = kills(bench, world.folder / "plain", random.Random(f"{seed}/kills"), args.kills)
        total.findings += bench.findings
        for finding in bench.findings:
            print(
                f"  kills: {finding['what']}: {' '.join(finding['argv'])[:300]!a} {finding['more'][-700:]!a}",
                flush=True,
            )
    if stamp(root) != before:
        total.find("the material of the pass was changed")
    shutil.rmtree(root, ignore_errors=True)
    print(
        f"seed {seed}: {total.cases} cases, {killed} kills, {len(total.findings)} findings; "
        f"at most {total.peak >> 20} MB, {total.slowest:.0f} s"
    )
    if total.findings:
        args.keep.mkdir(exist_ok=True)
        (args.keep / f"pass-{seed}.jsonl").write_text("".join(json.dumps(f) + "\n" for f in total.findings))
    return 1 if total.findings else 0


if __name__ == "__main__":
    sys.exit(main())
