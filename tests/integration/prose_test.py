#!/usr/bin/env python3
"""Comments, messages, help and docs avoid the constructions that CONTRIBUTING.md lists under "How we write".

usage: prose_test.py SOURCE_DIR
       prose_test.py --list FILE...    prints the findings in these files
"""

import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(".")

# (expression, what to write instead)
BANNED = [
    (r"(?<!\b[Tt]here )(?<!\bbut )\b(is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|later\b|earlier\b|larger\b|smaller\b)\w", "is not, has no, must be"),
    (r"\b(is|are|was|were) none\b", "there is no, is empty"),
    (r"\bas (a|an|the|its|their) [\w-]+ (has|have) it\b", "name the setting"),
    (r"\bas (a|an|the|its|their|of) [\w-]+ says?\b", "as configured in, as specified by"),
    (r"\b([Nn]o|[Ss]ome|[Aa]ny)body\b", "name the subject, or use the passive"),
    (r"\b(is|are|was|were|be|been|being) (not |only |also |just )?(said|told|asked|heard)\b", "given, specified, received, requested"),
    (r"\b[Nn]othing (is|was) said\b", "unspecified"),
    (r"\b[Ss]tands?\b(?! for\b)(?!-)", "is, appears, is defined in"),
    (r"\b[Ss]tood\b", "was, appeared"),
    (r"\b[Bb]ehind\b", "after"),
    (r"\b[Bb]eside\b", "next to, with, compared with"),
    (r"\bso (many|much|few|long|large|small|often)\b(?! that\b)(?! as\b)", "N, this many, the same number of"),
    (r"\bof (its|their|his|our|my|your) own\b", "its own, a separate"),
    (r"\b(hangs?|hung) on\b", "depends on"),
    (r"\b[Ww]ho(so)?ever\b|\bwho has\b", "the caller, the trainer that"),
    (r"\bwhole numbers?\b", "an integer"),
    (r"\b(goes|go|going|went|gone) on\b(?! the\b| its\b| to\b| a\b| one\b| that\b)", "continue, resume"),
    (r"\bbut for\b", "except, apart from"),
    (r"\b([Aa]ll|[Nn]othing|[Nn]one|[Ee]verything|[Aa]nything|[Nn]o one|[Aa]ny)( \w+)? but (one|two|the|those|a|an|for)\b", "except"),
    (r"\b([Rr]oomiest|[Ff]ullest|[Tt]ightest)\b", "peak, max"),
    (r"\b([Cc]omes?|[Cc]ame) to\b", "yields, results in, equals"),
    (r"\b[Kk]in\b(?!/)|\bof (a|the|this|that|one|each) kin\b", "variants"),
    (r"\b[Mm]end(s|ed|ing)?\b", "fix"),
    (r"(?<![\w-])[Rr]ooms?\b(?![:=(])", "space, directory, subfolder"),
    (r"\b[Ww]hat (\w+ ){0,3}(is|are|was|were) of\b", "name the thing"),
    (r"\b[Oo]f what\b|\b[Tt]hat of\b(?! course\b)", "name the thing"),
    (r"\b(is|are|was|were) had\b", "has"),
    (r"\b[Aa]new\b", "again"),
    (r"\b([Ii]n|[Tt]he|[Oo]ne) way (in|out)\b", "entry point, input, output"),
    (r"\b(be|is|are|was|were) to be (had|seen|found)\b", "is available, is in"),
]
# Only at the start of a sentence: a noun clause there hides what the sentence is about.
SENTENCE_START = [
    (r"^What (?![^.?]*\?)", "start with the noun or the verb"),
    (r"^Of (which|whom|whose|what)\b", "start with the noun or the verb"),
    (r"^(Who|Whom|Whose) (?![^.?]*\?)", "start with the noun or the verb"),
]
# Quoted from other programs, papers or the style rules themselves.
ALLOWED_FILES = {"CONTRIBUTING.md", "tests/integration/prose_test.py", "tests/integration/words_test.py"}

TOKEN = re.compile(
    r'R"(\w*)\((?P<raw>(?:.|\n)*?)\)\1"|(?P<line>(?://[^\n]*\n?[ \t]*)+)|(?P<block>/\*(?:.|\n)*?\*/)'
    r'|(?P<string>(?:"(?:\\.|[^"\\\n])*"\s*)+)|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\\n])+\''
)
PROSE_LITERAL = re.compile(r"[A-Za-z]+ [A-Za-z]+")


