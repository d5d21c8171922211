"""One command of a pass: it is run in a process of its own, and all that it said and left is looked at."""

from __future__ import annotations

import atexit
import csv
import hashlib
import html.parser
import io
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markdown_it import MarkdownIt

MEMORY = 1 << 30
"""What every command is allowed (POLYJUDGE_MEMORY)."""
OVER = 500 << 20
"""What a process may take beyond it: Python and its libraries."""
SECONDS = 60.0
"""What a command may take on a machine that does nothing else; see `patience`."""


def patience() -> float:
    """Seconds to wait: as much longer as the machine has more to do than it can."""
    return SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Characters that move a cursor, write to the clipboard, turn the direction of text, or cannot be seen."""
LINE = re.compile("^(# )?owned$", re.MULTILINE)
"""A line that a name began: none may."""
OWNED = "owned"
"""Every hostile name does something with this word: a file, a function, a host, a team."""


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int
    late: bool

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Bench:
    """Runs commands in a folder and counts; `findings` are the ways in which they broke a promise."""

    folder: Path
    cases: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    name: str = ""
    peak: int = 0
    slowest: float = 0.0

    def find(self, what: str, argv: Iterable[object] = (), more: str = "") -> None:
        self.findings.append({"what": what, "unit": self.name, "argv": [*map(str, argv)], "more": more[-1500:]})

    def run(self, *argv: object, watch: Iterable[Path] = (), out: Path | None = None, raw: Iterable[Path] = (),
            codes: Iterable[int] = (0, 1, 2), **how: Any) -> Done:  # fmt: skip
        """Run `polyjudge ARGV` and check what it promises.

        watch : what must be as it was afterwards (inputs, files of others); out : where it writes; raw : of that, what
        holds the user's own cells as they are; codes : exit codes that are right here; how : see `start`
        """
        self.cases += 1
        words = [str(a) for a in argv]
        before = {path: stamp(path) for path in watch}
        done = start(words, self.folder, **how)
        self.peak, self.slowest = max(self.peak, done.peak), max(self.slowest, done.seconds)
        for what in self.broken(done, set(codes)):
            self.find(what, words, done.err or done.out)
        for path, was in before.items():
            if stamp(path) != was:
                self.find(f"changed or lost: {path}", words, done.err)
        for text, where in ((done.out, "stdout"), (done.err, "stderr")):
            self.look(text, where, words)
        if "--json" not in words:  # there a command is decoded before anybody pastes it
            self.paste(done.out, words)
        heard = 1 not in how.get("closed", ()) and 1 not in (how.get("outputs") or {})
        if "--json" in words and done.code in (0, 1) and heard:
            try:
                done.json()
            except ValueError as error:
                self.find(f"--json is no JSON: {error}", words, done.out)
        if out is not None and out.exists():
            self.look_into(out, set(raw), words)
        return done

    def broken(self, done: Done, codes: set[int]) -> Iterable[str]:
        if "Traceback (most recent" in done.err or "internal error" in done.err or done.code == 3:
            yield "internal error"
        elif done.code not in codes:
            yield f"exit code {done.code}"
        if done.late:
            yield f"took {done.seconds:.0f} s"
        if done.peak > MEMORY + OVER:
            yield f"took {done.peak >> 20} MB"
        if done.code == 2 and not (done.err + done.out).strip():
            yield "exit 2 without a word"
        if (self.folder / OWNED).exists():
            (self.folder / OWNED).unlink()
            yield "a name was run"

    def look(self, text: str, where: str, words: list[str]) -> None:
        found = UNSEEN.search(text) or (LINE.search(text) if where.startswith("std") else None)
        if found:
            self.find(f"raw {found[0]!a} in {where}", words, ascii(text[max(found.start() - 300, 0) :][:600]))

    def paste(self, text: str, words: list[str]) -> None:
        """Every command that is shown, given to a shell, runs nothing else."""
        lines = [line[line.index("polyjudge ") :] for line in text.splitlines() if "polyjudge " in line]
        lines = [line for line in lines if OWNED in line]
        if not lines:
            return
        for line in lines[:10]:
            subprocess.run(["bash", "-c", "polyjudge() { :; }\n" + line], cwd=self.folder, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=10, check=False)  # fmt: skip
            if (self.folder / OWNED).exists():
                (self.folder / OWNED).unlink()
                self.find("a pasted command runs something else", words, line)

    def look_into(self, out: Path, raw: set[Path], words: list[str]) -> None:
        files = [p for p in out.rglob("*") if p.is_file()] if out.is_dir() else [out]
        for path in files:
            check = LOOK.get(path.suffix)
            if path in raw or check is None or path.is_symlink():
                continue
            try:
                text = path.read_text("utf-8")
            except UnicodeDecodeError:
                self.find(f"{path.name} is not UTF-8", words)
                continue
            if "labels" not in out.name:  # pages for annotators show their texts, in their direction
                self.look(text, path.name, words)
            for what in check(text):
                self.find(f"{what} in {path.name}", words)


def stamp(path: Path) -> Any:
    """What a file or a folder is: content, mode, target of a link."""
    if path.is_symlink():
        return os.readlink(path)
    if path.is_dir():
        beside = ("-wal", "-shm", "__pycache__")  # SQLite's, of a store that is open; Python's, of a judge in a plan
        return {p.name: stamp(p) for p in path.iterdir() if not p.name.endswith(beside)}
    if not path.is_file():
        return path.exists()
    return path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest()


# --- one process ---


def start(words: list[str], cwd: Path, *, stdin: bytes | None = None, env: dict[str, str] | None = None,
          limits: dict[int, int] | None = None, closed: Iterable[int] = (), outputs: dict[int, str] | None = None,
          real: bool = False, user: int | None = None, end: tuple[float, int] | None = None) -> Done:  # fmt: skip
    """Run a command and wait for it.

    real : as a program of its own, else as a fork of this one, in which all modules are loaded already
    outputs : file descriptor -> what it is opened on; user : the user it runs as; end : (seconds, signal) to send
    """
    place = cwd / f".said-{os.getpid()}"
    place.mkdir(exist_ok=True)
    said = [place / "in", place / "out", place / "err"]
    said[0].write_bytes(stdin or b"")
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            _become(said, cwd, env or {}, limits or {}, closed, outputs or {}, user)
            if real:
                os.execv(sys.executable, [sys.executable, "-m", "polyjudge", *words])
            _polyjudge(words)
        finally:
            os._exit(99)
    late = patience()
    code, usage = _wait(child, end, late)
    texts = [path.read_bytes().decode("utf-8", "surrogateescape") for path in said[1:]]
    took = time.monotonic() - began
    return Done(code, *texts, took, usage.ru_maxrss << 10, took > late)


def _become(said: list[Path], cwd: Path, env: dict[str, str], limits: dict[int, int], closed: Iterable[int],
            outputs: dict[int, str], user: int | None) -> None:  # fmt: skip
    os.setsid()
    os.chdir(cwd)
    for number, path in enumerate(said):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(outputs.get(number, str(path)), flags, 0o666), number)
    for number in closed:
        os.close(number)
    os.environ |= {"POLYJUDGE_MEMORY": "1GB", "OPENBLAS_NUM_THREADS": "1", **env}
    for what, most in limits.items():
        resource.setrlimit(what, (most, most))
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def _polyjudge(words: list[str]) -> None:
    from polyjudge.cli import main

    for number, name in ((1, "stdout"), (2, "stderr")):
        try:
            os.fstat(number)
            setattr(sys, name, io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", write_through=False))
        except OSError:
            setattr(sys, name, None)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), "utf-8")
    sys.argv = ["polyjudge", *words]
    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 3
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(int(code or 0))


def _wait(child: int, end: tuple[float, int] | None, late: float) -> tuple[int, Any]:
    handle = os.pidfd_open(child)
    try:
        if end is not None and not select.select([handle], [], [], end[0])[0]:
            os.kill(child, end[1])
        if not select.select([handle], [], [], late + 1)[0]:
            os.killpg(child, signal.SIGKILL)
    finally:
        os.close(handle)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage


# --- what files hold ---


class _Page(html.parser.HTMLParser):
    """Elements of a page that its author did not write."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.runs = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if tag == "meta" and held.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = held["content"]
        self.runs = tag == "script" and held.get("type", "text/javascript") in ("text/javascript", "module")
        if self.runs:
            self.scripts.append("")
        for name, value in held.items():
            if name.startswith("on") or value.lstrip().lower().startswith("javascript:"):
                self.wrong.append(f"<{tag} {name}={value[:40]!a}>")
            elsewhere = name in ("src", "href", "action", "data") and re.match(r"\w+://|//", value)
            if elsewhere and OWNED in value:
                self.wrong.append(f"<{tag} {name}={value[:40]!a}>")

    def handle_endtag(self, tag: str) -> None:
        self.runs = False

    def handle_data(self, data: str) -> None:
        if self.runs:
            self.scripts[-1] += data


