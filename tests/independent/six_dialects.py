#!/usr/bin/env python3
"""Random runs are written as verl, NeMo-RL, OpenRLHF, AReaL, slime and ROLL have them: all must come to one job.

The emitter (dialects/) shares nothing with Dovetail. Of one run all dialects that can say it must give the same job to
the byte, and the same layouts, micro-batches and engine settings. Only this may differ, and why:

| of job or plan | may differ | why |
|---|---|---|
| job: `software` | between all | names the trainer and its conventions of memory |
| job: `fixed` | between all | is there where a trainer has a profile; its devices are those of the plan |
| plan: order of tasks, hashes | between all | the trainers run their passes in orders of their own; hashes hold the job |
| plan: `offload` but `optimizer_on_host` | between all | each trainer has rules of its own of what leaves when |
| plan: `not_modelled` | between all | what a trainer does besides, and plans cannot say |
| plan: `devices` | the place of pools | which pool comes first is the trainer's; its size, and who shares it, are not |
| plan: `zero` of passes | 0, 1 and 2 | without gradients and optimizer these hold the same |
| plan: `zero` of adapters with Megatron | AReaL | it turns the distributed optimizer off for them |
| plan: `sequence_parallel` of FSDP's tensor parallelism | OpenRLHF | DeepSpeed's keeps whole sequences, others cut them |
| plan: `reward_infer` | between all | the run says no more of a judge than its model: an engine, or ranks of ZeRO |

In one dialect each run is then said with one change, and must not come to the same any more.

usage: six_dialects.py DOVETAIL [--runs N] [--seed N] [--keep FOLDER]

Ends with 1 where anything else differs, where a file is refused, or where a change does not show.
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

# With so many runs each dialect has to have said some with each backend that it has.
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
    """What the program says of a file that it refuses."""


def imported(dovetail, configuration):
    """The job's text and the plan that the configuration comes to."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / configuration.file
        path.write_text(text_of(configuration), encoding="utf-8")
        command = [dovetail, "import", f"{configuration.dialect}:{path}", "--gpu", "H100", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr.strip())
    told = json.loads(done.stdout)
    return told["job"], told["plan"]


def job_of(text):
    """The job without what is the trainer's."""
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
    """Of each task what must be the same."""
    tasks = [task for task in plan["tasks"] if task["task"] != "reward_infer"]
    told = {}
    for task in tasks:
        first, _, last = task["devices"].partition("-")
        told[task["task"]] = {
            "gpus": int(last or first) - int(first) + 1,
            "beside": sorted(other["task"] for other in tasks if other["devices"] == task["devices"]),
            "layout": layout_of(task, dialect, adapted),
            "micro_batch": task.get("micro_batch"),
            "engine": task.get("engine"),
            "steps on the host": "optimizer_on_host" in task.get("offload", []),
        }
    return told


def differences(one, other):
    """Of two jobs with their plans."""
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
        self.said = collections.Counter()  # by dialect and backend
        self.dialects_of_runs = collections.Counter()
        self.changes = 0

    def comes_to(self, run, name):
        job, plan = imported(self.dovetail, DIALECTS[name](run))
        return job_of(job), plan_of(plan, name, run.adapter_rank > 0)

    def faults_of(self, run):
        """What is wrong with the run; None where fewer than two dialects can say it."""
        faults, all_told = [], {}
        for name in DIALECTS:
            try:
                all_told[name] = self.comes_to(run, name)
            except CannotSay:
                continue
            except Refused as refused:
                faults.append(f"{name} is refused: {refused}")
        if len(all_told) < 2 and not faults:
            return None
        self.said.update((name, run.backend) for name in all_told)
        self.dialects_of_runs[len(all_told)] += 1
        first = next(iter(all_told), "")
        for name, told in all_told.items():
            faults += [f"{first} and {name}: {each}" for each in differences(all_told[first], told)]
        return faults + (self.faults_of_change(run, all_told) if not faults else [])

    def faults_of_change(self, run, all_told):
        name, other = self.chance.choice(list(all_told)), changed_run(run, self.chance)
        try:
            told = self.comes_to(other, name)
        except (CannotSay, Refused):
            return []
        self.changes += 1
        same = not any(differences(all_told[name], told))
        return [f"in {name} no change shows:\n{run}\n{other}"] if same else []

    def report(self):
        for (name, backend), count in sorted(self.said.items()):
            print(f"{name} ({backend}): {count} runs")
        for number, count in sorted(self.dialects_of_runs.items()):
            print(f"{count} runs in {number} dialects")
        print(f"{self.changes} changes were seen")


def keep(folder, number, run):
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in DIALECTS.items():
        try:
            (folder / f"{number}-{name}").write_text(text_of(write(run)), encoding="utf-8")
        except CannotSay as part:
            print(f"  {name} cannot say {part}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dovetail")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the files of runs that differ")
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
    silent = [(name, backend) for name in BACKENDS for backend in BACKENDS[name] if not comparison.said[name, backend]]
    if made >= ENOUGH and silent:
        print(f"no run was said by {silent}")
        wrong += 1
    print(f"{made} runs, {wrong} that are not the same in all dialects")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
