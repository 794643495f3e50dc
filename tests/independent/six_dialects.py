#!/usr/bin/env python3
"""Writes random runs in the formats of verl, NeMo-RL, OpenRLHF, AReaL, slime and ROLL and tests that all give the
same job.

The emitter (dialects/) shares no code with Dovetail. All dialects that support a run must give the same job to the
byte, and the same layouts, micro-batches and engine settings. Only the following may differ:

| job or plan | may differ | reason |
|---|---|---|
| job: `software` | between all | names the trainer and its memory conventions |
| job: `fixed` | between all | present if a trainer has a profile; its devices are those of the plan |
| plan: order of tasks, hashes | between all | trainers run their passes in different orders; hashes cover the job |
| plan: `offload` except `optimizer_on_host` | between all | trainers have different rules for offloading |
| plan: `not_modelled` | between all | settings of a trainer that plans cannot express |
| plan: `devices` | the place of pools | the trainer orders the pools; size and sharing must be equal |
| plan: `zero` of passes | 0, 1 and 2 | equivalent without gradients and optimizer |
| plan: `zero` of adapters with Megatron | AReaL | it turns off the distributed optimizer for them |
| plan: `sequence_parallel` of FSDP's tensor parallelism | OpenRLHF | DeepSpeed keeps whole sequences, others split
them |
| plan: `reward_infer` | between all | the run only gives the model: it may be an engine or ranks of ZeRO |

Then each run is written in one dialect with one change, which must give a different result.

usage: six_dialects.py DOVETAIL [--runs N] [--seed N] [--keep FOLDER]

Exits with 1 if anything else differs, if a file is rejected, or if a change has no effect.
"""

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from dialects import DIALECTS
from dialects.configuration import CannotSay, text_of
from dialects.runs import changed_run, random_run

# With at least this many runs, each dialect must have supported some run with each of its backends.
ENOUGH = 100
BACKENDS = {
    "verl": ("fsdp", "megatron"),
    "nemo-rl": ("fsdp", "megatron"),
    "openrlhf": ("fsdp",),
    "areal": ("fsdp", "megatron"),
    "slime": ("megatron",),
    "roll": ("fsdp", "megatron"),
}


class Refused(Exception):
    """The program's message for a rejected file."""


def imported(dovetail, configuration):
    """Returns the text of the job and the plan of the configuration."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / configuration.file
        path.write_text(text_of(configuration), encoding="utf-8")
        command = [dovetail, "import", f"{configuration.dialect}:{path}", "--gpu", "H100", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    result = json.loads(done.stdout)
    return result["job"], result["plan"]


def job_of(text):
    """Returns the job without the parts that depend on the trainer."""
    kept, of_trainer = [], False
    for line in text.split("\n"):
        if not line.startswith(" "):
            of_trainer = line.startswith(("software:", "fixed:"))
        if not of_trainer:
            kept.append(line)
    return "\n".join(kept)


def layout_of(task, dialect, adapted):
    name, layout = task["task"], dict(task["layout"])
    if name.endswith("_infer") and layout.get("zero", 0) < 3:
        layout.pop("zero", None)
    if name.endswith("_train") and dialect == "areal" and adapted:
        layout.setdefault("zero", 1)
    if name != "actor_generate" and dialect == "openrlhf" and layout.get("tp", 1) > 1:
        layout["sequence_parallel"] = True
    return layout


def plan_of(plan, dialect, adapted):
    """Returns the parts of each task that must be equal."""
    tasks = [task for task in plan["tasks"] if task["task"] != "reward_infer"]
    result = {}
    for task in tasks:
        first, _, last = task["devices"].partition("-")
        result[task["task"]] = {
            "gpus": int(last or first) - int(first) + 1,
            "tasks on the same devices": sorted(other["task"] for other in tasks if other["devices"] == task["devices"]),
            "layout": layout_of(task, dialect, adapted),
            "micro_batch": task.get("micro_batch"),
            "engine": task.get("engine"),
            "steps on the host": "optimizer_on_host" in task.get("offload", []),
        }
    return result


def differences(one, other):
    """Yields the differences between two jobs with their plans."""
    if one[0] != other[0]:
        yield f"the jobs differ:\n{one[0]}\n{other[0]}"
    for task in sorted({*one[1], *other[1]}):
        if one[1].get(task) != other[1].get(task):
            yield f"{task}: {json.dumps(one[1].get(task))} and {json.dumps(other[1].get(task))}"


class Comparison:
    """Runs in all dialects."""

    def __init__(self, dovetail, chance):
        self.dovetail = dovetail
        self.chance = chance
        self.supported = collections.Counter()  # runs supported, by dialect and backend
        self.dialects_of_runs = collections.Counter()
        self.changes = 0

    def comes_to(self, run, name):
        job, plan = imported(self.dovetail, DIALECTS[name](run))
        return job_of(job), plan_of(plan, name, run.adapter_rank > 0)

    def faults_of(self, run):
        """Returns the faults of the run, or None if fewer than two dialects support it."""
        faults, all_results = [], {}
        for name in DIALECTS:
            try:
                all_results[name] = self.comes_to(run, name)
            except CannotSay:
                continue
            except Refused as refused:
                faults.append(f"{name} is rejected: {refused}")
        if len(all_results) < 2 and not faults:
            return None
        self.supported.update((name, run.backend) for name in all_results)
        self.dialects_of_runs[len(all_results)] += 1
        first = next(iter(all_results), "")
        for name, result in all_results.items():
            faults += [f"{first} and {name}: {each}" for each in differences(all_results[first], result)]
        return faults + (self.faults_of_change(run, all_results) if not faults else [])

    def faults_of_change(self, run, all_results):
        name, other = self.chance.choice(list(all_results)), changed_run(run, self.chance)
        try:
            result = self.comes_to(other, name)
        except (CannotSay, Refused):
            return []
        self.changes += 1
        same = not any(differences(all_results[name], result))
        return [f"in {name} the change has no effect:\n{run}\n{other}"] if same else []

    def report(self):
        for (name, backend), count in sorted(self.supported.items()):
            print(f"{name} ({backend}): {count} runs")
        for number, count in sorted(self.dialects_of_runs.items()):
            print(f"{count} runs in {number} dialects")
        print(f"{self.changes} changes had an effect")


def keep(folder, number, run):
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in DIALECTS.items():
        try:
            (folder / f"{number}-{name}").write_text(text_of(write(run)), encoding="utf-8")
        except CannotSay as part:
            print(f"  {name} does not support {part}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dovetail")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the files of runs that differ")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    comparison = Comparison(arguments.dovetail, chance)
    wrong = made = 0
    while made < arguments.runs:
        run = random_run(chance)
        faults = comparison.faults_of(run)
        if faults is None:
            continue
        made += 1
        if faults:
            wrong += 1
            print(f"WRONG run {made}: {run}", *faults, sep="\n  ")
            if arguments.keep:
                keep(arguments.keep, made, run)
    comparison.report()
    silent = [
        (name, backend) for name in BACKENDS for backend in BACKENDS[name] if not comparison.supported[name, backend]
    ]
    if made >= ENOUGH and silent:
        print(f"no run was supported by {silent}")
        wrong += 1
    print(f"{made} runs, {wrong} that differ between dialects")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
