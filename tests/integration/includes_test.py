#!/usr/bin/env python3
"""Tests that a source of src includes the headers of everything it uses (standard library, fmt, our own), directly
or through another header of ours. A unity build (cmake/Unity.cmake) would not notice a missing one.

usage: includes_test.py SOURCE_DIR
"""

import collections
import functools
import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(".")

# Names of namespace std by header.
OF_STD = {
    "algorithm": "all_of any_of clamp count_if find find_if lower_bound max min none_of sort stable_sort upper_bound",
    "array": "array",
    "atomic": "atomic",
    "charconv": "from_chars",
    "chrono": "chrono",
    "cmath": "ceil exp floor isfinite log round sqrt",
    "cstddef": "size_t",
    "cstdint": "int32_t int64_t uint8_t uint32_t uint64_t",
    "cstdlib": "abs",
    "deque": "deque",
    "filesystem": "filesystem",
    "functional": "function",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "mutex": "mutex",
    "numeric": "accumulate gcd iota",
    "optional": "nullopt optional",
    "queue": "priority_queue",
    "set": "set",
    "span": "span",
    "string": "string to_string",
    "string_view": "string_view",
    "thread": "thread",
    "tuple": "tie tuple",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange move pair swap",
    "variant": "get_if variant visit",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in OF_STD.items() for name in names.split()}
# Headers that are guaranteed to include another one, or that are useless without it.
BROUGHT_BY = {
    "cstddef": {"array", "cstdint", "optional", "span", "string", "vector"},
    "cstdlib": {"cmath"},
    "utility": {"algorithm", "functional", "map", "memory", "optional", "string", "tuple", "variant", "vector"},
    "tuple": {"functional", "map"},
    "fmt/core.h": {"fmt/format.h", "fmt/ranges.h"},
}
LITERAL_OR_COMMENT = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"')


INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)

# clang-format does not indent the contents of a namespace, so an unindented line declares something visible to
# includers.
DECLARED = [
    re.compile(r"^(?:template .*?> )?(?:struct|class|union|enum class|enum) (\w+)(?!.*;\s*$)", re.M),
    re.compile(r"^using (\w+) =", re.M),
    re.compile(
        r"^(?!using |namespace |#|struct |class |enum |return |template )[A-Za-z_][^(={};\n]*?"
        r"\b(\w+)(?:\[\w*\])?\s*(?:[({=;]|$)",
        re.M,
    ),
]
# Members, local names and forward declarations, which a use of the name may refer to.
SPOKEN = [
    re.compile(r"^ +[^(={};\n]*?[\w>&*\]] [*&]?(\w+)\(", re.M),
    re.compile(r"\(\*(\w+)\)\("),
    re.compile(r"\bauto (\w+) (?:= \[|:)"),
    re.compile(r"^ +(?:struct|class|enum class) (\w+)", re.M),
    re.compile(r"\b(?:class|struct|enum class|enum) (\w+)[^;{]*;"),
]
CALL = re.compile(r"(?<![\w.:>])(\w+)\(")
TYPE = re.compile(r"(?<![\w.:>])([A-Z]\w*[a-z]\w*)\b")
NAMED = re.compile(r"(?<![\w.:> ] )(?<![\w.:>&*])([a-z]\w*_\w+)\b(?![(<:=])")
QUALIFIED = re.compile(r"(?<![\w:])(?:dovetail::)?(\w+)::(\w+)")
MACRO = re.compile(r"^#\s*define (\w+)", re.M)
# Templates find them by argument-dependent lookup when instantiated.
FOUND_BY_ARGUMENT = {"fields_of", "options_of"}


class Sources:
    """Includes and declarations of sources; texts: {name from src: content}."""

    def __init__(self, texts):
        self.code = {name: LITERAL_OR_COMMENT.sub(" ", text) for name, text in texts.items()}
        self.ours, self.others = {}, {}
        for name, text in texts.items():
            found = INCLUDE.findall(text)
            self.ours[name] = [own for own, _ in found if own and own != name]
            self.others[name] = [other for _, other in found if other]
        # Headers by folder (the namespace) and name.
        self.headers = collections.defaultdict(set)
        for name, code in self.code.items():
            if name.endswith(".h"):
                for declared in names_by(DECLARED, code):
                    self.headers[folder_of(name), declared].add(name)
                for macro in MACRO.findall(code):
                    self.headers["", macro].add(name)
        self.folders = {folder_of(name) for name in texts}
        self.spoken = {name: names_by(SPOKEN, code) for name, code in self.code.items()}

    @functools.cache
    def seen_by(self, name):
        """Returns a source and all of our files that it includes."""
        return frozenset([name]).union(*(self.seen_by(other) for other in self.ours.get(name, [])))


