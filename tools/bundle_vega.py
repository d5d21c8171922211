"""Build hook: Vega, Vega-Lite and Vega-Embed go into the package as one script, so that pages need no other."""

import base64
import hashlib
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = "src/polyjudge/report/vega.b64"


class BundleVega(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the script once; it is not kept in the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target = Path(self.root) / SCRIPT
        if not target.exists():
            import vl_convert

            script = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;").encode()
            digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
            packed = base64.b64encode(zlib.compress(script, 9)).decode()
            target.write_text(f"sha256-{digest}\n{packed}", encoding="utf-8")
        build_data["artifacts"].append(SCRIPT)
