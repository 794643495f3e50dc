#!/usr/bin/env python3
"""Checks a run of tiny-grpo by its files alone: right answers before and after, and the policy's divergence.

usage: sorter.py RUN START DATA [--last N]

START is the folder of the initial model, DATA the held-out prompts. To raise the share of right answers from q to
p, a policy must diverge by at least the divergence of two coins, p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)). Exits
with 1 if a figure is wrong.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from model import Model
from rules import END, SORTER_WORDS, Judge, divergence, sorter_reward
from score_export import read_prompts, score

BEFORE, AFTER, GREEDY, FAR = (0.35, 0.45), 0.8, 0.9, 3


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_files(judge, run, samples):
    """Checks rewards against the rule, and metrics against the samples."""
    for row in samples:
        prompt = [SORTER_WORDS[token] for token in row["prompt_tokens"]]
        words = [SORTER_WORDS[token] for token in row["response_tokens"] if token > END]
        if row["text"] != "".join(words) or row["reward"] != sorter_reward(prompt, words):
            judge.faults += 1
            print(f"iteration {row['iteration']}: {''.join(prompt)} {row['text']!r} got {row['reward']}")
    for metrics in read_lines(run / "metrics.jsonl"):
        rewards = [row["reward"] for row in samples if row["iteration"] == metrics["iteration"]]
        judge.faults += abs(sum(rewards) / len(rewards) - metrics["reward"]) > 1e-9


def share_right(model, prompts):
    """Returns the exact probability that a sample is right, averaged over prompts in tokens."""
    answers = [sorted(prompt[:-1]) + [END] for prompt in prompts]
    with torch.no_grad():
        right, _ = model.log_probabilities(prompts, answers)
    return sum(float(logs.sum().exp()) for logs in right) / len(right)


def how_far(model, rows):
    """Returns the nats per response from `model` to the policy that generated `rows`."""
    with torch.no_grad():
        logs_of_rows, _ = model.log_probabilities(
            *([row[key] for row in rows] for key in ("prompt_tokens", "response_tokens"))
        )
    return sum(sum(row["sampled"]) - float(logs.sum()) for row, logs in zip(rows, logs_of_rows)) / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--last", type=int, default=5, metavar="N")
    arguments = parser.parse_args()
    judge = Judge()
    samples = read_lines(arguments.run / "samples.jsonl")
    check_files(judge, arguments.run, samples)
    before = score(arguments.start, arguments.data, "sorter", 256, 1)
    after = score(arguments.run / "export/actor", arguments.data, "sorter", 256, 1)
    start = Model(arguments.start)
    held_out = share_right(start, [tokens for _, tokens in read_prompts(arguments.data, "sorter", 256)])
    judge.hold("right before, sampled", held_out, sum(BEFORE) / 2, (BEFORE[1] - BEFORE[0]) / 2)
    judge.at_least("right before, greedy", before["greedy"]["reward"], GREEDY)
    judge.at_least("right after, sampled", after["sampled"]["reward"], AFTER)
    judge.at_least("right after, greedy", after["greedy"]["reward"], GREEDY)
    rows = [row for row in samples if row["iteration"] > samples[-1]["iteration"] - arguments.last]
    moved = how_far(start, rows)
    right = sum(row["reward"] for row in rows) / len(rows)
    floor = divergence(right, share_right(start, [row["prompt_tokens"] for row in rows]))
    judge.at_least("nats per response away from the start", moved, floor)
    judge.at_most("nats per response away from the start", moved, FAR)
    sys.exit(1 if judge.faults else 0)


if __name__ == "__main__":
    main()
