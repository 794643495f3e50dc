#!/usr/bin/env python3
"""Checks a run of tiny-ppo by its files alone: responses, rewards, and the distance to the optimum.

usage: coin_clauses.py RUN [--reward-model FOLDER] [--last N]

With a reward of r for a good adjective and r - m for a bad one, and the coefficient b of the divergence, the best
policy has the share sigmoid(m / b) of good adjectives. It diverges by ln 2 - H(share) nats per clause from even
odds. The rule has m = 2. For a reward model, the margin is measured: the mean difference in reward between a good
and a bad adjective. Exits with 1 if the last N iterations (default: a quarter of the run) are further away than the
tolerances below.
"""

import argparse
import json
import math
import random
import sys
from pathlib import Path

import yaml
from rules import BAD, CLAUSE_WORDS, END, GOOD, Judge, adjectives_of, clause_reward, clause_text
from rules import entropy, is_well_formed, sigmoid

MODEL_SHARE, RULE_SHARE, RULE_DIVERGENCE, FORM = 0.08, 0.03, 0.03, 0.9


class Window:
    """Some iterations of a run."""

    def __init__(self, rows):
        self.rows = rows
        words = [adjective for row in rows for adjective in adjectives_of(row["words"])]
        self.clauses = len(words)
        self.share = sum(word in GOOD for word in words) / max(1, len(words))
        self.form = sum(is_well_formed(row["prompt_words"], row["words"]) for row in rows) / len(rows)
        self.reward = sum(row["reward"] for row in rows) / len(rows)
        moved = sum(math.fsum(row["sampled"]) - math.fsum(row["reference"]) for row in rows)
        self.divergence = moved / max(1, self.clauses)


def read_rows(run):
    rows = []
    for line in (run / "samples.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["words"] = clause_text(row["response_tokens"]).split()
        row["prompt_words"] = [CLAUSE_WORDS[token] for token in row["prompt_tokens"]]
        rows.append(row)
    return rows


def check_files(judge, run, rows):
    """Checks the samples for consistency, and the metrics against the samples."""
    for row in rows:
        if row["text"] != clause_text(row["response_tokens"]) or row["ended"] != (row["response_tokens"][-1] == END):
            judge.faults += 1
            print(f"iteration {row['iteration']}: text and tokens differ: {row['text']!r}")
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        metrics = json.loads(line)
        here = Window([row for row in rows if row["iteration"] == metrics["iteration"]])
        moved = here.divergence * here.clauses / len(here.rows)
        for name, value in (("reward", here.reward), ("kl_sequence", moved)):
            if abs(metrics[name] - value) > 1e-5 * max(1, abs(value)):
                judge.faults += 1
                print(f"iteration {metrics['iteration']}: {name} is {metrics[name]}, but {value} for its samples")


def check_rule(judge, rows, last, coefficient):
    wrong = sum(row["reward"] != clause_reward(row["prompt_words"], row["words"]) for row in rows)
    judge.hold("rewards that differ from the rule", wrong, 0, 0)
    judge.hold("share of good adjectives", last.share, sigmoid(2 / coefficient), RULE_SHARE)
    judge.hold("divergence per clause", last.divergence, math.log(2) - entropy(last.share), RULE_DIVERGENCE)


def flips(rows, draw):
    """Returns each clause of some rows with every adjective: (prompt tokens, [response tokens by adjective])."""
    for row in draw.sample(rows, min(len(rows), 120)):
        for place, token in enumerate(row["response_tokens"]):
            if CLAUSE_WORDS[token] in GOOD + BAD:
                tokens = [list(row["response_tokens"]) for _ in GOOD + BAD]
                for other, word in zip(tokens, GOOD + BAD):
                    other[place] = CLAUSE_WORDS.index(word)
                yield row["prompt_tokens"], tokens


def check_model(judge, last, coefficient, folder):
    import torch
    from model import Model

    torch.set_num_threads(1)
    model = Model(folder, scalar=True)
    with torch.no_grad():
        some = random.Random(1).sample(last.rows, min(len(last.rows), 256))
        values = model.values([row["prompt_tokens"] for row in some], [row["response_tokens"] for row in some])
        apart = max(abs(float(v[-1]) - row["reward"]) for v, row in zip(values, some))
        judge.hold("rewards vs. the model's values, max difference", apart, 0, 1e-4)
        good, bad, odds = [], [], []
        for prompt, responses in flips([row for row in last.rows if row["ended"]], random.Random(2)):
            rewards = torch.stack([v[-1] for v in model.values([prompt] * len(responses), responses)])
            good.append(float(rewards[: len(GOOD)].mean()))
            bad.append(float(rewards[len(GOOD) :].mean()))
            shares = torch.softmax(rewards / coefficient, 0)
            odds.append(float(shares[: len(GOOD)].sum()))
    margin = sum(g - b for g, b in zip(good, bad)) / len(good)
    print(f"margin of an adjective {margin:.3f}; share predicted from the margin of each {sum(odds) / len(odds):.4f}")
    judge.hold("share of good adjectives", last.share, sigmoid(margin / coefficient), MODEL_SHARE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--reward-model", metavar="FOLDER")
    parser.add_argument("--last", type=int, metavar="N")
    arguments = parser.parse_args()
    job = yaml.safe_load((arguments.run / "job.yaml").read_text(encoding="utf-8"))
    coefficient = job["train"]["loss"]["kl"]["coefficient"]
    rows = read_rows(arguments.run)
    iterations = max(row["iteration"] for row in rows)
    size = arguments.last or max(1, iterations // 4)
    print("iterations     share    form    reward  divergence per clause")
    for end in range(iterations % size or size, iterations + 1, size):
        window = Window([row for row in rows if end - size < row["iteration"] <= end])
        begin = max(1, end - size + 1)
        figures = f"{window.share:.4f}  {window.form:.4f}  {window.reward:7.4f}  {window.divergence:.4f}"
        print(f"{begin:4}-{end:<8} {figures}")
    judge = Judge()
    check_files(judge, arguments.run, rows)
    judge.at_least("well-formed", window.form, FORM)
    if arguments.reward_model is None:
        check_rule(judge, rows, window, coefficient)
    else:
        check_model(judge, window, coefficient, arguments.reward_model)
    sys.exit(1 if judge.faults else 0)


if __name__ == "__main__":
    main()
