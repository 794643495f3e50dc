#!/usr/bin/env python3
"""Prints for each source file the number of the group with which it can be compiled as one (DOVETAIL_UNITY,
cmake/Unity.cmake).

Two files of a namespace are in different groups if they use one name for different things in their unnamed
namespaces, for a macro, or in a using-declaration. A type that two namespaces export under one name counts as one
thing. Functions with one name can share a group, as overloads, if a parameter has two different class types. Names in
unnamed namespaces therefore need not be unique in a folder. A conflict that this script misses is a compile error of
the group.

usage: unity_groups.py MAX_FILES SOURCE...
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
# clang-format does not indent the contents of a namespace, so a line that starts with a letter declares something.
MACRO = re.compile(r"^#define (\w+)", re.M)
TYPE = re.compile(r"^(?:template .*?> )?(?:struct|class|union|enum class|enum) (\w+)")
ALIAS = re.compile(r"^using (\w+) = (.*);", re.M)
FUNCTION = re.compile(r"^(?!using |namespace |template |constexpr [^(]*=|const [^(]*=)[A-Za-z][^(={;]*?(\w+)(?=\()", re.M)
CONSTANT_OR_TEMPLATE = re.compile(r"^(?!using |namespace )[A-Za-z][^(={]*?(\w+)(?:\[\w*\])?\s*[({=;]")
USING_DECLARATION = re.compile(r"^using ([\w:]*::(\w+));", re.M)
CALLED = re.compile(r"(?<![\w:.>])(\w+)\(")
# Members and variables.
HIDING = re.compile(r"^ +(?!return\b|case\b|else\b)[\w:<>,&* ]*[\w>&*] (\w+)\(|(?:[&>*]|\bauto) (\w+)(?= ?[,);={])", re.M)
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
TEST_MACROS = re.compile(r"(TEST|RC_GTEST|INSTANTIATE_|TYPED_)")
# Types that convert implicitly, so they do not tell overloads apart.
CONVERTIBLE = re.compile(r"bool|char|int|unsigned|float|double|auto|(std::)?(size_t|u?int\d+_t|string|string_view)|std::function.*|(base::)?Ticks")


@dataclass(frozen=True)
class Function:
    """A function of a file, and its parameter types: None where they do not tell overloads apart."""

    file: str
    parameters: tuple


@dataclass(frozen=True)
class Entity:
    """Anything else that a name means. Equal keys mean the same entity."""

    key: str


UNKNOWN_FUNCTION = Entity("a function declared elsewhere")


def parameters_of(text, begin):
    """Returns the parameter types of the function whose list starts at text[begin] == "("."""
    depth, current, parameters = 0, "", []
    for character in LITERAL.sub("", text[begin : begin + 1000]):
        depth += (character in "(<{[") - (character in ")>}]")
        if depth == 0 or (depth == 1 and character == ","):
            parameters.append(current)
            current = ""
            if depth == 0:
                break
        elif (depth, character) != (1, "("):
            current += character
    types = []
    for parameter in parameters:
        plain = re.sub(r"\bconst\b|[&*]", " ", parameter.split("=")[0]).strip()
        kind = re.sub(r"\s", "", re.sub(r"\s\w+$", "", plain))
        types.append(None if not kind or "=" in parameter or CONVERTIBLE.fullmatch(kind) else kind)
    return tuple(types)


def functions_in(text, file):
    """Yields (position, name, Function) for each function declared at the start of a line; a template's types are unknown."""
    for found in FUNCTION.finditer(text):
        is_template = text[: found.start()].rstrip("\n").rsplit("\n", 1)[-1].startswith("template ")
        yield found.start(), found.group(1), Function(file, (None,) if is_template else parameters_of(text, found.end()))


def functions_of_headers(sources):
    """Returns {name: set of Functions} of the headers in the folders of the sources. They can always be in one group."""
    functions = {}
    for header in {header for source in sources for header in Path(source).parent.glob("*.h")}:
        for _, name, function in functions_in(header.read_text(encoding="utf-8"), "a header"):
            functions.setdefault(name, set()).add(function)
    return functions


def hiding_names_in(text):
    """Returns the names of members and variables, which hide functions of the folder."""
    return {name for names in HIDING.findall(text) for name in names}


def meanings_of(source, folder_functions):
    """Returns {(namespace, name): set of meanings} of a file."""
    text = Path(source).read_text(encoding="utf-8")
    found = NAMESPACE.search(text)
    namespace = found.group(1) if found else ""
    meanings = {}

    def add(name, meaning, space=namespace):
        meanings.setdefault((space, name), set()).add(meaning)

    for target, name in USING_DECLARATION.findall(text):
        add(name, Entity(target.rsplit("::")[-1]))
    for name, target in ALIAS.findall(text):
        add(name, Entity(target.rsplit("::")[-1]))
    for name in MACRO.findall(text):
        add(name, Entity(source), "")
    for unnamed in UNNAMED.findall(text):
        functions = {begin: (name, function) for begin, name, function in functions_in(unnamed, source)}
        begin = 0
        for line in unnamed.splitlines(keepends=True):
            if TEST_MACROS.match(line) or ALIAS.match(line):
                pass
            elif found := TYPE.match(line):
                add(found.group(1), Entity(source))
            elif begin in functions:
                add(*functions[begin])
            elif found := CONSTANT_OR_TEMPLATE.match(line):
                add(found.group(1), Entity(source))
            begin += len(line)
    hidden = hiding_names_in(text)
    for name in set(CALLED.findall(text)) - hidden - {name for _, name in meanings}:
        for function in folder_functions.get(name, {UNKNOWN_FUNCTION}):
            add(name, function)
    return meanings


def can_meet(one, other):
    """Whether both meanings of a name can be in one group."""
    if not (isinstance(one, Function) and isinstance(other, Function)):
        return one == other
    return one.file == other.file or any(a and b and a != b for a, b in zip(one.parameters, other.parameters))


def fit(one, other):
    """Whether files with these meanings can be in one group."""
    fewer, more = sorted((one, other), key=len)
    return all(can_meet(a, b) for name, mine in fewer.items() for a in mine for b in more.get(name, ()))


def groups_of(sources, max_files):
    """Returns the group number of each source: the first compatible group that is not full."""
    groups = []  # for each group: its meanings, and its number of files
    numbers = []
    folder_functions = functions_of_headers(sources)
    for source in sources:
        meanings = meanings_of(source, folder_functions)
        number = next(
            (i for i, (taken, files) in enumerate(groups) if files < max_files and fit(meanings, taken)), len(groups)
        )
        if number == len(groups):
            groups.append(({}, 0))
        taken, files = groups[number]
        for name, mine in meanings.items():
            taken.setdefault(name, set()).update(mine)
        groups[number] = (taken, files + 1)
        numbers.append(number)
    return numbers


if __name__ == "__main__":
    print(";".join(map(str, groups_of(sys.argv[2:], int(sys.argv[1])))))
