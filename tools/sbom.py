"""A software bill of materials (CycloneDX 1.5) of what polyjudge runs on, from the pinned list with its hashes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def sbom(requirements: str, version: str) -> dict[str, Any]:
    """The bill of a pinned requirements file."""
    parts = []
    for entry in re.sub(r"\\\n\s*", " ", requirements).splitlines():
        found = re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", entry)
        if found is None:
            continue
        name, number = found[1], found[2]
        hashes = [{"alg": "SHA-256", "content": h} for h in re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)]
        purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{number}"
        parts.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": number,
                "purl": purl,
                # A package has one file per platform; each of their hashes is allowed.
                "properties": [{"name": "polyjudge:allowed-sha256", "value": h["content"]} for h in hashes],
            }
        )
    about = {"type": "application", "bom-ref": "polyjudge", "name": "polyjudge", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": about},
        "components": parts,
        "dependencies": [{"ref": "polyjudge", "dependsOn": [p["bom-ref"] for p in parts]}],
    }


if __name__ == "__main__":
    text = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    number = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/polyjudge/_version.py").read_text(encoding="utf-8"))
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(sbom(text, number[1] if number else "0"), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {target}")
