"""Right answers in the demonstrations of examples/train, and the results of the best policy, from their
description."""

import math

GOOD = "good bright kind clear warm fine".split()
BAD = "bad dark cruel dull cold rough".split()
NOUNS = "harbor garden market river castle forest bridge island".split()
CLAUSE_WORDS = ["<pad>", "<eos>", *"12345678", *GOOD, *BAD, *NOUNS, "<unused0>", "<unused1>"]
SORTER_WORDS = ["<pad>", "<eos>", *"0123456789=", "<unused0>", "<unused1>", "<unused2>"]
END = 1


def clause_text(tokens):
    """Decodes like the tokenizer: a space before each word, none before other tokens, no special tokens."""
    words = [CLAUSE_WORDS[token] for token in tokens if token > END]
    return "".join(word if word.startswith("<") else " " + word for word in words)


def adjectives_of(words):
    return [word for word in words if word in GOOD or word in BAD]


def clause_reward(prompt, words):
    """Returns the number of good adjectives minus that of bad ones, in any form."""
    return sum((word in GOOD) - (word in BAD) for word in words)


def is_well_formed(prompt, words):
    """Whether a response has the requested number of clauses, each an adjective and noun (3 topic + 5 i + 1) mod 8."""
    count, topic = int(prompt[0]), NOUNS.index(prompt[1])
    nouns = [NOUNS[(3 * topic + 5 * i + 1) % 8] for i in range(count)]
    return words[1::2] == nouns and len(adjectives_of(words[::2])) == count and len(words) == 2 * count


def sorter_reward(prompt, words):
    """Returns 1 for the digits before "=" in ascending order, else 0."""
    return int(list(words) == sorted(prompt[:-1]))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def entropy(share):
    """Returns the entropy of a coin in nats."""
    return -sum(p * math.log(p) for p in (share, 1 - share) if p > 0)


def divergence(share, before):
    """Returns the divergence between two coins in nats: the minimum by which a policy must move to reach that share
    of right answers."""
    pairs = ((share, before), (1 - share, 1 - before))
    return sum(p * math.log(p / q) for p, q in pairs if p > 0)


class Judge:
    """Prints figures with their expected values and counts the wrong ones."""

    def __init__(self):
        self.faults = 0

    def hold(self, what, found, expected, tolerance):
        ok = abs(found - expected) <= tolerance
        self.faults += not ok
        print(f"{what}: {found:.4f}, expected {expected:.4f} within {tolerance:g}{'' if ok else '  WRONG'}")

    def at_least(self, what, found, least):
        self.faults += found < least
        print(f"{what}: {found:.4f}, at least {least:g}{'' if found >= least else '  WRONG'}")

    def at_most(self, what, found, most):
        self.faults += found > most
        print(f"{what}: {found:.4f}, at most {most:g}{'' if found <= most else '  WRONG'}")
