#!/usr/bin/env python3
"""Prints, for each source file, the number of the group that it can be compiled with as one (DOVETAIL_UNITY,
cmake/Unity.cmake).

Two files that use one name for different things in their unnamed namespaces, for a macro or in a using-declaration fall
into different groups, so such names need not be unique in a folder. What this overlooks shows as an error when the
group is compiled.

usage: unity_groups.py MOST_FILES SOURCE...
"""

import re
import sys
from pathlib import Path

UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
# clang-format leaves what a namespace holds unindented, so a line that starts with a letter declares something.
DECLARED = [
    re.compile(r"^#define (\w+)"),
    re.compile(r"^(?:template .*?> )?(?:struct|class|union|enum class|enum) (\w+)"),
    re.compile(r"^using (\w+) ="),
    re.compile(r"^(?!using |namespace )[A-Za-z][^(={]*?(\w+)(?:\[\w*\])?\s*(?:[({=;]|$)"),
]
USING_DECLARATION = re.compile(r"^using ([\w:]*::(\w+));", re.M)
CALLED = re.compile(r"(?<![\w:.>])(\w+)\(")
TEST_MACROS = re.compile(r"(TEST|RC_GTEST|INSTANTIATE_|TYPED_)")


def names_of(source):
    """{name: what it stands for} of the file's own: macros, using-declarations, all in unnamed namespaces; and of what
    else it calls."""
    text = Path(source).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("#define")]
    lines += [line for body in UNNAMED.findall(text) for line in body.splitlines()]
    names = dict.fromkeys(CALLED.findall(text), "the function of that name in the folder")
    names |= {name: target for target, name in USING_DECLARATION.findall(text)}
    for line in lines:
        if not TEST_MACROS.match(line):
            found = next((match for match in (pattern.match(line) for pattern in DECLARED) if match), None)
            names |= {found.group(1): source} if found else {}
    return names


def fit(one, other):
    """Whether each name stands for the same in both."""
    return all(other.get(name, what) == what for name, what in one.items())


def groups_of(sources, most_files):
    """The number of each source's group: the first with room for it that it fits."""
    groups = []  # of each: its names, and how many files it has
    numbers = []
    for source in sources:
        names = names_of(source)
        number = next(
            (i for i, (taken, files) in enumerate(groups) if files < most_files and fit(names, taken)), len(groups)
        )
        if number == len(groups):
            groups.append(({}, 0))
        groups[number] = (groups[number][0] | names, groups[number][1] + 1)
        numbers.append(number)
    return numbers


if __name__ == "__main__":
    print(";".join(map(str, groups_of(sys.argv[2:], int(sys.argv[1])))))
