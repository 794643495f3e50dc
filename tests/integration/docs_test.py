#!/usr/bin/env python3
"""Tests that the program prints the output that README and manual show in their console blocks.

The `console` blocks of a page run in order in one empty folder next to `examples`. A line of `...` matches any
lines. Wall times vary between runs and are not compared, nor are the table widths that depend on them.

Also tests that the option tables of docs/commands.md equal the output of tools/option-tables.

usage: docs_test.py SOURCE_DIR DOVETAIL
"""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(".")
DOVETAIL = "dovetail"
# Not run: runs of several processes, which mpi_test.py covers; commands that predict plans, which take longer than all
# others together; profile and train, whose output depends on the machine.
NOT_RUN = re.compile(r"mpirun|dovetail (plan|fit|explain|profile|train (?!--stub))\b")
BORDER = "-- next command --"


def blocks_of(page):
    """Returns [(line number, [(command, expected output lines)])] for the console blocks of a page."""
    blocks = []
    for found in re.finditer(r"^```console\n(.*?)^```$", page, re.M | re.S):
        commands = []
        for text in re.split(r"^\$ ", found.group(1), flags=re.M)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", text).group(0)
            commands.append((command.rstrip("\n"), text[len(command) :].splitlines()))
        blocks.append((page.count("\n", 0, found.start()) + 1, commands))
    return blocks


def option_tables():
    """Returns the module tools/option-tables, without writing its bytecode next to it."""
    loader = importlib.machinery.SourceFileLoader("option_tables", str(SOURCE / "tools" / "option-tables"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def without_times(command, lines):
    """Removes wall times and the widths of their columns from the lines."""
    text = "".join(line.rstrip() + "\n" for line in lines)
    text = re.sub(r"^took: [0-9.]+ s$", "took: ? s", text, flags=re.M)
    if "dovetail compare" in command:
        text = re.sub(r" +[0-9]+\.[0-9]{2}$", " ?", text, flags=re.M)  # the column of seconds
    return re.sub(r"-{2,}", "--", re.sub(r" {2,}", " ", text))


def is_as_shown(shown, printed):
    """Whether `printed` matches `shown`, in which a line of `...` matches any lines."""
    return (
        re.fullmatch("(?:.*\n)*".join(map(re.escape, re.split(r"^\.\.\.\n", shown, flags=re.M))), printed) is not None
    )


class Consoles(unittest.TestCase):
    maxDiff = None

    def run_block(self, commands, folder):
        """Returns the output of each command of a block on both streams, without progress lines, which depend on
        timing."""
        script = "".join(f"{command}\ncode=$?; echo '{BORDER}'; (exit $code)\n" for command, _ in commands)
        environment = {**os.environ, "PATH": f"{Path(DOVETAIL).resolve().parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
        environment.pop("COLUMNS", None)
        result = subprocess.run(
            ["bash", "-c", script],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        shown = re.sub(r"^.*: makespan \S+ \(bound .*\n", "", result.stdout, flags=re.M)
        return shown.split(BORDER + "\n")[:-1]

    def check_page(self, name):
        blocks = blocks_of((SOURCE / name).read_text(encoding="utf-8"))
        compared = 0
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to((SOURCE / "examples").resolve())
            for line, commands in blocks:
                if any(NOT_RUN.search(command) for command, _ in commands):
                    continue
                for (command, expected), printed in zip(commands, self.run_block(commands, folder), strict=True):
                    compared += 1
                    with self.subTest(page=name, block=line, command=command):
                        shown, found = without_times(command, expected), without_times(command, printed.splitlines())
                        if not is_as_shown(shown, found):
                            self.assertMultiLineEqual(shown, found)
        return compared

    def test_readme_matches_the_output(self):
        self.assertGreaterEqual(self.check_page("README.md"), 4)

    def test_manual_matches_the_output(self):
        self.assertGreaterEqual(self.check_page("docs/commands.md"), 15)

    def test_simulation_page_matches_the_output(self):
        self.assertGreaterEqual(self.check_page("docs/simulation.md"), 2)

    def test_option_tables_match_the_help(self):
        tables = option_tables()
        page = (SOURCE / "docs" / "commands.md").read_text(encoding="utf-8")
        described = {found.group(2) for found in tables.TABLE.finditer(page)}
        self.assertGreaterEqual(len(described), 20)
        self.assertMultiLineEqual(tables.page_with_tables(page, DOVETAIL), page)


if __name__ == "__main__":
    SOURCE, DOVETAIL = Path(sys.argv.pop(1)).resolve(), sys.argv.pop(1)
    unittest.main()
