#!/usr/bin/env python3
"""Compares iteration times predicted from `dovetail profile` with measured ones: tiny-ppo on one rank, on two data
parallel ranks, and on two pipeline stages, profiled and trained alternately. A shared machine can only add time, so
the minima are compared: of a phase over all iterations, and of its predictions.

usage: step_times.py SOURCE DOVETAIL [--rounds N] [--iterations N] [--within SHARE]

Expects dovetail-train next to DOVETAIL. Prints a table per layout. Exits with 1 if an iteration is further off.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LAYOUTS = {"one rank": {}, "two ranks share the data": {"dp": 2}, "two stages": {"pp": 2}}
INFERENCE = ("actor_generate", "reward_infer", "reference_infer", "critic_infer")
TRAINING = ("actor_train", "critic_train")


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(word) for word in command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def plan_of(layout):
    """Returns a plan with training in this layout; the other tasks are data parallel on both ranks."""
    tasks = [{"task": name, "devices": "0-1", "layout": {"dp": 2}} for name in INFERENCE]
    tasks += [{"task": name, "devices": "0-1", "layout": layout} for name in TRAINING]
    for task in tasks:
        if task["task"] == "actor_generate":
            task["engine"] = {"cuda_graphs": False, "own_weights": False}
        else:
            task["micro_batch"] = {"tokens": 352 if task["task"] in INFERENCE else 96}
    return {"format": "dovetail/plan@1", "tasks": tasks}


def phases_of(dovetail, folder, layout, iterations):
    """Returns (minimum measured, predicted) seconds by phase of one profile and one run."""
    job, profile, out = folder / "job-here.yaml", folder / "here.json", folder / "run"
    run(dovetail, "profile", folder, "--ranks", 2 if layout else 1, "-o", profile)
    text = (folder / "job.yaml").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^cluster:.*$", "cluster: here.json", text)
    text = re.sub(r"(?m)^software:.*$", "software: {framework: dovetail, profile: here.json}", text)
    job.write_text(re.sub(r"iterations: \d+", f"iterations: {iterations}", text), encoding="utf-8")
    plan = []
    if layout:
        (folder / "plan-here.json").write_text(json.dumps(plan_of(layout)), encoding="utf-8")
        plan = ["--plan", folder / "plan-here.json"]
    shutil.rmtree(out, ignore_errors=True)
    run(dovetail, "train", job, "-o", out, *plan)
    answer = run(dovetail, "measured", out / "metrics.jsonl", "--job", job, "--plan", out / "plan.json", "--json")
    predicted = {phase["phase"]: phase["predicted"] for phase in json.loads(answer)["comparison"]["phases"]}
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    # An iteration that stops early because of its divergence trains less.
    whole = [row["timing"] for row in rows if row["actor_steps"] == max(each["actor_steps"] for each in rows)]
    return {name: (min(row[f"{name}_seconds"] for row in whole), seconds) for name, seconds in predicted.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--within", type=float, default=0.2)
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(options.source / "examples/train", Path(scratch) / "train")
        for name, layout in LAYOUTS.items():
            rounds = [
                phases_of(options.dovetail, Path(scratch) / "train/tiny-ppo", layout, options.iterations)
                for _ in range(options.rounds)
            ]
            least = {
                phase: tuple(min(seconds[phase][of] for seconds in rounds) for of in (0, 1)) for phase in rounds[0]
            }
            least["all of them"] = tuple(sum(seconds[of] for seconds in least.values()) for of in (0, 1))
            print(name)
            for phase, (measured, predicted) in least.items():
                print(
                    f"  {phase:16} {1e3 * measured:6.1f} ms, predicted {1e3 * predicted:6.1f} ms,"
                    f" {100 * (predicted / measured - 1):+.0f}%",
                    flush=True,
                )
            measured, predicted = least["all of them"]
            if abs(predicted / measured - 1) > options.within:
                wrong.append(name)
    for name in wrong:
        print(f"{name}: prediction off by more than {options.within:.0%}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
