#!/usr/bin/env python3
"""Trains the demonstrations of examples/train with several seeds and recreates their shipped weights. The other
scripts in this folder check the results.

usage: seeds.py SOURCE DOVETAIL [--seeds N] [--jobs N] [--only TASK...] [--ranks N]

--ranks sets the number of ranks for tiny-ppo. Needs a Python with torch and yaml. Prints each figure's minimum and
maximum over the seeds, and the failures. Exits with 1 if anything failed.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIGURE = re.compile(r"^(.+): (-?[0-9.]+), (?:expected|at least|at most) .*$", re.MULTILINE)
TASKS = ("made-again", "tiny-ppo", "tiny-grpo", "collapse")


class Checks:
    def __init__(self, source, dovetail, folder, ranks):
        self.dovetail, self.folder, self.examples = dovetail, folder, folder / "train"
        self.ranks = ["--ranks", str(ranks)] if ranks else []
        shutil.copytree(source / "examples/train", self.examples)
        self.figures, self.failures, self.lock = {}, [], threading.Lock()

    def note(self, kind, figures, failure=None):
        with self.lock:
            for name, value in figures.items():
                self.figures.setdefault((kind, name), []).append(value)
            if failure is not None:
                self.failures.append(failure)
                print(failure, flush=True)

    def train(self, job, seed, out, options=()):
        """Runs `job` with another seed. Returns the folder and the output, or None if the run failed."""
        text = (self.examples / job).read_text(encoding="utf-8").replace("train:\n", f"train:\n  seed: {seed}\n")
        copy = (self.examples / job).with_name(f"{Path(job).stem}-seed-{seed}.yaml")
        copy.write_text(text, encoding="utf-8")
        command = [self.dovetail, "train", copy, "-o", self.folder / out, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.note(job, {}, f"{job}, seed {seed}: exit code {done.returncode}: {done.stderr[-1000:]}")
            return None, done.stderr
        return self.folder / out, done.stderr

    def judge(self, kind, seed, script, *arguments):
        """Returns the figures that a script prints, and records its failures."""
        command = [sys.executable, HERE / script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        figures = {name: float(value) for name, value in FIGURE.findall(done.stdout)}
        failure = f"{kind}, seed {seed}:\n{done.stdout}{done.stderr}" if done.returncode else None
        self.note(kind, figures, failure)
        return figures

    def hold(self, kind, seed, ok, name, value):
        self.note(kind, {name: value}, None if ok else f"{kind}, seed {seed}: {name} is {value}")

    def score(self, folder, data, task):
        command = [sys.executable, HERE / "score_export.py", folder, self.examples / data, "--task", task]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def greedy_is_the_evaluation(self, kind, seed, run, scored):
        """The exported model's answers at temperature 0 match the run's evaluation, except for near ties."""
        last = json.loads((run / "eval.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        apart = abs(last["reward"] - scored["greedy"]["reward"])
        self.hold(kind, seed, apart <= 0.02, "difference between exported model and evaluation", apart)

    def tiny_ppo(self, seed):
        for rule in ("rule", "model"):
            shares = []
            for coefficient in (1, 2):
                kind = f"tiny-ppo, {rule}, {coefficient}"
                job = "job" + ("-rule" if rule == "rule" else "") + ("-2" if coefficient == 2 else "")
                run, _ = self.train(f"tiny-ppo/{job}.yaml", seed, f"{job}-{seed}", self.ranks)
                if run is None:
                    continue
                model = [] if rule == "rule" else ["--reward-model", self.examples / "tiny-rm/model"]
                shares.append(self.judge(kind, seed, "coin_clauses.py", run, *model)["share of good adjectives"])
                scored = self.score(run / "export/actor", "tiny-ppo/held-out.jsonl", "clauses")
                apart = abs(scored["sampled"]["share"] - shares[-1])
                # In a sample of 256 prompts, the policy's share has a standard deviation of 0.015.
                self.hold(kind, seed, apart <= 0.06, "difference of the share between exported model and run", apart)
                form = scored["sampled"]["form"]
                self.hold(kind, seed, form >= 0.9, "exported model's form", form)
                if rule == "rule":
                    self.greedy_is_the_evaluation(kind, seed, run, scored)
                shutil.rmtree(run)
            if len(shares) == 2:
                self.hold(f"tiny-ppo, {rule}", seed, shares[0] > shares[1], "share, from 1 to 2", shares[0] - shares[1])

    def tiny_grpo(self, seed):
        run, _ = self.train("tiny-grpo/job.yaml", seed, f"grpo-{seed}")
        if run is not None:
            data = self.examples / "tiny-grpo/held-out.jsonl"
            self.judge("tiny-grpo", seed, "sorter.py", run, self.examples / "tiny-grpo/model", data)
            shutil.rmtree(run)

    def collapse(self, seed):
        run, printed = self.train("tiny-grpo/job-collapse.yaml", seed, f"collapse-{seed}")
        if run is not None:
            begin = printed.replace("\r", "\n").partition("\n3/")[0]
            self.hold(
                "tiny-grpo, collapse", seed, "warning" in begin, "warning by iteration 2", int("warning" in begin)
            )
            rows = (run / "eval.jsonl").read_text(encoding="utf-8").splitlines()
            rewards = [json.loads(row)["reward"] for row in rows]
            fallen = max(rewards) - rewards[-1]
            self.hold("tiny-grpo, collapse", seed, fallen >= 0.1, "reward lost since its best value", fallen)
            shutil.rmtree(run)

    def made_again(self, _):
        """Checks the shipped models and the ones that their jobs produce here."""
        subprocess.run([sys.executable, self.examples / "make.py"], check=True)
        models = {"tiny-sft": ("tiny-sft/job.yaml", "actor"), "tiny-rm": ("tiny-rm/job.yaml", "reward")}
        models["tiny-grpo"] = ("tiny-grpo/job-start.yaml", "actor")
        for name, (job, role) in models.items():
            shipped = self.examples / name / "model"
            run, _ = self.train(job, 1, f"again-{name}")
            if run is None:
                continue
            made = run / "export" / role
            weights = made / "model.safetensors"
            subprocess.run([sys.executable, self.examples / "make.py", "--bf16", weights, weights], check=True)
            same = weights.read_bytes() == (shipped / "model.safetensors").read_bytes()
            self.note(f"{name}, recreated", {"bytes equal to the shipped file": int(same)})
            for which, folder in (("shipped", shipped), ("recreated", made)):
                data = self.examples / name.replace("sft", "ppo") / "held-out.jsonl"
                self.judge(f"{name}, {which}", 1, "beginnings.py", name, folder, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS, metavar="TASK")
    parser.add_argument("--ranks", type=int, metavar="N")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dovetail-seeds-") as folder:
        checks = Checks(arguments.source.resolve(), arguments.dovetail, Path(folder), arguments.ranks)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            work = []
            for task in arguments.only:
                for seed in [1] if task == "made-again" else range(1, arguments.seeds + 1):
                    work.append(pool.submit(getattr(checks, task.replace("-", "_")), seed))
            for done in concurrent.futures.as_completed(work):
                done.result()
    kind = None
    for (of, name), values in sorted(checks.figures.items()):
        if of != kind:
            print(f"{of} ({len(values)} runs)")
            kind = of
        print(f"  {name}: {min(values):.4f} to {max(values):.4f}")
    print(f"{len(checks.failures)} failures")
    sys.exit(1 if checks.failures else 0)


if __name__ == "__main__":
    main()
