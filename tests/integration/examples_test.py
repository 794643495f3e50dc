#!/usr/bin/env python3
"""Schedules, checks and shows every example and converts it to every format that can express it.

usage: examples_test.py SOURCE_DIR DOVETAIL
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

SOURCE = Path(".")
DOVETAIL = "dovetail"


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def dovetail(self, *arguments, expect=(0,)):
        result = subprocess.run(
            [DOVETAIL, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
        )
        self.assertIn(
            result.returncode, expect, f"dovetail {' '.join(map(str, arguments))}:\n{result.stdout}{result.stderr}"
        )
        return result

    def test_every_problem_is_scheduled_and_converted(self):
        examples = sorted((SOURCE / "examples").glob("*.yaml"))
        self.assertGreater(len(examples), 8)
        examples += [
            SOURCE / "examples" / "general" / f"{group}-{number}.yaml"
            for group, number in [("three-models", 3), ("transfer", 4), ("split-backward", 2), ("minibatches", 5)]
        ]
        for example in examples:
            with self.subTest(example=example.name):
                self.go_all_the_way(example)

    def go_all_the_way(self, example):
        schedule = self.folder / "schedule.json"
        self.dovetail("schedule", example, "--solver", "list", "-o", schedule)
        written = json.loads(schedule.read_text(encoding="utf-8"))
        self.assertGreaterEqual(written["makespan"], written["bounds"]["makespan"])

        report = json.loads(self.dovetail("check", schedule, "--json").stdout)
        self.assertEqual(report["makespan"], written["makespan"])
        self.dovetail("bounds", example)
        self.assertTrue(self.dovetail("show", schedule).stdout)

        svg = self.folder / "schedule.svg"
        self.dovetail("convert", schedule, svg)
        self.assertTrue(ElementTree.parse(svg).getroot().tag.endswith("svg"))
        chrome = self.folder / "chrome.json"
        self.dovetail("convert", schedule, chrome, "--to", "chrome")
        self.assertTrue(json.loads(chrome.read_text(encoding="utf-8"))["traceEvents"])

        # These two formats are limited. A conversion that they cannot express is a user error and writes nothing.
        trace = self.folder / "trace.txt"
        trace.unlink(missing_ok=True)
        if self.dovetail("convert", schedule, trace, "--to", "trace", expect=(0, 2)).returncode == 0:
            self.dovetail("check", trace, "--problem", example)
        else:
            self.assertFalse(trace.exists())
        self.dovetail("convert", schedule, self.folder / "schedule.csv", expect=(0, 2))

    def test_measured_times_become_a_problem(self):
        problem = self.folder / "measured.yaml"
        self.dovetail(
            "problem",
            "--from",
            SOURCE / "examples" / "timings.csv",
            "--microbatches",
            "actor=8",
            "--microbatches",
            "critic=8",
            "-o",
            problem,
        )
        self.go_all_the_way(problem)

    def test_excess_memory_is_reported(self):
        example = SOURCE / "examples" / "capacity.yaml"
        refused = self.dovetail("schedule", example, "--solver", "gpipe", "-o", self.folder / "none.json", expect=(3,))
        self.assertIn("device", refused.stderr)
        self.assertFalse((self.folder / "none.json").exists())


if __name__ == "__main__":
    SOURCE, DOVETAIL = Path(sys.argv.pop(1)), sys.argv.pop(1)
    unittest.main()
