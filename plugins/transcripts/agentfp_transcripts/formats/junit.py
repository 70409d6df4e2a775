"""JUnit XML: a suite for each file, a case for each answer, a failure where it holds an unsupported value."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

from agentfp_transcripts.checking import Checked, Summary
from agentfp_transcripts.formats.findings import place_of, sentence
from agentfp_transcripts.problems import Problem

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnit:
    """Collects cases and writes them at the end, since a suite begins with its counts.

    Args:
        write: takes text.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._suites: dict[str, ET.Element] = {}

    def add(self, checked: Checked) -> None:
        """Add a case for each answer of a transcript."""
        suite = self._suite(place_of(checked.transcript.source).file)
        for answer in checked.answers:
            case = self._case(suite, checked.transcript.id, f"answer {answer.index}")
            if answer.new:
                kind = "weak" if all(f.value.severity == "weak" for f in answer.new) else "strong"
                texts = ", ".join(finding.value.text for finding in answer.new)
                failure = ET.SubElement(case, "failure", message=_xml(f"unsupported: {texts}"), type=kind)
                failure.text = _xml("\n".join(sentence(checked, finding) for finding in answer.new))
        if not checked.answers and not checked.failures:
            ET.SubElement(self._case(suite, checked.transcript.id, "no answer"), "skipped", message="no answer was judged")
        for text in checked.failures:
            case = self._case(suite, checked.transcript.id, "judge")
            ET.SubElement(case, "error", message=_xml(text), type="judge").text = _xml(text)

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Write all suites; what could not be read is a case with an error."""
        for problem in problems:
            if not problem.skipped:
                case = self._case(self._suite("unread"), problem.place, "read")
                ET.SubElement(case, "error", message=_xml(problem.text), type="unread").text = _xml(str(problem))
        root = ET.Element("testsuites", name="agentfp check")
        root.extend(self._suites.values())
        for element in (root, *self._suites.values()):
            element.set("tests", str(len(element.findall(".//testcase"))))
            element.set("failures", str(len(element.findall(".//failure"))))
            element.set("errors", str(len(element.findall(".//error"))))
            element.set("skipped", str(len(element.findall(".//skipped"))))
            element.set("time", "0")
        ET.indent(root)
        self._write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._write(ET.tostring(root, encoding="unicode") + "\n")

    def _suite(self, name: str) -> ET.Element:
        if name not in self._suites:
            self._suites[name] = ET.Element("testsuite", name=_xml(name))
        return self._suites[name]

    @staticmethod
    def _case(suite: ET.Element, classname: str, name: str) -> ET.Element:
        return ET.SubElement(suite, "testcase", classname=_xml(classname), name=_xml(name), time="0")


def _xml(text: str) -> str:
    """Text without characters that XML cannot hold in any spelling."""
    return _NOT_XML.sub("�", text)
