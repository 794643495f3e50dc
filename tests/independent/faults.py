#!/usr/bin/env python3
"""Trains tiny-ppo on 2 and 4 ranks and injects one fault into each run at a random moment: a rank is killed,
stopped for good, or stopped for a while; the launcher is killed; or, with ranks started without our launcher, one
of them is killed, most often the one with the store.

A run must end in time, with an error that names rank, phase and cause, and without processes left over. A resumed
run must equal the undisturbed run to the byte, except for times. With --shares, each rank's processor time and
memory are compared as well.

usage: faults.py SOURCE DOVETAIL [--faults N] [--seed N] [--ranks N ...] [--kinds KIND ...] [--timeout SECONDS]
                 [--shares]

Expects dovetail-train next to DOVETAIL. Exits with 1 if anything is wrong; the folder of such a run is kept.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KINDS = ("kill", "stop", "delay", "launcher", "store")
ITERATIONS = 4
# Allowed after the deadline: time to compute before a wait, to end all processes, and for a busy machine.
SLACK_SECONDS = 45
LIMIT_SECONDS = 300
# Maximum relative difference of a rank's processor time and memory from the other ranks.
SHARE = 0.15
DIED = -signal.SIGKILL
LOST = 4
# Replaces 64 prompts and four optimizer steps. Short iterations let faults hit all phases.
WORKLOAD = ("prompts: 64", "prompts: 16")
FILES = ("metrics.jsonl", "eval.jsonl", "samples.jsonl")
# Files of a run that a fault may wait for.
EVENTS = ("metrics.jsonl", "eval.jsonl", "checkpoints", "export", "export/critic", "report.html")
LAUNCHERS = ("RANK", "OMPI_", "PMIX_", "SLURM_", "MASTER_", "TORCHELASTIC_", "WORLD_SIZE", "LOCAL_RANK")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}


def processes_of(folder):
    """Returns {rank: process id} for processes that name the run's folder in their command line; None: a launcher."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if str(folder) not in words or (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            rank = re.search(rb"(?:^|\0)RANK=(\d+)\0", (entry / "environ").read_bytes())
            found[int(rank[1]) if rank else None] = int(entry.name)
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def size_of(path):
    """Returns a value that changes when the path's content grows."""
    if path.is_dir():
        return sorted(str(each) for each in path.rglob("*"))
    return path.stat().st_size if path.exists() else None


class Wrong(Exception):
    """A fault in a run's behavior."""


def expect(holds, what):
    if not holds:
        raise Wrong(what)