def folder_of(name):
    return name.partition("/")[0]


def names_by(patterns, code):
    return {found for pattern in patterns for found in pattern.findall(code)}


def fmt_headers_of(code):
    """Returns the header that declares the names of fmt in the code."""
    names = set(re.findall(r"\bfmt::(\w+)", code))
    if names - {"format", "format_string", "print", "string_view", "vformat"}:
        return {"fmt/format.h"}
    return {"fmt/core.h"} if names else set()


def missing_of_others(sources):
    """Returns [(source, header)] for names of the standard library and fmt whose header a source does not include."""
    missing = set()
    for name, code in sources.code.items():
        used = {HEADER_OF[found] for found in re.findall(r"\bstd::(\w+)", code) if found in HEADER_OF}
        used |= fmt_headers_of(code)
        have = {header for seen in sources.seen_by(name) for header in sources.others.get(seen, [])}
        missing |= {(name, header) for header in used - have if not BROUGHT_BY.get(header, set()) & have}
    return sorted(missing)


def missing_of_ours(sources):
    """Returns [(source, name)] for our names that a source uses without seeing a declaration."""
    missing = set()
    for name, code in sources.code.items():
        seen = sources.seen_by(name)
        known = names_by(DECLARED, code) | FOUND_BY_ARGUMENT
        known.update(*(sources.spoken.get(other, set()) for other in seen))
        here = {found for pattern in (CALL, TYPE, NAMED) for found in pattern.findall(code)} - known
        # A function may be found by argument-dependent lookup in the argument's namespace.
        used = {(folder_of(name), found) for found in here if not sees_any(sources, seen, found)}
        used |= {(folder, found) for folder, found in QUALIFIED.findall(code) if found not in known}
        used |= {("", macro) for macro in re.findall(r"\bDOVETAIL_\w+", code)}
        missing |= {(name, what) for key, what in used if sources.headers.get((key, what), seen).isdisjoint(seen)}
    return sorted(missing)


def sees_any(sources, seen, name):
    return any(not sources.headers.get((folder, name), set()).isdisjoint(seen) for folder in sources.folders)


def header(name):
    return f"a/{name}.h"


class Includes(unittest.TestCase):
    def test_each_source_includes_what_it_uses(self):
        root = SOURCE / "src"
        sources = Sources(
            {
                path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
                for path in root.rglob("*")
                if path.suffix in (".h", ".cpp")
            }
        )
        missing = [f"src/{name} lacks <{header}>" for name, header in missing_of_others(sources)]
        missing += [f"src/{name} sees no declaration of {what}" for name, what in missing_of_ours(sources)]
        self.assertFalse(missing, "\n" + "\n".join(missing))

    def test_a_missing_library_header_is_found(self):
        all_, one, two = (header(name) for name in ("all", "one", "two"))
        sources = Sources(
            {
                all_: "#include <vector>\nstd::vector<int> all();\n",
                one: f'#include "{all_}"\n// std::map\nstd::optional<int> f() {{ return std::max(1, 2); }}\n',
                two: f'#include "{all_}"\nstd::vector<std::size_t> g() {{ return fmt::format("std::set"); }}\n',
            }
        )
        expected = [(one, "algorithm"), (one, "optional"), (two, "fmt/core.h")]
        self.assertEqual(missing_of_others(sources), expected)

    def test_a_missing_own_header_is_found(self):
        of_type, of_make = header("type"), header("make")
        declarations = {
            of_type: "struct Type {\n  int size() const;\n};\n#define DOVETAIL_TRY(x) x\n",
            of_make: f'#include "{of_type}"\nType make_one();\nint count_of(const Type& type);\n',
        }
        for use, include, missing in (
            ("Type type;", "", "Type"),
            ("Type type;", of_type, None),
            ("auto type = make_one();", of_type, "make_one"),
            ("auto type = make_one();", of_make, None),
            ("Maker maker{.make = make_one};", of_type, "make_one"),
            ("type.size(); type.make_one(); // make_one()", "", None),
            ("struct Type {\n};\nType type;", "", None),
            ("DOVETAIL_TRY(1)", "", "DOVETAIL_TRY"),
        ):
            with self.subTest(use=use, include=include):
                text = (f'#include "{include}"\n' if include else "") + use + "\n"
                sources = Sources({**declarations, "a/use": text})
                self.assertEqual(missing_of_ours(sources), [("a/use", missing)] if missing else [])
        sources = Sources({**declarations, "b/use": "a::Type type = b::make_one();\n"})
        self.assertEqual(missing_of_ours(sources), [("b/use", "Type")])


if __name__ == "__main__":
    SOURCE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
