"""Words that every report shares."""

from __future__ import annotations

from polyjudge.report.words import Template

WORDS: dict[str, Template] = {
    "read.shape": "{tasks} tasks x {languages} languages x {judges} judges",
    "note": "{text:text}",
    "more-rows": "... and {rows} more rows (all of them with --json)",
    "more-findings": lambda v: f"{{count}} more {'remark' if v['count'] == 1 else 'remarks'}: --full",
    "details": "All details: --full. As a page: -o {command}/",
}
