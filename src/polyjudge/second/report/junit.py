"""Findings as JUnit XML: one test case for each, failed where it is as severe as the user allows no more."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from polyjudge.second.panel.labels import visible
from polyjudge.second.panel.say import word
from polyjudge.second.report.sections import SEVERITIES, Report


def junit(report: Report, fail_on: str) -> str:
    """The report as JUnit XML. `fail_on` is a severity, or "never"."""
    limit = SEVERITIES.index(fail_on) if fail_on in SEVERITIES else len(SEVERITIES)
    failed = [f.weight >= limit for f in report.findings]
    counts = {"tests": str(max(len(failed), 1)), "failures": str(sum(failed)), "errors": "0"}
    suite = ET.Element("testsuite", {"name": f"polyjudge {report.command}", **counts})
    for finding, fails in zip(report.findings, failed, strict=True):
        about = {"classname": f"polyjudge.{report.command}", "name": f"{finding.severity}: {finding.code}"}
        case = ET.SubElement(suite, "testcase", about)
        if fails:  # characters that XML cannot hold, or that nobody sees, stand as their codes
            ET.SubElement(case, "failure", {"message": visible(word(finding)), "type": finding.severity})
        else:
            ET.SubElement(case, "system-out").text = visible(word(finding))
    if not failed:
        ET.SubElement(suite, "testcase", {"classname": f"polyjudge.{report.command}", "name": "no findings"})
    suites = ET.Element("testsuites", counts)
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"
