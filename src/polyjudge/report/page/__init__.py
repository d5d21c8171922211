"""The report page: one self-contained HTML file."""

from polyjudge.report.page.audit import audit_page
from polyjudge.report.page.render import render

__all__ = ["audit_page", "render"]
