#!/usr/bin/env python3
"""Prints for each source file the number of the group with which it can be compiled as one (DOVETAIL_UNITY,
cmake/Unity.cmake).

Two files of a namespace are in different groups if they use one name for different things in their unnamed
namespaces, for a macro or in a using-declaration, or if a constant of one is a local name of the other, which would
shadow it. Such names therefore need not be unique in a folder. A conflict that this script misses is a compile
error of the group.

usage: unity_groups.py MOST_FILES SOURCE...
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
# clang-format does not indent the contents of a namespace, so a line that starts with a letter declares something.
MACRO = re.compile(r"^#define (\w+)", re.M)
TYPE = [re.compile(r"^(?:template .*?> )?(?:struct|class|union|enum class|enum) (\w+)"), re.compile(r"^using (\w+) =")]
FUNCTION_OR_CONSTANT = re.compile(r"^(?!using |namespace )[A-Za-z][^(={]*?(\w+)(?:\[\w*\])?\s*([({=;]|$)")
USING_DECLARATION = re.compile(r"^using ([\w:]*::(\w+));", re.M)
CALLED = re.compile(r"(?<![\w:.>])(\w+)\(")
WORD = re.compile(r"(?<![\w:.>])[A-Za-z]\w*")
TEST_MACROS = re.compile(r"(TEST|RC_GTEST|INSTANTIATE_|TYPED_)")


@dataclass
class Names:
    """Names of a file or a group of files, each with its namespace."""

    meanings: dict = field(default_factory=dict)  # meaning of each name
    constants: set = field(default_factory=set)  # of unnamed namespaces
    words: set = field(default_factory=set)  # all words in the text

    def add(self, other):
        self.meanings |= other.meanings
        self.constants |= other.constants
        self.words |= other.words


def declared_by(line):
    """Returns (name, whether it is a constant) for the declaration in the line, or None."""
    for pattern in TYPE:
        if found := pattern.match(line):
            return found.group(1), False
    if found := FUNCTION_OR_CONSTANT.match(line):
        is_constructed = line.startswith("const") and line.endswith(");")
        return found.group(1), is_constructed or found.group(2) in ("=", "{", ";")
    return None


def names_of(source):
    text = Path(source).read_text(encoding="utf-8")
    found = NAMESPACE.search(text)
    namespace = found.group(1) if found else ""
    called = {name: "the function of that name in the folder" for name in CALLED.findall(text)}
    used = {name: target for target, name in USING_DECLARATION.findall(text)}
    names = Names({(namespace, name): meaning for name, meaning in (called | used).items()})
    names.meanings |= {("", name): source for name in MACRO.findall(text)}
    names.words = {(namespace, word) for word in WORD.findall(text)}
    for line in "".join(UNNAMED.findall(text)).splitlines():
        if not TEST_MACROS.match(line) and (declared := declared_by(line)):
            name, is_constant = declared
            names.meanings[namespace, name] = source
            if is_constant:
                names.constants.add((namespace, name))
    return names


def fit(one, other):
    """Whether each name has the same meaning in both, and no constant of one can be shadowed in the other."""
    fewer, more = sorted((one.meanings, other.meanings), key=len)
    return (
        all(more.get(name, meaning) == meaning for name, meaning in fewer.items())
        and one.constants.isdisjoint(other.words)
        and other.constants.isdisjoint(one.words)
    )


def groups_of(sources, most_files):
    """Returns the group number of each source: the first compatible group that is not full."""
    groups = []  # for each group: its names, and its number of files
    numbers = []
    for source in sources:
        names = names_of(source)
        number = next(
            (i for i, (taken, files) in enumerate(groups) if files < most_files and fit(names, taken)), len(groups)
        )
        if number == len(groups):
            groups.append((Names(), 0))
        groups[number][0].add(names)
        groups[number] = (groups[number][0], groups[number][1] + 1)
        numbers.append(number)
    return numbers


if __name__ == "__main__":
    print(";".join(map(str, groups_of(sys.argv[2:], int(sys.argv[1])))))
