#!/usr/bin/env python3
"""Combines all of src into a few compilation units for clang-tidy, which spends most of its time on the headers of
a unit.

usage: tidy_units.py SOURCE_DIR BUILD_DIR

BUILD_DIR must be configured. Writes the units and their compile_commands.json to BUILD_DIR/tidy.
"""

import json
import shlex
import sys
from pathlib import Path

from unity_groups import groups_of

MOST_FILES = 80
# A check searches the whole unit for each of its findings, including the hundreds in these headers.
APART = "#include <CLI/CLI.hpp>"


def flags_of(build):
    """Returns the compiler flags of src that affect its meaning."""
    flags = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if any(word.startswith("src/CMakeFiles/") for word in words):
            words = iter(words)
            for word in words:
                flag = [word, next(words)] if word == "-isystem" else [word]
                if word.startswith(("-D", "-I", "-isystem", "-std=")) and flag not in flags:
                    flags.append(flag)
    return [word for flag in flags for word in flag]


def units_of(source, flags):
    """Returns [[file]], the largest unit first. Omits the runtime if libtorch's headers are missing or clang cannot
    compile them."""
    files = sorted((source / "src").rglob("*.cpp"))
    if "-DAT_PER_OPERATOR_HEADERS" not in flags:
        files = [file for file in files if source / "src" / "runtime" not in file.parents]
    runtime = [file for file in files if source / "src" / "runtime" in file.parents]
    apart = [file for file in files if APART in file.read_text(encoding="utf-8") and file not in runtime]
    units = []
    for part in (apart, runtime, [file for file in files if file not in apart + runtime]):
        if not part:
            continue
        numbers = groups_of(part, MOST_FILES)
        units += [[file for file, of in zip(part, numbers) if of == number] for number in sorted(set(numbers))]
    return sorted(units, key=len, reverse=True)


def write_units(source, build):
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)
    flags = flags_of(build)
    commands = []
    for number, files in enumerate(units_of(source, flags)):
        unit = folder / f"unit_{number}.cpp"
        unit.write_text("".join(f'#include "{file}"\n' for file in files), encoding="utf-8")
        arguments = ["clang++", *flags, "-c", str(unit)]
        commands.append({"directory": str(build), "file": str(unit), "arguments": arguments})
    (folder / "compile_commands.json").write_text(json.dumps(commands, indent=1), encoding="utf-8")


if __name__ == "__main__":
    write_units(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