class Faults:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.draw = random.Random(arguments.seed)
        self.straight, self.seconds, self.phases, self.uneven = {}, {}, collections.Counter(), 0
        shutil.copytree(arguments.source / "examples/train", folder / "train")
        self.job = folder / "train/tiny-ppo/job.yaml"
        text = self.job.read_text(encoding="utf-8").replace(*WORKLOAD)
        text = text.replace("  loss:", "  checkpoint: {every: 1}\n  evaluate: {every: 2, samples: 8}\n  loss:")
        self.job.write_text(text, encoding="utf-8")
        for ranks in arguments.ranks:
            begin = time.monotonic()
            process = self.start(f"straight-{ranks}", ranks)
            expect(process.wait() == 0, f"the undisturbed run on {ranks} ranks fails: {self.printed(process)}")
            self.seconds[ranks] = time.monotonic() - begin
            self.straight[ranks] = self.left_by(f"straight-{ranks}")
            if arguments.shares:
                self.expect_equal_shares(f"straight-{ranks}", ranks)

    def plan(self, ranks):
        return self.job.parent / f"plan-{ranks}-ranks.json"

    def log(self, out, mode="a"):
        return (self.folder / f"{out}.log").open(mode, encoding="utf-8")

    def start(self, out, ranks, *options):
        command = [self.arguments.dovetail, "train", self.job, "-o", self.folder / out, "--ranks", str(ranks)]
        command += ["--plan", self.plan(ranks), "--iterations", str(ITERATIONS)]
        command += ["--timeout", f"{self.arguments.timeout}s", *options]
        with self.log(out, "w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=ENVIRONMENT)
        process.out = out
        return process

    def start_by_hand(self, out, ranks):
        """Starts the ranks of a run whose store is on rank 0."""
        train = Path(self.arguments.dovetail).parent / "dovetail-train"
        command = [train, "run", "--job", self.job, "--plan", self.plan(ranks), "-o", self.folder / out]
        command += ["--ranks", str(ranks), "--iterations", str(ITERATIONS), "--timeout", f"{self.arguments.timeout}s"]
        variables = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        processes = []
        for rank in range(ranks):
            with self.log(f"{out}.{rank}", "w") as log:
                environment = {**ENVIRONMENT, **variables, "RANK": str(rank), "OMP_NUM_THREADS": "1"}
                processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
            processes[-1].out = f"{out}.{rank}"
        return processes

    def printed(self, process):
        return (self.folder / f"{process.out}.log").read_text(encoding="utf-8", errors="replace")

    def left_by(self, out):
        """Returns the files that must be equal: rows without times, and the bytes of trained weights."""
        left = {}
        for name in FILES:
            rows = [json.loads(line) for line in (self.folder / out / name).read_text(encoding="utf-8").splitlines()]
            left[name] = [{key: value for key, value in row.items() if key != "timing"} for row in rows]
            for row in left[name]:
                row.pop("evaluate_seconds", None)
        for role in ("actor", "critic"):
            left[role] = (self.folder / out / f"export/{role}/model.safetensors").read_bytes()
        return left

    def expect_equal_shares(self, out, ranks):
        """Compares processor time and memory in training: these plans give all ranks equal work."""
        rows = [json.loads(line)["timing"] for line in (self.folder / out / "metrics.jsonl").open(encoding="utf-8")]
        for figure in ("processor_seconds", "live_gib"):
            shares = [sum(row[f"{figure}/{rank}"] for row in rows) for rank in range(ranks)]
            parts = [ranks * share / sum(shares) for share in shares]
            print(
                f"{ranks} ranks, {figure}: {', '.join(f'{part:.3f}' for part in parts)} relative to the mean rank",
                flush=True,
            )
            if max(abs(part - 1) for part in parts) > SHARE:
                self.uneven += 1
                print("WRONG", flush=True)

    def await_moment(self, out, ranks, is_running):
        """Waits a random time, or a random time after the run has written something."""
        if self.draw.random() < 0.5:
            end, event = time.monotonic() + self.draw.uniform(0.05, self.seconds[ranks]), None
        else:
            event, times = self.draw.choice(EVENTS), self.draw.randint(1, ITERATIONS)
            path, seen, end = self.folder / out / event, None, time.monotonic() + LIMIT_SECONDS
            while times > 0 and is_running():
                now = size_of(path)
                times -= now != seen and now is not None
                seen = now
                time.sleep(0.001)
            end = time.monotonic() + self.draw.expovariate(20)
        while time.monotonic() < end and is_running():
            time.sleep(0.001)

    def send(self, process, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    def expect_none_left(self, out):
        end = time.monotonic() + 10
        while processes_of(self.folder / out):
            expect(time.monotonic() < end, f"processes left over: {processes_of(self.folder / out)}")
            time.sleep(0.02)

    def wait_for(self, process, seconds):
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Wrong(f"the run does not end within {seconds:.0f} s") from None

    def expect_error(self, process, pattern):
        printed = self.printed(process)
        lines = [line for line in printed.splitlines() if line.startswith("dovetail-train: ")]
        expect(len(lines) == 1, f"{len(lines)} errors instead of one:\n{printed}")
        found = re.search(rf"^dovetail-train: in ([^:]+): {pattern}", lines[0])
        expect(found, f"unexpected error (pattern {pattern}): {lines[0]}")
        self.phases[re.sub(r" of iteration \d+", "", found[1])] += 1

    def hurt_launched(self, kind, out, ranks):
        """Returns whether the fault occurred while the run was in progress."""
        process = self.start(out, ranks)
        victim = self.draw.randrange(ranks)
        pause = self.draw.uniform(0.1, 0.5 * self.arguments.timeout)
        try:
            self.await_moment(out, ranks, lambda: process.poll() is None)
            pid = process.pid if kind == "launcher" else processes_of(self.folder / out).get(victim)
            if pid is None or process.poll() is not None:
                self.wait_for(process, LIMIT_SECONDS)
                return False
            self.send(pid, signal.SIGKILL if kind in ("kill", "launcher") else signal.SIGSTOP)
            if kind == "delay":
                time.sleep(pause)
                self.send(pid, signal.SIGCONT)
            limit = LIMIT_SECONDS if kind == "delay" else self.arguments.timeout + SLACK_SECONDS
            code = self.wait_for(process, limit)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        expected = {"kill": LOST, "stop": LOST, "delay": 0, "launcher": DIED}[kind]
        if code == 0 and expected == LOST and (self.folder / out / "report.html").exists():
            return False  # the rank had finished its work
        expect(code == expected, f"exit code {code} instead of {expected}: {self.printed(process)}")
        if kind == "kill":
            # There is no prediction until a rank has computed its memory budget.
            self.expect_error(process, rf"rank {victim} is lost: killed by signal 9 .*last resident memory was ")
            expect(
                "and the plan needs" in self.printed(process) or "in startup:" in self.printed(process),
                f"no prediction: {self.printed(process)}",
            )
        elif kind == "stop":
            self.expect_error(
                process,
                rf"rank ({victim} is lost: no heartbeat|{victim} of {ranks} did not connect"
                rf"|\d+ (timed out|cannot reach) .*no heartbeat from ranks? {victim}\b)",
            )
        return True

    def hurt_by_hand(self, out, ranks):
        processes = self.start_by_hand(out, ranks)
        victim = self.draw.choice([0, self.draw.randrange(ranks)])
        try:
            self.await_moment(out, ranks, lambda: processes[victim].poll() is None)
            is_there = processes[victim].poll() is None
            self.send(processes[victim].pid, signal.SIGKILL)
            codes = [self.wait_for(each, self.arguments.timeout + SLACK_SECONDS) for each in processes]
        finally:
            for each in processes:
                if each.poll() is None:
                    each.kill()
                    each.wait()
        if not is_there or all(code == 0 for rank, code in enumerate(codes) if rank != victim):
            return False
        expect(all(code in (LOST, 0) for rank, code in enumerate(codes) if rank != victim), f"exit codes {codes}")
        printed = "".join(self.printed(each) for rank, each in enumerate(processes) if rank != victim)
        found = re.search(
            r"^dovetail-train: in ([^:]+): rank \d+ (is lost: |ends: the job's store |of \d+ did|cannot reach)",
            printed,
            re.M,
        )
        expect(found, f"unexpected error: {printed}")
        self.phases[re.sub(r" of iteration \d+", "", found[1])] += 1
        return True

    def expect_the_rest_is_equal(self, out, ranks):
        # A run may have ended when it had written only its plan, or the beginning of a file.
        folder = self.folder / out
        is_begun = folder.is_dir() and any(entry.name != "plan.json" for entry in folder.iterdir())
        resume = ["--resume"] if is_begun else []
        process = self.start(out, ranks, *resume)
        expect(self.wait_for(process, LIMIT_SECONDS) == 0, f"it cannot be resumed: {self.printed(process)}")
        self.expect_equal(out, ranks)

    def expect_equal(self, out, ranks):
        for name, expected in self.straight[ranks].items():
            expect(self.left_by(out)[name] == expected, f"{name} differs from the undisturbed run")
        left = [path.name for path in (self.folder / out).rglob(".dovetail-*")]
        expect(not left, f"temporary files left over: {left}")

    def do(self, number):
        """Runs one fault. Returns whether it occurred while the run was in progress."""
        kind = self.arguments.kinds[number % len(self.arguments.kinds)]
        ranks = self.draw.choice(self.arguments.ranks)
        out = f"{number}-{kind}-{ranks}"
        try:
            came = self.hurt_by_hand(out, ranks) if kind == "store" else self.hurt_launched(kind, out, ranks)
            self.expect_none_left(out)
            if kind != "delay":
                self.expect_the_rest_is_equal(out, ranks)
            else:
                self.expect_equal(out, ranks)
        except Wrong as wrong:
            print(f"{out}: WRONG: {wrong}", flush=True)
            return kind, True, True
        shutil.rmtree(self.folder / out)
        for log in self.folder.glob(f"{out}.*"):
            log.unlink()
        return kind, came, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail")
    parser.add_argument("--faults", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4], choices=[2, 4], metavar="N")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS, metavar="KIND")
    parser.add_argument(
        "--timeout", type=float, default=5, metavar="SECONDS", help="seconds of each wait for another rank"
    )
    parser.add_argument(
        "--shares", action="store_true", help="check in undisturbed runs that each rank does its share of the work"
    )
    arguments = parser.parse_args()
    arguments.dovetail = str(Path(arguments.dovetail).resolve())
    folder = Path(tempfile.mkdtemp(prefix="dovetail-faults-"))
    faults = Faults(arguments, folder)
    done, wrong, number = collections.Counter(), faults.uneven, 0
    while done.total() < arguments.faults and number < 3 * arguments.faults:
        number += 1
        kind, came, is_wrong = faults.do(number)
        done[kind] += came
        wrong += is_wrong
    print(f"{done.total()} faults: {', '.join(f'{count} {kind}' for kind, count in sorted(done.items()))}")
    print(f"phases in errors: {', '.join(f'{count} {phase}' for phase, count in faults.phases.most_common())}")
    print(f"{wrong} wrong{f', kept in {folder}' if wrong else ''}")
    if not wrong:
        shutil.rmtree(folder)
    sys.exit(1 if wrong or done.total() < arguments.faults else 0)


if __name__ == "__main__":
    main()
