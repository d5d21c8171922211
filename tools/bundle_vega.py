"""Build hook: Vega, Vega-Lite and Vega-Embed go into the package as one script, so that pages need no other."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = "src/polyjudge/report/page/vega.js"


class BundleVega(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the script once; it is not kept in the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target = Path(self.root) / SCRIPT
        if not target.exists():
            import vl_convert

            target.write_text(vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;"), encoding="utf-8")
        build_data["artifacts"].append(SCRIPT)
