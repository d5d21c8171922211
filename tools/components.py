"""What tests need beside Python packages: where it is on this machine, and getting it where that is allowed.

`make system` runs it and installs what is absent: with apt for root, else Chromium with Playwright's own installer.
It never fails: what stays absent is named in one line, and the tests that need it skip.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

HIDE = "POLYJUDGE_HIDE"
"""Environment variable with components to treat as absent, separated by commas: how the tests see the skips."""
PACKAGES = {
    "chromium": "chromium fonts-noto-core fonts-noto-cjk",
    "java": "default-jre-headless",
    "postgres": "postgresql",
    "lme4": "r-cran-lme4",
}
"""Debian packages of each component."""


@cache
def find(component: str) -> str | None:
    """Path of a component (of the folder of its programs for postgres), or None."""
    if component in os.environ.get(HIDE, "").split(","):
        return None
    return {"chromium": _chromium, "java": _java, "postgres": _postgres, "lme4": _lme4}[component]()


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found:
        return found
    # Asked in a process of its own: a second Playwright in one process is an error.
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    path = _run(sys.executable, "-c", code)
    return path if path and Path(path).exists() else None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    return path if path and _run(path, "-version") is not None else None


def _postgres() -> str | None:
    """The folder with initdb and pg_ctl. They refuse to run as root, so root needs the user postgres."""
    on_path = shutil.which("initdb")
    places = [os.path.dirname(on_path)] if on_path else []
    for pattern in ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin"):
        places += sorted(glob.glob(pattern), reverse=True)
    here = next((p for p in places if all(shutil.which(n, path=p) for n in ("initdb", "pg_ctl"))), None)
    if here and hasattr(os, "geteuid") and os.geteuid() == 0:
        return here if shutil.which("runuser") and _run("id", "postgres") is not None else None
    return here


def _lme4() -> str | None:
    """Rscript, where it can load lme4."""
    path = shutil.which("Rscript")
    return path if path and _run(path, "-e", "library(lme4)") is not None else None


def _run(*command: str) -> str | None:
    """What a command prints, or None when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def absent() -> list[str]:
    """Components that are not on this machine."""
    return [c for c in PACKAGES if find(c) is None]


def _missing_packages() -> list[str]:
    """Debian packages of absent components, and the fonts that pages in all scripts are checked with."""
    wanted = [p for c in absent() for p in PACKAGES[c].split()] + PACKAGES["chromium"].split()[1:]
    installed = _run("dpkg-query", "-W", "-f=${Package} ${Status}\n") or ""
    there = {line.split()[0] for line in installed.splitlines() if line.endswith(" ok installed")}
    return [p for p in dict.fromkeys(wanted) if p not in there]


def _quietly(*command: str, seconds: float) -> bool:
    """Whether a command went well in its time; what it prints is not shown."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=environment, check=False, timeout=seconds, **quiet).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def install() -> None:
    """Get what is absent where this is allowed, and say what stays absent."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and shutil.which("apt-get") and (need := _missing_packages()):
        print(f"Installing {' '.join(need)} with apt (once)", flush=True)
        apt = ("apt-get", "-qq", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=120")
        _quietly(*apt, "update", seconds=300)
        get = (*apt, "install", "-y", "--no-install-recommends")
        if not _quietly(*get, *need, seconds=1200):
            for package in need:  # one that this system does not have must not keep the others away
                _quietly(*get, package, seconds=600)
    find.cache_clear()
    if find("chromium") is None:
        print("Installing Chromium with Playwright (once)", flush=True)
        _quietly(sys.executable, "-m", "playwright", "install", "chromium", seconds=300)
        find.cache_clear()
    for component in absent():
        print(f"Absent: {component}. Its tests skip. Debian: apt install {PACKAGES[component]}", flush=True)


if __name__ == "__main__":
    install()
