"""What tests share beside fixtures: where the released scores are, and what the machine must have."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from components import PACKAGES, find

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("POLYJUDGE_SHARED") or ROOT.parent / "shared")
NO_SHARED = "needs the released scores"
Run = Callable[..., subprocess.CompletedProcess[str]]


def shared_file(name: str) -> Path:
    """A file of the released data (POLYJUDGE_SHARED, or ../shared). Tests that need it skip where it is absent."""
    for path in (SHARED / name, SHARED / "data" / name):
        if path.exists():
            return path
    pytest.skip(f"{NO_SHARED}: {SHARED / name} is not there")


def need(component: str) -> str:
    """Where a component of the machine is. Tests that need it skip where it is absent, and name its package."""
    path = find(component)
    if path is None:
        pytest.skip(f"needs {component} (Debian: {PACKAGES[component]})")
    return path
