#!/usr/bin/env python3
"""Tests that every path and anchor named in comments and pages exists.

Checks the links of Markdown pages. In pages and comments, also checks each name of a source, header, page or script
(`cost/batches.h`, `docs/facts.md#lengths`), relative to the file itself, the root or src. Ignores names of files that a
user would write (plan.json, run.log), unless they begin with a folder of the repository.

usage: links_test.py SOURCE_DIR
"""

import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(".")
SKIPPED = {"build", ".git", "node_modules"}
CODE = {".h", ".cpp", ".ts", ".py", ".mjs"}
# A name with one of these extensions always refers to a file of ours.
OURS = re.compile(
    r"(?<![\w./@-])((?:[\w@-][\w.@-]*/)*[\w@-][\w.@-]*\.(?:h|cpp|md|cmake|ts|mjs))((?:#[\w-]+)?)(?![\w/*-])"
)
IN_FOLDER = re.compile(r"(?<![\w./@-])((?:docs|src|tests|bench|examples|schemas|tools|web|cmake)(?:/[\w.@-]+)+)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?:.|\n)*?\*/')
NOT_OURS = re.compile(
    r"^(CLI|nlohmann|fmt|yaml-cpp|gtest|gmock|rapidcheck|benchmark|mpi|sys|nettle|pcre2|utf8proc|bits|torch|c10|ATen)\b|^(mpi|unistd|stdint)\.h$"
)

# Files of other projects that pages and comments cite.
ELSEWHERE = {
    "csrc/transformer/inference/csrc/pt_binding.cpp",
    "doc/PERFORMANCE.md",
    "dpsk.md",
    "examples/configs",
    "examples/tuning",
    "llama.cpp",
}


def anchors_of(page):
    """Returns the anchors of a page's headings, as common renderers generate them."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)
    anchors = set()
    for heading in re.findall(r"^#+ +(.+?) *#*$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (name := anchor + (f"-{number}" if number else "")) in anchors:
            number += 1
        anchors.add(name)
    return anchors


def comments_of(text, suffix):
    if suffix == ".py":
        return "\n".join(re.findall(r"#[^\n]*|\"\"\"(?:.|\n)*?\"\"\"", text))
    return "\n".join(found for found in COMMENT.findall(text) if not found.startswith('"'))


class Links(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = [
            path
            for path in sorted(SOURCE.rglob("*"))
            if path.is_file() and not SKIPPED & set(path.relative_to(SOURCE).parts)
        ]
        cls.names = {path.name for path in cls.files}
        cls.anchors = {path: anchors_of(path.read_text(encoding="utf-8")) for path in cls.files if path.suffix == ".md"}

    def found(self, path, name):
        """Returns the file or folder that `name` refers to in `path`, or None."""
        roots = [path.parent, SOURCE, SOURCE / "src", SOURCE / "docs", SOURCE / "tests"]
        # A comment may omit the folder of its own file.
        roots += [parent for parent in path.parents if SOURCE in parent.parents]
        return next(((root / name).resolve() for root in roots if (root / name).exists()), None)

    def fault_of(self, path, name, anchor):
        if name in ELSEWHERE:
            return None
        target = self.found(path, name)
        if target is None:
            if "/" not in name and name in self.names:
                return None
            return f"{path.relative_to(SOURCE)} names {name}, which does not exist"
        if anchor and target.suffix == ".md" and anchor[1:] not in self.anchors[target]:
            return f"{path.relative_to(SOURCE)} names {name}{anchor}, but the page has no such heading"
        return None

    def faults_in(self, path, text):
        for name, anchor in OURS.findall(text):
            if not NOT_OURS.search(name):
                yield self.fault_of(path, name, anchor)
        for name in IN_FOLDER.findall(text):
            yield self.fault_of(path, name.rstrip("."), "")

    def test_names_in_comments_and_pages(self):
        faults = []
        looked_at = 0
        for path in self.files:
            if (
                path.suffix not in CODE | {".md"}
                or (SOURCE / "tests" / "data") in path.parents
                or path.name == "CHANGELOG.md"
            ):
                continue
            text = path.read_text(encoding="utf-8")
            text = (
                re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
                if path.suffix == ".md"
                else comments_of(text, path.suffix)
            )
            text = re.sub(r"https?://\S+", "", text)
            found = list(self.faults_in(path, text))
            looked_at += len(found)
            faults += [fault for fault in found if fault]
        self.assertGreater(looked_at, 200, "the search for names is broken")
        self.assertFalse(faults, "\n" + "\n".join(sorted(set(faults))))

    def test_links_of_pages(self):
        faults = []
        for path in self.anchors:
            for target in (one or other for one, other in LINK.findall(path.read_text(encoding="utf-8"))):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                page = (path.parent / name).resolve() if name else path
                if not page.exists():
                    faults.append(f"{path.relative_to(SOURCE)} links to {target}, which does not exist")
                elif anchor and page.suffix == ".md" and anchor not in self.anchors[page]:
                    faults.append(f"{path.relative_to(SOURCE)} links to {target}, but the page has no such heading")
        self.assertFalse(faults, "\n" + "\n".join(faults))


class Anchors(unittest.TestCase):
    def test_anchors_match_common_renderers(self):
        page = "# A b: `c`/d\n```\n# no\n```\n## dovetail/job@1\n## Twice\n## Twice\n## With [a link](page)\n"
        self.assertEqual(anchors_of(page), {"a-b-cd", "dovetailjob1", "twice", "twice-1", "with-a-link"})


if __name__ == "__main__":
    SOURCE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
