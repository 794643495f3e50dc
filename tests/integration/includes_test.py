#!/usr/bin/env python3
"""A source of src has the headers of what it uses of the standard library and of fmt, itself or by a header of ours: a
build that reads these headers once for all files (precompiled, or several files as one) would not miss them.

usage: includes_test.py SOURCE_DIR
"""

import functools
import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(".")

# What is used of namespace std, by the header that has it.
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
# Headers that the standard says have what another one has, or that can say nothing without it.
BROUGHT_BY = {
    "cstddef": {"array", "cstdint", "optional", "span", "string", "vector"},
    "cstdlib": {"cmath"},
    "utility": {"algorithm", "functional", "map", "memory", "optional", "string", "tuple", "variant", "vector"},
    "tuple": {"functional", "map"},
}
LITERAL_OR_COMMENT = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"')


def missing_headers(texts):
    """[(source, header)]: what each of the sources uses and has from nowhere; texts: {name from src: content}."""
    ours = {name: re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M) for name, text in texts.items()}
    others = {name: re.findall(r"^\s*#\s*include\s+<([^>]+)>", text, re.M) for name, text in texts.items()}

    @functools.cache
    def headers_of(name):
        return frozenset(others.get(name, [])).union(*(headers_of(other) for other in ours.get(name, []) if other != name))

    missing = set()
    for name, text in texts.items():
        code = LITERAL_OR_COMMENT.sub(" ", text)
        used = {HEADER_OF[found] for found in re.findall(r"\bstd::(\w+)", code) if found in HEADER_OF}
        used |= {"fmt/format.h"} if re.search(r"\bfmt::", code) else set()
        have = headers_of(name)
        missing |= {(name, header) for header in used - have if not BROUGHT_BY.get(header, set()) & have}
    return sorted(missing)


class Includes(unittest.TestCase):
    def test_each_source_has_what_it_uses(self):
        root = SOURCE / "src"
        texts = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in root.rglob("*")
            if path.suffix in (".h", ".cpp")
        }
        missing = missing_headers(texts)
        self.assertFalse(missing, "\n" + "\n".join(f"src/{name} lacks <{header}>" for name, header in missing))

    def test_what_is_missing_is_found(self):
        texts = {
            "all": "#include <vector>\nstd::vector<int> all();\n",
            "one": '#include "all"\n// std::map\nstd::optional<int> f() { return std::max(1, 2); }\n',
            "two": '#include "all"\nstd::vector<std::size_t> g() { return fmt::format("std::set"); }\n',
        }
        expected = [("one", "algorithm"), ("one", "optional"), ("two", "fmt/format.h")]
        self.assertEqual(missing_headers(texts), expected)


if __name__ == "__main__":
    SOURCE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
