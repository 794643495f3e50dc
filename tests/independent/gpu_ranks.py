#!/usr/bin/env python3
"""Runs tiny-ppo on ranks that compute on GPUs and compares them with a run of one rank on a GPU: the texts of each
iteration, a few of which may differ if their random draws are near a boundary, and the metrics as long as all texts
are equal.

usage: gpu_ranks.py SOURCE_DIR DOVETAIL [--gpus N] [--device D]

Ranks share GPUs with Gloo. If there are several GPUs, each rank has one, with NCCL. --device cpu tests this script.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ITERATIONS = 3
# Maximum share of different texts per iteration. The first iteration is sampled from equal weights.
MAX_OTHERS = (0.01, 0.05, 0.1)
# Rounding shows first in norms and maximum ratios.
TOLERANCE = 1e-3


def ways(gpus, device):
    """Returns (ranks, carrier, collectives) of each run."""
    yield 2, "gloo", "ordered"
    for ranks in (2, 4):
        if device == "cuda" and ranks <= gpus:
            yield ranks, "nccl", "native"
            yield ranks, "nccl", "ordered"


def rows_of(path, iteration):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["iteration"] == iteration]


def train(arguments, out, *options):
    job = Path(arguments.source) / "examples/train/tiny-ppo/job.yaml"
    command = [arguments.dovetail, "train", job, "-o", out, "--iterations", str(ITERATIONS)]
    done = subprocess.run(
        [*command, "--device", arguments.device, *options], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{out.name} ends with {done.returncode}:\n{done.stderr}")
    return rows_of(out / "metrics.jsonl", ITERATIONS)[0]["timing"]["seconds"]


def compare(out, alone):
    """Compares a run with the run of one rank. Returns a text and whether they agree."""
    others, largest, is_near = [], 0.0, True
    for iteration in range(1, ITERATIONS + 1):
        texts, expected = ([row["text"] for row in rows_of(run / "samples.jsonl", iteration)] for run in (out, alone))
        others.append(sum(a != b for a, b in zip(texts, expected)))
        is_near &= len(texts) == len(expected) and others[-1] <= MAX_OTHERS[iteration - 1] * len(expected)
        if any(others):
            continue
        found, metrics = (rows_of(run / "metrics.jsonl", iteration)[0] for run in (out, alone))
        numbers = {key: value for key, value in metrics.items() if isinstance(value, (int, float))}
        largest = max(largest, *(abs(found[key] - value) / max(1, abs(value)) for key, value in numbers.items()))
    return f"different texts {others}, metrics within {largest:.1e}", is_near and largest <= TOLERANCE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("dovetail")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="dovetail-gpus-") as folder:
        alone = Path(folder) / "alone"
        seconds = train(arguments, alone, "--ranks", "1")
        print(f"1 rank: the last iteration took {seconds:.2f} s")
        for ranks, carrier, collectives in ways(arguments.gpus, arguments.device):
            plan = Path(arguments.source) / f"examples/train/tiny-ppo/plan-{ranks}-ranks.json"
            out = Path(folder) / f"{carrier}-{collectives}-{ranks}"
            given = ["--ranks", str(ranks), "--plan", plan, "--carrier", carrier, "--collectives", collectives]
            seconds = train(arguments, out, *given)
            printed, is_near = compare(out, alone)
            failed |= not is_near
            print(f"{ranks} ranks by {carrier}, {collectives} sums: {printed}; the last iteration took {seconds:.2f} s")
    if arguments.gpus < 2:
        print("NCCL was not tested: it needs two GPUs")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
