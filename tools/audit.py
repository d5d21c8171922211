"""The vulnerability audit of all pinned packages. Exit 1 when one is known to be vulnerable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def audit(requirements: str, command: list[str] | None = None) -> tuple[int, str]:
    """Exit code and what to say. `command` runs pip-audit; its standard output is JSON."""
    default = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "-r", requirements]
    command = [*(command or default), "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired):
        return 0, "audit: could not run, so nothing is known about vulnerabilities: pip-audit did not start or end."
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return 0, f"audit: could not run, so nothing is known about vulnerabilities: {last[:200]}"
    unknown = [p["name"] for p in packages if "skip_reason" in p]
    if len(unknown) == len(packages):
        why = packages[0]["skip_reason"] if packages else "no package was named"
        return 0, f"audit: could not run, so nothing is known about vulnerabilities: {why[:200]}"
    found = [(p["name"], p.get("version", "?"), v["id"]) for p in packages for v in p.get("vulns", [])]
    lines = [f"audit: {name} {version} has {identity}" for name, version, identity in found]
    lines.append(f"audit: {len(found)} known vulnerabilities in {len(packages) - len(unknown)} packages")
    if unknown:
        lines.append(f"audit: {len(unknown)} packages could not be checked: {', '.join(unknown[:20])}")
    return int(bool(found)), "\n".join(lines)


if __name__ == "__main__":
    code, text = audit(str(Path(__file__).resolve().parents[1] / "requirements" / "test.txt"))
    print(text)
    sys.exit(code)
