#!/usr/bin/env python3
"""Tests the structure of src/: includes between folders, no include cycles, self-contained headers, short functions
and files.

usage: layers_test.py SOURCE_DIR [COMPILER]

With COMPILER, also compiles each header that no source includes first.
"""

import re
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

# A folder includes only itself and folders before it (docs/architecture.md).
LAYERS = [
    "base",
    "parallel",
    "pipeline",
    "timeline",
    "fuse",
    "llm",
    "cluster",
    "workflow",
    "plan",
    "realloc",
    "batching",
    "text",
    "weights",
    "learn",
    "transport",
    "execute",
    "kernels",
    "control",
    "records",
    "cost",
    "syntax",
    "trainers",
    "simulate",
    "predict",
    "planner",
    "measure",
    "study",
    "answer",
    "report",
    "cli",
]
# Subfolders of a folder, with the same rule. Files directly in the folder may include all of them, or, if the list
# contains ".", those before it.
SUBFOLDERS = {
    "control": [".", "data", "algorithm", "run", "ranks"],
    "pipeline": ["problem", "schedule", "program", "formats"],
    "fuse": ["bounds", "solution", "constructions", "annealing", "exact", "pattern", "search"],
    "syntax": [".", "shell"],
    "trainers": ["logs", "import", "export", "verl", "openrlhf", "nemo_rl", "areal", "slime", "roll", "prime_rl", "dovetail"],
    "predict": ["closed_form", "simulated"],
    "planner": ["space", "bound", "search", "rank", "advice"],
    "answer": ["text", "question", "schedules", "plans", "runs", "measured"],
    "report": ["text", "page", "drawing", "schedule", "iteration", "overlay", "run"],
    "runtime": ["model", "training", "generation", "ranks", "launch", "profile", "run"],
}
# No folder includes these. Each may include the layers before the given one, or all layers: dovetail-train is a program
# like dovetail.
LEAVES = {"mpi": "cli", "runtime": None}
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 1000
MAX_COLUMNS = 120
# Maximum share of the lines of src: for a folder with its subfolders, and for the files directly in one folder.
MAX_OF_FOLDER = 0.18
MAX_OF_SUBFOLDER = 0.06

SOURCE = Path(".")
COMPILER = None


def without_comments_and_strings(text):
    """Returns the code with comments and the contents of literals blanked, keeping its lines."""
    pattern = re.compile(
        r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\\n])+\''
    )

    def blank(match):
        found = match.group(0)
        kept = '""' if found[0] in "R\"'" else ""
        return kept + "\n" * found.count("\n")

    return pattern.sub(blank, text)


def functions_of(code):
    """Yields (name, first line, number of lines) of every function body: a brace after a parameter list, outside
    functions."""
    functions = []
    enclosing = []  # for each open brace: "scope" (namespace, type), "function" with its start, or "other"
    header_start = 0
    line = 1
    for position, character in enumerate(code):
        if character == "\n":
            line += 1
        elif character == ";" and code.count("(", header_start, position) == code.count(")", header_start, position):
            header_start = position + 1
        elif character == "{":
            header = re.sub(r"^\s*#.*$", "", code[header_start:position], flags=re.M).strip()
            first = line - code[header_start:position].lstrip().count("\n")
            if any(kind != "scope" for kind, _, _ in enclosing):
                enclosing.append(("other", header, first))
            elif re.match(r"(inline |export )*(namespace|extern)\b", header) or re.match(
                r"(template\s*<.*>\s*)?(struct|class|union|enum)\b[^()]*$", header, re.S
            ):
                enclosing.append(("scope", header, first))
            elif (
                code[position - 1].isspace()
                and ")" in header
                and header.count("(") == header.count(")")
                and not header.endswith("=")
            ):
                enclosing.append(("function", header, first))
            else:
                enclosing.append(("other", header, first))
            if enclosing[-1][0] != "other":
                header_start = position + 1
        elif character == "}":
            kind, header, first = enclosing.pop()
            if kind == "function":
                functions.append((header.split("(")[0].split()[-1], first, line - first + 1))
            if kind != "other":
                header_start = position + 1
    return functions


class SourceTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = SOURCE / "src"
        cls.text = {
            path.relative_to(cls.root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(cls.root.rglob("*"))
            if path.suffix in (".h", ".cpp")
        }
        cls.code = {name: without_comments_and_strings(text) for name, text in cls.text.items()}
        cls.includes = {name: re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M) for name, text in cls.text.items()}
        assert cls.text, f"no sources in {cls.root}"

    def assert_none(self, faults):
        self.assertFalse(faults, "\n" + "\n".join(faults))

    def test_lines_are_short(self):
        self.assert_none(
            [
                f"{name}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
                for name, text in self.text.items()
                for number, line in enumerate(text.splitlines(), 1)
                if len(line) > MAX_COLUMNS
            ]
        )

    def test_no_folder_outgrows_the_others(self):
        lines = {name: len(text.splitlines()) for name, text in self.text.items()}
        whole = sum(lines.values())
        folders, subfolders = Counter(), Counter()
        for name, count in lines.items():
            folders[name.split("/")[0]] += count
            subfolders[name.rpartition("/")[0]] += count
        self.assert_none(
            [
                f"src/{name}: {count / whole:.1%} of src, at most {most:.0%}"
                for shares, most in ((folders, MAX_OF_FOLDER), (subfolders, MAX_OF_SUBFOLDER))
                for name, count in shares.items()
                if count > most * whole
            ]
        )

    def test_every_folder_is_a_known_layer(self):
        def is_known(folder, *subfolders):
            known = SUBFOLDERS.get(folder, [])
            return folder in [*LAYERS, *LEAVES] and (not subfolders or subfolders in [(name,) for name in known])

        self.assert_none([name for name in self.text if not is_known(*name.split("/")[:-1])])

    def test_includes_are_rooted_and_exist(self):
        self.assert_none(
            [
                f'{name}: "{include}"'
                for name, includes in self.includes.items()
                for include in includes
                if include not in self.text
            ]
        )

    def test_includes_follow_the_layers(self):
        faults = []
        for name, includes in self.includes.items():
            own = name.split("/")[0]
            for include in includes:
                other = include.split("/")[0]
                if own == other:
                    continue
                end = LEAVES.get(own, own)
                allowed = LAYERS[: LAYERS.index(end)] if end else LAYERS
                if other not in allowed:
                    faults.append(f"{name} includes {include}")
        self.assert_none(faults)

    def test_includes_follow_the_subfolders(self):
        def place(name):  # position of the subfolder in its folder; files directly in the folder come last
            folder, *subfolders = name.split("/")[:-1]
            subfolder = subfolders[0] if subfolders else "."
            return SUBFOLDERS[folder].index(subfolder) if subfolder in SUBFOLDERS[folder] else len(SUBFOLDERS[folder])

        self.assert_none(
            [
                f"{name} includes {include}"
                for name, includes in self.includes.items()
                for include in includes
                if name.split("/")[0] == include.split("/")[0] in SUBFOLDERS and place(include) > place(name)
            ]
        )

    def test_no_include_cycle(self):
        done, path = set(), []

        def visit(name):
            if name in path:
                return [" -> ".join(path[path.index(name) :] + [name])]
            if name in done:
                return []
            path.append(name)
            faults = [fault for include in self.includes.get(name, []) for fault in visit(include)]
            path.pop()
            done.add(name)
            return faults

        self.assert_none([fault for name in self.text for fault in visit(name)])

    def test_headers_are_self_contained(self):
        """A source includes its own header first, so a build of single files proves the header self-contained. A header
        without a source is compiled alone."""
        faults = []
        alone = []
        for name in self.text:
            if not name.endswith(".h"):
                continue
            source = name[:-2] + ".cpp"
            if source not in self.text:
                alone += [name] if COMPILER else []
            elif self.includes[source][:1] != [name]:
                faults.append(f"{source} does not include {name} first")
        commands = {
            name: [COMPILER, "-std=c++20", f"-I{self.root}", "-fsyntax-only", "-x", "c++", str(self.root / name)]
            for name in alone
        }
        for name, command in commands.items():
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                faults.append(f"{name} does not compile alone:\n{result.stderr}")
        self.assert_none(faults)

    def test_headers_are_guarded_and_open_no_namespace(self):
        self.assert_none(
            [
                name
                for name, text in self.text.items()
                if name.endswith(".h")
                and ("#pragma once" not in text or re.search(r"\busing\s+namespace\b", self.code[name]))
            ]
        )

    def test_every_file_is_in_its_folders_namespace(self):
        self.assert_none(
            [
                name
                for name, code in self.code.items()
                if not name.endswith("/main.cpp") and f"namespace dovetail::{name.split('/')[0]}" not in code
            ]
        )

    def test_files_are_short(self):
        self.assert_none(
            [
                f"{name}: {len(text.splitlines())} lines, at most {MAX_FILE_LINES}"
                for name, text in self.text.items()
                if len(text.splitlines()) > MAX_FILE_LINES
            ]
        )

    def test_functions_are_short(self):
        found = {name: functions_of(code) for name, code in self.code.items()}
        self.assertGreater(
            sum(len(functions) for functions in found.values()), len(self.text), "the function count is broken"
        )
        self.assert_none(
            [
                f"{name}:{line}: {function} has {lines} lines, at most {MAX_FUNCTION_LINES}"
                for name, functions in found.items()
                for function, line, lines in functions
                if lines > MAX_FUNCTION_LINES
            ]
        )


class FunctionCounting(unittest.TestCase):
    def test_finds_functions_and_their_lengths(self):
        code = without_comments_and_strings(
            "namespace a {\n"
            "struct S {\n  explicit S(int a) : a_{a} {}\n  int x = f({1});\n  int get() const { return x; }  // {\n};\n"
            "constexpr int table[] = {1, 2};\n"
            'template <class T>\nint long_one(T t,\n             int u) {\n  if (t) {\n    g("}");\n  }\n  return u;\n}\n'
            "}  // namespace a\n"
        )
        self.assertEqual(functions_of(code), [("S", 3, 1), ("get", 5, 1), ("long_one", 8, 8)])


if __name__ == "__main__":
    SOURCE = Path(sys.argv.pop(1))
    COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else None
    unittest.main()
