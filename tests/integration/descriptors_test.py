#!/usr/bin/env python3
"""Tests that a member without a field in its struct's descriptor (src/base/descriptor.h) does not compile.

usage: descriptors_test.py SOURCE_DIR COMPILER
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(".")
COMPILER = "c++"
MESSAGE = "fields_of must list one field per member of the struct"
EXPECTED = {
    "Engine",
    "Offload",
    "MicroBatching",
    "Layout",
    "Transformer",
    "LatentAttention",
    "Experts",
    "AlgorithmOptions",
    "Software",
}


def described():
    """Returns the structs described in each header of src/, except the example in descriptor.h itself."""
    structs = {}
    for header in sorted((SOURCE / "src").rglob("*.h")):
        names = re.findall(
            r"^template <std::same_as<(\w+)> T>\nconstexpr auto fields_of\(", header.read_text(encoding="utf-8"), re.M
        )
        if names:
            structs[header.relative_to(SOURCE / "src")] = names
    return structs


def errors_with(header, text, names):
    """Returns the compiler's messages for a program that uses the lists of `names`, with `text` replacing that
    header."""
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder) / header
        changed.parent.mkdir(parents=True)
        changed.write_text(text, encoding="utf-8")
        program = Path(folder) / "program.cpp"
        uses = [
            f"const auto of_{name} = fields_of(static_cast<const dovetail::{header.parts[0]}::{name}*>(nullptr));"
            for name in names
        ]
        program.write_text("\n".join([f'#include "{header.as_posix()}"', *uses, ""]), encoding="utf-8")
        done = subprocess.run(
            [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{folder}", f"-I{SOURCE / 'src'}", str(program)],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr if done.returncode else ""


class Descriptors(unittest.TestCase):
    def test_every_described_struct_is_found(self):
        self.assertLessEqual(EXPECTED, {name for names in described().values() for name in names})

    def test_cover_all_members(self):
        for header, names in described().items():
            with self.subTest(header=header):
                text = (SOURCE / "src" / header).read_text(encoding="utf-8")
                for name in names:
                    text, count = re.subn(
                        rf"^struct {name} {{\n", r"\g<0>  bool forgotten = false;\n", text, flags=re.M
                    )
                    self.assertEqual(count, 1)
                errors = errors_with(header, text, names)
                self.assertEqual(
                    len(re.findall(f"error: static assertion failed.*{MESSAGE}", errors)), len(names), errors
                )

    def test_take_a_member_with_its_field(self):
        header = Path("plan/task_plan.h")
        text = (SOURCE / "src" / header).read_text(encoding="utf-8")
        text = text.replace("struct Engine {\n", "struct Engine {\n  bool remembered = false;\n")
        begin = text.index("base::fields<T>(\n", text.index("std::same_as<Engine>"))
        field = 'base::fields<T>(field("remembered", &T::remembered, Flag{}),\n'
        text = text[:begin] + field + text[begin + len("base::fields<T>(\n") :]
        self.assertEqual(errors_with(header, text, ["Engine"]), "")


if __name__ == "__main__":
    SOURCE, COMPILER = Path(sys.argv[1]), sys.argv[2]
    unittest.main(argv=sys.argv[:1])
