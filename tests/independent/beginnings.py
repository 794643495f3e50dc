#!/usr/bin/env python3
"""Checks the initial models of the demonstrations: tiny-sft's actor, tiny-rm's reward model, tiny-grpo's start.

usage: beginnings.py tiny-sft|tiny-rm|tiny-grpo FOLDER DATA

FOLDER is the model's, DATA the held-out prompts of tiny-ppo or tiny-grpo, or the held-out pairs of tiny-rm.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from model import Model
from rules import BAD, CLAUSE_WORDS, END, GOOD, Judge
from score_export import read_prompts, score
from sorter import share_right

ADJECTIVES = [CLAUSE_WORDS.index(word) for word in GOOD + BAD]


def check_actor(judge, folder, data):
    """In any order, an adjective is good or bad by chance; the rest is well-formed."""
    prompts = [tokens for _, tokens in read_prompts(data, "clauses", 256)]
    with torch.no_grad():
        logits = Model(folder).outputs(prompts)
    shares = torch.softmax(torch.stack([row[len(prompt) - 1] for row, prompt in zip(logits, prompts)]), -1)
    judge.hold("share of good adjectives", float(shares[:, ADJECTIVES[: len(GOOD)]].sum(-1).mean()), 0.5, 0.04)
    judge.at_least("share of adjectives at their positions", float(shares[:, ADJECTIVES].sum(-1).mean()), 0.99)
    judge.at_least("well-formed", score(folder, data, "clauses", 256, 1)["sampled"]["form"], 0.97)


def check_reward_model(judge, folder, data):
    model, right, worth = Model(folder, scalar=True), 0, 0
    rows = [json.loads(line) for line in Path(data).read_text(encoding="utf-8").splitlines()]

    def values(key):
        prompts = [list(map(CLAUSE_WORDS.index, row["prompt"].split())) for row in rows]
        responses = [list(map(CLAUSE_WORDS.index, row[key].split())) for row in rows]
        with torch.no_grad():
            return [float(v[-1]) for v in model.values(prompts, [tokens + [END] for tokens in responses])]

    for row, chosen, rejected in zip(rows, values("chosen"), values("rejected")):
        good = [sum(word in GOOD for word in row[key].split()) for key in ("chosen", "rejected")]
        right += chosen > rejected
        worth += (chosen - rejected) / (good[0] - good[1])
    judge.at_least("held-out pairs in the right order", right / len(rows), 0.99)
    judge.hold("margin of an adjective", worth / len(rows), 2, 0.4)


def check_sorter(judge, folder, data):
    prompts = [tokens for _, tokens in read_prompts(data, "sorter", 256)]
    judge.hold("right, sampled", share_right(Model(folder), prompts), 0.4, 0.05)
    judge.at_least("right, greedy", score(folder, data, "sorter", 256, 1)["greedy"]["reward"], 0.9)


def main():
    checks = {"tiny-sft": check_actor, "tiny-rm": check_reward_model, "tiny-grpo": check_sorter}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("demonstration", choices=checks)
    parser.add_argument("folder")
    parser.add_argument("data")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    judge = Judge()
    checks[arguments.demonstration](judge, arguments.folder, arguments.data)
    sys.exit(1 if judge.faults else 0)


if __name__ == "__main__":
    main()
