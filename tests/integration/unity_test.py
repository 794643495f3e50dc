#!/usr/bin/env python3
"""Tests the groups of files that are compiled as one (cmake/unity_groups.py): files that use one name for different
things are never grouped.

usage: unity_test.py SOURCE_DIR
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path("cmake/unity_groups.py")


def unnamed(body):
    return f"namespace dovetail {{\nnamespace {{\n{body}\n}}  // namespace\n}}  // namespace dovetail\n"


class Groups(unittest.TestCase):
    def groups(self, *texts, most_files=12):
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{number}.cpp" for number in range(len(texts))]
            for path, text in zip(paths, texts):
                path.write_text(text, encoding="utf-8")
            command = [sys.executable, str(SCRIPT), str(most_files), *map(str, paths)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [int(number) for number in printed.split(";")]

    def test_files_without_a_common_name_are_together_up_to_the_limit(self):
        texts = [unnamed(f"int count_{number}(int a) {{\n  return a;\n}}") for number in range(5)]
        self.assertEqual(self.groups(*texts), [0, 0, 0, 0, 0])
        self.assertEqual(self.groups(*texts, most_files=2), [0, 0, 1, 1, 2])

    def test_common_names_separate_files(self):
        for first, second in (
            ("struct Parts {", "struct Parts {"),
            ("constexpr int most = 3;", "constexpr long most = 4;"),
            ("int read(int a) {", "std::optional<int> read(const std::string& text) {"),
            ("using Row = int;", "enum class Row { a };"),
            ("constexpr int hues[] = {1};", "const int hues[2] = {1, 2};"),
            ("template <class T>\nT sum(T a) {", "int sum(int a) {"),
        ):
            with self.subTest(first=first, second=second):
                self.assertEqual(self.groups(unnamed(first), unnamed(second), unnamed("int other = 1;")), [0, 1, 0])

    def test_overloads_are_together_if_a_parameter_has_two_class_types(self):
        for first, second, numbers in (
            ("Json json_of(const Row& row) {", "Json json_of(const Table& table) {", [0, 0]),
            ("Json json_of(const Row& row) {", "Json json_of(const Row& row, int depth) {", [0, 1]),
            ("Json json_of(int row) {", "Json json_of(const std::string& text) {", [0, 1]),
            ("Json json_of(const Row& row) {", "Json json_of(const Table& table = {}) {", [0, 1]),
            ("Json json_of(const Row& row) {", "template <class T>\nJson json_of(const T& table) {", [0, 1]),
            ('Json json_of(const std::string& a = "x, y") {', "Json json_of(const std::string& b) {", [0, 1]),
        ):
            with self.subTest(first=first, second=second):
                self.assertEqual(self.groups(unnamed(first), unnamed(second)), numbers)

    def test_members_and_variables_hide_functions(self):
        own = unnamed("int step(int a) {\n  return a;\n}")
        for text in (
            unnamed("class Walk {\n  int step(int a) { return a; }\n  int run() { return step(1); }\n};"),
            unnamed("int run(const std::function<int(int)>& step) {\n  return step(1);\n}"),
            unnamed("int run() {\n  const auto step = [](int a) { return a; };\n  return step(1);\n}"),
        ):
            with self.subTest(text=text):
                self.assertEqual(self.groups(own, text), [0, 0])

    def test_files_of_different_namespaces_do_not_disturb_each_other(self):
        one, other = (
            unnamed("constexpr int most = 3;\nint read(int a) {").replace("dovetail", f"dovetail::{name}")
            for name in "ab"
        )
        self.assertEqual(self.groups(one, other), [0, 0])
        self.assertEqual(self.groups("#define LIMIT 1\n" + one, "#define LIMIT 2\n" + other), [0, 1])

    def test_different_macros_and_using_declarations_separate_files(self):
        self.assertEqual(self.groups("#define LIMIT 1\n", "#define LIMIT 2\n"), [0, 1])
        self.assertEqual(
            self.groups("using Row = int;\n", "using Row = long;\n", "using Row = int;\n"), [0, 1, 0]
        )
        self.assertEqual(self.groups("using base::Ticks;\n", "using pipeline::Ticks;\n"), [0, 0])

    def test_a_call_is_separated_from_a_local_function_of_that_name(self):
        own = unnamed("Json to_json(const Row& row) {\n  return {};\n}")
        call = "namespace dovetail {\nvoid write(const Answer& answer) {\n  print(to_json(answer));\n}\n}\n"
        self.assertEqual(self.groups(own, call), [0, 1])
        self.assertEqual(self.groups(call, call.replace("write", "send")), [0, 0])


if __name__ == "__main__":
    SCRIPT = Path(sys.argv.pop(1)) / "cmake" / "unity_groups.py"
    unittest.main()