def page(text: str) -> Iterable[str]:
    """A page runs only scripts that its policy names by their hash."""
    found = _Page()
    found.feed(text)
    yield from found.wrong
    if "default-src 'none'" not in found.policy:
        yield "no policy"
    for script in found.scripts:
        name = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        if f"sha256-{name}" not in found.policy:
            yield f"a script that the policy does not know: {script[:40]!a}"


def markdown(text: str) -> Iterable[str]:
    """Nothing that is not ours becomes an image, a link, HTML, or a mention."""
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        for token in [block, *(block.children or [])]:
            target = str(token.attrs.get("src", "")) + str(token.attrs.get("href", ""))
            if token.type in ("image", "link_open") and OWNED in target:
                yield f"{token.type} to {target[:60]}"
            if token.type in ("html_inline", "html_block") and OWNED in token.content:
                yield f"HTML {token.content[:60]!a}"
    bare = re.sub(r"(`+)[^\n]*?\1", "", text)
    if re.search(rf"(?<![\w`&;])@{OWNED}|https?://{OWNED}|(?<!\\)#{OWNED}", bare):
        yield "a mention, a link or a reference"


def table(text: str) -> Iterable[str]:
    """No cell of a table is a formula."""
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and OWNED in cell:
                yield f"formula {cell[:40]!a}"


def xml(text: str) -> Iterable[str]:
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        yield f"no XML ({error})"


def is_json(text: str) -> Iterable[str]:
    try:
        json.loads(text)
    except ValueError as error:
        yield f"no JSON ({error})"


LOOK: dict[str, Callable[[str], Iterable[str]]] = {
    ".html": page, ".md": markdown, ".csv": table, ".xml": xml, ".json": is_json, ".txt": lambda text: (),
    ".svg": xml,
}  # fmt: skip
