"""JUnit XML: one suite per gate.

The tests of pytest are cases; each finding of another gate is a failed case.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from coderefine.core import Case, Check, Status
from coderefine.reports.formats import RunReport, blocking, judged, legal, rule, words


def checks(gates: Sequence[Check]) -> str:
    """Report all gates."""
    root = ElementTree.Element("testsuites", name="coderefine")
    for check in gates:
        suite = ElementTree.SubElement(root, "testsuite", name=check.critic, time=f"{check.seconds:.3f}")
        for case in check.cases.values():
            _test(suite, case)
        loose = [finding for finding in blocking(check.findings) if finding.symbol not in check.cases]
        for finding in loose:
            name = legal(f"{finding.where} {finding.rule}")
            element = ElementTree.SubElement(suite, "testcase", classname=legal(finding.path), name=name, time="0")
            _problem(element, "failure", words(finding), finding.evidence, rule(finding))
        if not check.cases and not loose:
            ElementTree.SubElement(suite, "testcase", classname=check.critic, name="clean", time=f"{check.seconds:.3f}")
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(name, str(len(list(suite.iter(tag)))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def outcome(report: RunReport) -> str:
    """Report the results of the gates for the tree with the patch."""
    return checks(judged(report.end))


def _test(suite: ElementTree.Element, case: Case) -> None:
    module, _, name = case.id.partition("::")
    element = ElementTree.SubElement(suite, "testcase", classname=legal(module), name=legal(name or module))
    element.set("time", f"{case.seconds:.4f}")
    if case.path:
        element.set("file", legal(case.path))
        element.set("line", str(case.line))
    if case.status in (Status.SKIPPED, Status.XFAILED):
        ElementTree.SubElement(element, "skipped", message=case.status.value)
    elif case.status.bad:
        message = case.failure.message if case.failure else case.status.value
        body = case.failure.assertion if case.failure else ""
        _problem(element, "error" if case.status is Status.ERROR else "failure", message, body, case.status.value)


def _problem(element: ElementTree.Element, tag: str, message: str, body: str, kind: str) -> None:
    child = ElementTree.SubElement(element, tag, message=legal(message), type=legal(kind))
    child.text = legal(body)
