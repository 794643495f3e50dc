#!/usr/bin/env python3
"""Loads a model exported by a run, generates answers to held-out prompts, and scores them by the rule.

usage: score_export.py FOLDER DATA [--task clauses|sorter] [--prompts N] [--seed N]

Prints a line of JSON with the mean reward of greedy answers and of samples at temperature 1. For coin clauses, it
also has the share of well-formed answers and of good adjectives.
"""

import argparse
import json
from pathlib import Path

import torch
from model import Model
from rules import CLAUSE_WORDS, END, GOOD, SORTER_WORDS, adjectives_of, clause_reward, clause_text
from rules import is_well_formed, sorter_reward


def read_prompts(path, task, count):
    """[(words, tokens)]"""
    vocabulary = CLAUSE_WORDS if task == "clauses" else SORTER_WORDS
    prompts = []
    for line in Path(path).read_text(encoding="utf-8").splitlines()[:count]:
        text = json.loads(line)["prompt"]
        words = text.split() if task == "clauses" else list(text)
        prompts.append((words, [vocabulary.index(word) for word in words]))
    return prompts


def answer(model, prompts, cap, generator=None):
    """Returns the tokens up to the end token, at most `cap`: greedy, or sampled if there is a generator."""
    answers = [[] for _ in prompts]
    open_rows = list(range(len(prompts)))
    with torch.no_grad():
        while open_rows:
            sequences = [prompts[row] + answers[row] for row in open_rows]
            logits = model.outputs(sequences)
            for place, row in enumerate(open_rows):
                here = logits[place, len(sequences[place]) - 1]
                if generator is None:
                    token = int(here.argmax())
                else:
                    token = int(torch.multinomial(torch.softmax(here, -1), 1, generator=generator))
                answers[row].append(token)
            open_rows = [row for row in open_rows if answers[row][-1] != END and len(answers[row]) < cap]
    return answers


def judge(task, prompts, answers):
    """Returns {figure: value} for answers in tokens."""
    if task == "sorter":
        texts = [[SORTER_WORDS[token] for token in tokens if token > END] for tokens in answers]
        return {"reward": sum(map(sorter_reward, (words for words, _ in prompts), texts)) / len(texts)}
    texts = [clause_text(tokens).split() for tokens in answers]
    adjectives = [word for words in texts for word in adjectives_of(words)]
    return {
        "reward": sum(clause_reward(prompt, words) for (prompt, _), words in zip(prompts, texts)) / len(texts),
        "form": sum(is_well_formed(prompt, words) for (prompt, _), words in zip(prompts, texts)) / len(texts),
        "share": sum(word in GOOD for word in adjectives) / max(1, len(adjectives)),
    }


def score(folder, data, task, count, seed):
    torch.set_num_threads(1)
    model = Model(folder)
    prompts = read_prompts(data, task, count)
    tokens = [tokens for _, tokens in prompts]
    cap = 20 if task == "clauses" else 12
    generator = torch.Generator().manual_seed(seed)
    return {
        "greedy": judge(task, prompts, answer(model, tokens, cap)),
        "sampled": judge(task, prompts, answer(model, tokens, cap, generator)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("data")
    parser.add_argument("--task", choices=["clauses", "sorter"], default="clauses")
    parser.add_argument("--prompts", type=int, default=256, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    print(json.dumps(score(arguments.folder, arguments.data, arguments.task, arguments.prompts, arguments.seed)))


if __name__ == "__main__":
    main()
