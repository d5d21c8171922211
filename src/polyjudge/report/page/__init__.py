"""The report page: one self-contained HTML file, and a small script-free form for notebooks."""

from polyjudge.report.page.audit import audit_html, audit_page
from polyjudge.report.page.notebook import audit_fragment
from polyjudge.report.page.render import render

__all__ = ["audit_fragment", "audit_html", "audit_page", "render"]
