#!/usr/bin/env python3
"""Tests that identifiers in src follow docs/glossary.md: none matches a banned expression.

usage: words_test.py SOURCE_DIR
"""

import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(".")

# Matches a word of an identifier such as `first_way_of`.
WORD_IN = r"(?:^|_)(?:{})(?:_|$)"

# (pattern of identifiers, replacement). Only identifiers are checked, not comments or literals.
BANNED = [
    (WORD_IN.format("said|says?|saying|told|tells?|talks?|ask|asks|asked|asking|hears?|heard"), "report, notify, answer, exchange"),
    (r"^(Said|Told|Ask|Asked|Asking|Heard)|[a-z](Said|Told|Asked|Heard|Talk)$", "report, notify, answer, exchange"),
    (WORD_IN.format("ways?") + r"|^Ways?([A-Z]|$)|[a-z]Ways?$", "alternative, method"),
    (WORD_IN.format("watch|watched|watches") + r"|^Watch|[a-z]Watch", "callbacks, monitor, checked"),
    (WORD_IN.format("play|plays|played|playing|playable") + r"|^Play(s|ed)?([A-Z]|$)|[a-z]Play(s|ed)?$", "simulate, simulated"),
    (WORD_IN.format("rooms?|borders?") + r"|Room|Border", "space, capacity, headroom, boundary"),
    (WORD_IN.format("beside|anew|deed|kin|mended|mine|ours|theirs|nobody|things?|news"), "a noun or verb of the field"),
    (WORD_IN.format("noticed|doubts?|doubted|doubtful|demanded|refusals?|refused"), "notable, condition, required, rejected"),
    (r"Noticed|Doubt|Demanded|Refusal|^News$", "notable, condition, required, rejected"),
    (r"^(Part|Piece|Thing|Group|Whole|Anything)s?$", "the kind of part, group or value"),
    (r"(?i)^(.*_)?(most|largest|longest|greatest|biggest)_\w+", "max_"),
    (r"(?i)^(.*_)?(least|smallest|shortest|fewest)_\w+", "min_"),
    (r"^(Most|Largest|Longest|Least|Smallest|Shortest)[A-Z]\w*", "Max, Min"),
    (r"(?i)\w*(roomiest|tightest)\w*", "max_margin, min_margin"),
    (r"(?i)^(\w+_)?refits?(_\w+)?$|\w*Refit\w*", "weight_sync"),
    (r"^(Ground|ground)$|\w+Ground$", "context"),
    (r"^[Pp]icks?$|^(\w+_)picks?$|\w*Picks?$", "choice, assignment"),
    (r"^Means$|^means$", "options"),
    (r"(?i)^squeeze\w*|\w+Squeeze", "the term of the literature"),
    (r"^(\w+_)?behind_?$", "critical_predecessor, after"),
    (r"^(\w+_)?essence$", "lower_bound"),
    (r"^(score|scored)_(task|tasks|model|models)$|(?i:scoring)", "infer, inference"),
    (r"^(Step(Edge|Time|Seconds|Line|Comparison)|FusedSteps|TimelineSteps?)$", "Activity: a step is an optimizer step"),
]
# Allowed: keys of files, options of commands, and the members named after them.
KEYS = {"longest_first", "refit", "refit_links", "refit_tensor", "means", "pick"}
# Only shells, trainers' commands and regular expressions have words.
WORDS = re.compile(r"(?:^|_)words(?:_|$)|Words")
FOLDERS_WITH_WORDS = ("src/syntax/", "src/trainers/")

LITERAL_OR_COMMENT = re.compile(
    r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\\n])+\''
)


def identifiers_of(text):
    """Yields (line number, identifier) for the code of a source."""
    code = LITERAL_OR_COMMENT.sub(lambda found: "\n" * found.group(0).count("\n"), text)
    code = re.sub(r"^\s*#\s*include[^\n]*", "", code, flags=re.M)
    for number, line in enumerate(code.splitlines(), 1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            yield number, name


def advice_of(name, path=""):
    """Returns the replacement for an identifier in the file at `path`, or None if it is allowed."""
    if name in KEYS:
        return None
    if WORDS.search(name) and not path.startswith(FOLDERS_WITH_WORDS):
        return "text, phrase, arguments"
    return next((instead for pattern, instead in BANNED if re.search(pattern, name)), None)


class Words(unittest.TestCase):
    def test_identifiers_follow_the_glossary(self):
        faults = []
        for path in sorted((SOURCE / "src").rglob("*")):
            if path.suffix in (".h", ".cpp"):
                file = path.relative_to(SOURCE).as_posix()
                faults += [
                    f"{file}:{line}: {name}: say {advice}"
                    for line, name in identifiers_of(path.read_text(encoding="utf-8"))
                    if (advice := advice_of(name, file))
                ]
        self.assertFalse(faults, "\n" + "\n".join(faults[:100]) + f"\n{len(faults)} in total")

    def test_banned_identifiers_are_found(self):
        for name in (
            "most_iterations",
            "largest_stage",
            "min_of_least_sum",
            "Ground",
            "TaskGround",
            "Picks",
            "add_refit",
            "behind_",
            "ScoringLoad",
            "StepEdge",
            "said",
            "first_said",
            "hear_first",
            "RankTalk",
            "ask",
            "Asked",
            "ways_of",
            "OtherWay",
            "chosen_way",
            "watch_",
            "JobWatch",
            "PlayedPlan",
            "play_fused",
            "key_value_room",
            "RoomOf",
            "bytes_beside",
            "DoubtfulClaim",
            "demanded_fusion",
            "Part",
            "Group",
            "time_words",
        ):
            self.assertIsNotNone(advice_of(name), name)
        for name in ("max_iterations", "almost", "longest_first", "background", "meaning", "refit"):
            self.assertIsNone(advice_of(name), name)
        for name in ("task", "always", "headroom", "displayed", "stopwatch", "NodeGroup", "WeightPart", "password"):
            self.assertIsNone(advice_of(name), name)
        self.assertIsNone(advice_of("words", "src/syntax/shell/run.h"))
        self.assertIsNotNone(advice_of("words", "src/answer/question/option.h"))


if __name__ == "__main__":
    SOURCE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
