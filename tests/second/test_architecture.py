"""The house: rooms know only the rooms below them, questions can be taken out, the front door stays small."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import grimp
import numpy as np
import pytest
from importlinter.cli import lint_imports
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from without import NAMES, others, run_others, take_out

import polyjudge
from polyjudge.second.cli.commands import COMMANDS, RENAMED
from polyjudge.second.rooms import QUESTIONS
from polyjudge.second.samples import sample_csv

SOURCE = Path(polyjudge.__file__).parent
ROOT = Path(__file__).parents[1]
ROOMS = ("panel", "read", "estimate", "calibrate", "report", "questions", "collect", "paper", "cli")
"""From the lowest to the highest."""
STANDS_ON = {"audit": {"audit", "check", "systems", "compare", "probe"}}
LONGEST = 60
"""Lines of a function, without its docstring."""
FEW_FILES = 90
"""Files that `audit -o` of the sample may walk through."""
FILES = sorted(SOURCE.rglob("*.py"))
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@cache
def nodes(file: Path) -> list[ast.AST]:
    return [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


def test_imports_go_one_way() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_no_module_names_a_room_above_not_even_in_a_string() -> None:
    """Import statements, late ones, `import_module`, doctests and texts are all words of the file."""
    upward = []
    for file in FILES:
        room = file.relative_to(SOURCE).parts[0]
        if room in ROOMS:
            named = set(re.findall(r"polyjudge[./](\w+)", file.read_text(encoding="utf-8"))) & set(ROOMS)
            upward += [f"{file.relative_to(SOURCE)}: {n}" for n in named if ROOMS.index(n) > ROOMS.index(room)]
    assert upward == []


def test_no_module_imports_the_front_door() -> None:
    """`from polyjudge import audit` inside the house would go out by the door and in again."""
    through = []
    for file in FILES:
        for node in nodes(file):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            door = isinstance(node, ast.ImportFrom) and node.module == "polyjudge" and not node.level
            if door or "polyjudge" in names or "polyjudge.second.public" in names:
                through += [str(file.relative_to(SOURCE))]
    assert set(through) <= {"cli/__init__.py"}  # for the version


def test_no_question_names_another() -> None:
    wrong = []
    for file in (SOURCE / "questions").glob("*/*.py"):
        own = file.parent.name
        named = set(re.findall(r"polyjudge\.questions\.(\w+)", file.read_text(encoding="utf-8"))) & set(QUESTIONS)
        wrong += [f"{own}/{file.name}: {n}" for n in named - STANDS_ON.get(own, {own})]
    assert wrong == []


def test_every_question_is_a_folder_with_its_four_parts() -> None:
    folders = {p.name for p in (SOURCE / "questions").iterdir() if p.is_dir() and p.name[0] != "_"}
    assert folders == set(QUESTIONS)
    for name in folders:
        parts = {p.name for p in (SOURCE / "questions" / name).glob("*.py")}
        assert {"words.py", "view.py", "command.py"} < parts - {"__init__.py"}, name


def test_one_name_one_file() -> None:
    shared = ("__init__.py", "words.py", "view.py", "command.py", "base.py")
    names = Counter(f.name for f in FILES if f.name not in shared)
    assert [n for n, count in names.items() if count > 1] == []


def test_no_module_needs_itself() -> None:
    graph = grimp.build_graph("polyjudge", exclude_type_checking_imports=True, cache_dir=None)
    names = sorted(graph.modules)
    place = {name: i for i, name in enumerate(names)}
    edges = [(place[a], place[b]) for a in names for b in graph.find_modules_directly_imported_by(a)]
    rows, columns = np.array(edges).T
    _, label = connected_components(
        csr_matrix((np.ones(len(rows)), (rows, columns)), (len(names),) * 2), connection="strong"
    )
    circles = [{names[i] for i in np.flatnonzero(label == x)} for x in range(label.max() + 1) if (label == x).sum() > 1]
    assert circles == []


def test_no_function_is_too_long() -> None:
    long = set()
    for file in FILES:
        for node in nodes(file):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                doc = (first.end_lineno or 0) - first.lineno + 1 if words else 0
                if (node.end_lineno or 0) - node.lineno + 1 - doc > LONGEST:
                    long.add(f"{file.relative_to(SOURCE).as_posix()} {node.name}")
    assert long == set()


# --- the front door ---


def test_few_names_and_few_commands() -> None:
    assert len(polyjudge.__all__) - 1 <= 24  # without the version
    assert len(COMMANDS) <= 15


def test_help_is_grouped_and_no_line_is_cut(cli: Cli) -> None:
    shown = cli("--help").stdout
    heads = re.findall(r"^([A-Z]\w+):$", shown, re.MULTILINE)
    assert heads == ["Options", "Start", "Decide", "Fix", "Watch", "Collect", "Paper"]
    lines = dict(re.findall(r"^  ([a-z]+)  +(\S.*)$", shown, re.MULTILINE))
    assert set(lines) == set(COMMANDS)
    assert [name for name, line in lines.items() if not line.endswith((".", "?"))] == []  # whole, on one line


def test_help_of_a_command_shows_what_is_its_own(cli: Cli) -> None:
    def shown(command: str) -> set[str]:
        return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", cli(command, "--help").stdout, re.MULTILINE))

    audit, check = shown("audit"), shown("check")
    assert len(audit) <= 20
    assert {"--wide", "--map", "--decimal", "--format", "--cluster"} <= check - audit


@pytest.mark.parametrize("name", RENAMED)
def test_a_command_of_before_is_answered_with_the_new_line(name: str, cli: Cli) -> None:
    done = cli(name, "scores.csv")
    assert done.returncode == 2
    assert RENAMED[name] in done.stderr


WALK = """
import json, os, sys
source, commands = os.path.dirname(sys.argv[1]), json.loads(sys.argv[2])
seen = set()
def called(frame, event, arg):
    if frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(source):
        seen.add(frame.f_code.co_filename)
