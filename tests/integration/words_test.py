#!/usr/bin/env python3
"""Tests that identifiers in src follow docs/glossary.md: none matches a banned expression.

usage: words_test.py SOURCE_DIR
"""

import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(".")

# (pattern of identifiers, replacement). Only identifiers are checked, not comments or literals.
BANNED = [
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


def advice_of(name):
    """Returns the replacement for an identifier, or None if it is allowed."""
    if name in KEYS:
        return None
    return next((instead for pattern, instead in BANNED if re.search(pattern, name)), None)


class Words(unittest.TestCase):
    def test_identifiers_follow_the_glossary(self):
        faults = []
        for path in sorted((SOURCE / "src").rglob("*")):
            if path.suffix in (".h", ".cpp"):
                faults += [
                    f"{path.relative_to(SOURCE)}:{line}: {name}: say {advice}"
                    for line, name in identifiers_of(path.read_text(encoding="utf-8"))
                    if (advice := advice_of(name))
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
        ):
            self.assertIsNotNone(advice_of(name), name)
        for name in ("max_iterations", "almost", "longest_first", "background", "meaning", "refit"):
            self.assertIsNone(advice_of(name), name)


if __name__ == "__main__":
    SOURCE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