def texts_of_cpp(text):
    """(line, text) of every comment and every literal that holds more than a word."""
    for found in TOKEN.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["line"]:
            comment = " ".join(part.strip().lstrip("/").strip() for part in found["line"].splitlines())
            yield line, comment
        elif found["block"]:
            yield line, found["block"].strip("/*")
        elif found["string"] and PROSE_LITERAL.search(found["string"]):
            pieces = re.findall(r'"((?:\\.|[^"\\\n])*)"', found["string"])
            yield line, "".join(pieces).replace("\\n", " ").replace('\\"', '"')
        elif found["raw"] and PROSE_LITERAL.search(found["raw"]):
            yield line, found["raw"]


def texts_of_markdown(text):
    """(line, text) of every paragraph, list entry and table cell outside of fenced blocks."""
    fenced, paragraph, start = False, [], 1

    def flush():
        joined = " ".join(paragraph)
        paragraph.clear()
        return joined

    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            if paragraph:
                yield start, flush()
            fenced = not fenced
            continue
        if fenced or line.startswith("<!--"):
            continue
        if line.startswith("|"):
            if paragraph:
                yield start, flush()
            for cell in line.strip("|").split("|"):
                yield number, re.sub(r"`[^`]*`", "X", cell.strip())
            continue
        begins = not line.strip() or re.match(r"\s*([-*]|\d+\.|#+) ", line)
        if begins and paragraph:
            yield start, flush()
        if line.strip():
            if not paragraph:
                start = number
            paragraph.append(re.sub(r"`[^`]*`", "X", re.sub(r"^\s*([-*]|\d+\.|#+) ", "", line).strip()))


def texts_of_script(text):
    """(line, text) of the comments of a shell script or of a CMake file."""
    for found in re.finditer(r"(?:(?:^|(?<=\s))#(?!!)[^\n]*\n?[ \t]*)+", text):
        yield text.count("\n", 0, found.start()) + 1, " ".join(p.strip().lstrip("#").strip() for p in found.group(0).splitlines())


READERS = {".h": texts_of_cpp, ".cpp": texts_of_cpp, ".md": texts_of_markdown, ".sh": texts_of_script, ".cmake": texts_of_script, ".txt": texts_of_script}


def findings_of(text):
    """(the words found, what to write instead) of one comment, literal or paragraph."""
    for pattern, instead in BANNED:
        if found := re.search(pattern, text):
            yield found.group(0), instead
    for sentence in re.split(r"(?<=[.:;!?]) +", text):
        for pattern, instead in SENTENCE_START:
            if re.search(pattern, sentence):
                yield " ".join(sentence.split()[:4]), instead


def findings_in(path, name):
    reader = READERS.get(path.suffix, texts_of_script)
    for line, text in reader(path.read_text(encoding="utf-8")):
        for words, instead in findings_of(text):
            yield f"{name}:{line}: '{words.strip()}': write {instead}"


def files():
    for folder, suffixes in (
        ("src", (".h", ".cpp")),
        ("tests", (".h", ".cpp")),
        ("bench", (".h", ".cpp")),
        ("examples", (".h", ".cpp", ".md")),
        ("docs", (".md",)),
        ("cmake", (".cmake",)),
    ):
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in suffixes:
                yield path
    for name in ("README.md", "CHANGELOG.md", "CMakeLists.txt", "tools/check", "tools/test", "tools/setup", "tools/quickstart"):
        yield SOURCE / name


class Prose(unittest.TestCase):
    def test_nothing_banned_is_written(self):
        faults = []
        for path in files():
            name = path.relative_to(SOURCE).as_posix()
            if name not in ALLOWED_FILES:
                faults += findings_in(path, name)
        self.assertFalse(faults, "\n" + "\n".join(faults[:100]) + f"\n{len(faults)} in all")

    def test_what_is_banned_is_found(self):
        for text in (
            "'0' is no whole number from 1 to 1000",
            "It goes on where it was.",
            "What of the model is held by this rank.",
            "All files but one are read.",
            "so many devices",
        ):
            self.assertTrue(list(findings_of(text)), text)
        for text in (
            "There is no device.",
            "It is no longer needed.",
            "What is the plan?",
            "S stands for step.",
            "Returns the shards this rank holds.",
        ):
            self.assertFalse(list(findings_of(text)), text)

    def test_comments_literals_and_tables_are_read(self):
        code = 'int a;  // one\n// two\nauto b = "of \\"its own\\" "\n  "accord";\n'
        self.assertEqual([text for _, text in texts_of_cpp(code)], ["one two", 'of "its own" accord'])
        page = "A line\nof text.\n\n| a | b `c` |\n\n```\ncode\n```\n- entry\n"
        self.assertEqual([text for _, text in texts_of_markdown(page)], ["A line of text.", "a", "b X", "entry"])


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        for argument in sys.argv[2:]:
            for finding in findings_in(Path(argument), argument):
                print(finding)
        sys.exit()
    SOURCE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