from polyjudge.second.cli import main
for number, sys.argv[1:] in enumerate(commands, 1):
    if number == len(commands):
        sys.settrace(called)
    try:
        main()
    except SystemExit as end:
        sys.settrace(None)
        heavy = [m for m in ("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.cluster", "scipy.linalg", "altair",
                             "jinja2", "ibis") if m in sys.modules]
        print(json.dumps([end.code, len(seen), heavy]), file=sys.stderr)
"""


def walked(tmp_path: Path, *commands: str) -> list[tuple[int, int, list[str]]]:
    """Commands of one process: exit code, files of ours in which anything ran (of the last command: to count them takes
    four times as long), heavy libraries loaded so far."""
    scores = tmp_path / "scores.csv"
    scores.write_bytes(sample_csv())
    words = json.dumps(
        [line.replace("SCORES", str(scores)).replace("PAGE", str(tmp_path / "page")).split() for line in commands]
    )
    done = subprocess.run(
        [sys.executable, "-c", WALK, polyjudge.__file__, words], capture_output=True, text=True, timeout=120
    )
    return [tuple(json.loads(line)) for line in done.stderr.splitlines() if line.startswith("[")]


def test_what_an_audit_walks_through_is_little(tmp_path: Path) -> None:
    *plain, (code, files, heavy) = walked(
        tmp_path, "check SCORES", "audit SCORES --resamples 100", "audit SCORES --resamples 100 -o PAGE"
    )
    assert [(code, heavy) for code, _, heavy in plain] == [(0, []), (0, [])]
    assert code == 0
    assert 60 < files <= FEW_FILES
    assert heavy == ["jinja2"]


# --- taking a question out ---

EACH = """
import gc, importlib, os, pathlib, sys, traceback
gc.disable()  # nothing here is rubbish
def load(source):
    for file in sorted(source.rglob("*.py")):
        if file.name != "__main__.py" and file.relative_to(source).parts[0] != "paper":
            module = ".".join(file.relative_to(source.parent).with_suffix("").parts)
            importlib.import_module(module.removesuffix(".__init__"))
def answers(source):
    sys.path.insert(0, str(source.parent))
    load(source)
    import polyjudge as pj
    from polyjudge.second.panel.say import codes
    from polyjudge.second.cli import _built
    assert pj.__file__.startswith(str(source)), pj.__file__
    codes(), [getattr(pj, name) for name in pj.__all__], _built("")
    panel, _ = pj.simulate_panel(tasks=12, languages=3, judges=4, systems=3, seed=1)
    few = {"audit": {"resamples": 100}, "systems": {"resamples": 100}, "compare": {"resamples": 20}, "judges": {},
           "plan": {"draws": 100}, "check": {}}
    for name, options in few.items():
        if name in pj.__all__:
            assert repr(getattr(pj, name)(panel, **options))
    if "drift" in pj.__all__:
        assert repr(pj.drift(pj.ConsensusCalibrator().fit(panel), panel))
    if "anchor" in pj.__all__:
        assert repr(pj.anchor(panel, trusted=panel.judges[0], resamples=100))
whole, *houses = map(pathlib.Path, sys.argv[1:])
load(whole)  # and all that others made: the processes below need not
for name in [n for n in sys.modules if n.partition(".")[0] == "polyjudge"]:
    del sys.modules[name]
for house in houses:
    if os.fork() == 0:
        said = "fine"
        try:
            answers(house)
        except BaseException:
            said = traceback.format_exc()
        (house.parent / "said").write_text(said)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def without_each(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FOLDER/NAME/said: what became of a process in which everything of the house without a question was loaded."""
    folder = tmp_path_factory.mktemp("without")
    houses = [take_out(name, folder / name) for name in NAMES]
    done = subprocess.run(
        [sys.executable, "-c", EACH, str(SOURCE), *map(str, houses)],
        env={"PYTHONPATH": str(SOURCE.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_question_can_be_taken_out(name: str, without_each: Path) -> None:
    """Its folder and its line: the rest imports and answers. `make without` runs the tests of the rest too."""
    assert (without_each / name / "said").read_text() == "fine"


def test_other_tests_pass_without_a_question() -> None:
    """A sample of what `make without` runs: every question and every room."""
    files = [ROOT / "tests" / name for name in ("questions/check", "estimate/test_kernels.py", "panel/test_scale.py")]
    done = run_others("drift", files=[f for f in others("drift") if any(f.is_relative_to(x) for x in files)])
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
