#!/usr/bin/env python3
"""Tests that SIGINT and SIGTERM end every long command promptly, with exit code 130 and its file complete or
absent.

usage: interrupt_test.py SOURCE_DIR DOVETAIL [--moments N] [--limit SECONDS] [--longest SECONDS] [--seed N] [--only
TEXT]
       [--stacks SECONDS]

tools/test stops each command at one moment of its first seconds, and allows enough time for a busy machine. A stricter
run by hand: interrupt_test.py . build/release/bin/dovetail --moments 20 --longest 25 --limit 1
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONGEST = 3.0  # a command is stopped within this many seconds
FAR_TOO_LONG = 60.0  # seconds to wait for its end
INTERRUPTED = 130
TICKS = os.sysconf("SC_CLK_TCK")


def job(name, algorithm, models, workload, nodes, gpu):
    return {
        "format": "dovetail/job@1",
        "name": name,
        "algorithm": algorithm,
        "models": models,
        "workload": workload,
        "cluster": {"nodes": nodes, "gpus_per_node": 8, "gpu": gpu, "host_memory": "2TB"},
        "software": {"training": "megatron"},
    }


def large_jobs():
    """The jobs that take longest to plan, as documents by name."""
    rule = {"name": "grpo", "reward": "rule"}
    grpo = {
        "prompts": 512,
        "samples_per_prompt": 16,
        "mini_batch": 512,
        "prompt_length": 512,
        "response_length": {"mean": 4000, "sigma": 0.8, "cap": 16384},
    }
    ppo = {
        "prompts": 1024,
        "mini_batch": 256,
        "prompt_length": 512,
        "response_length": {"mean": 800, "sigma": 0.8, "cap": 4096},
    }
    models = {"actor": "llama-3.1-70b", "reward": "llama-3.1-8b"}
    return [
        job("deepseek-512", rule, {"actor": "deepseek-v3"}, grpo, 64, "H200"),
        job("qwen-64", rule, {"actor": "qwen3-30b-a3b"}, grpo, 8, "H100"),
        job("ppo-64", "ppo", models, ppo, 8, "H100"),
        job("ppo-1024", "ppo", models, ppo, 128, "H100"),
    ]


def commands(source, folder):
    """Long commands: (arguments, name of the file that -o writes or None)."""
    examples = source / "examples"
    jobs = {path.stem: str(path) for path in (examples / "jobs").glob("*.yaml") if not path.stem.endswith(".plan")}
    for document in large_jobs():
        path = folder / f"{document['name']}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        jobs[document["name"]] = str(path)
    plan = {name: str(examples / "jobs" / f"{name}.plan.json") for name in ("grpo-8b", "rlhfuse-33b-13b")}
    plan["ppo-7b"] = str(examples / "jobs" / "ppo-7b.plan.yaml")
    of = lambda name: (jobs[name], "--plan", plan[name])
    out = ("-o", "out.json")
    for name in ("deepseek-512", "qwen-64", "ppo-64", "ppo-1024", "rlhfuse-65b-33b"):
        yield ("plan", jobs[name], *out)
        yield ("fit", jobs[name])
    yield ("plan", jobs["ppo-64"], "--placement", "rlhfuse", *out)
    yield ("explain", *of("rlhfuse-33b-13b"))
    yield ("explain", *of("grpo-8b"))
    yield ("simulate", jobs["ppo-1024"], *out)
    yield ("simulate", *of("rlhfuse-33b-13b"), "--fuse", "both", "--draws", "20", *out)
    yield ("sweep", *of("rlhfuse-33b-13b"), "--over", "threshold", *out)
    yield ("sweep", jobs["ppo-64"], "--over", "nodes", "--values", "1,2,4,8", *out)
    yield ("what-if", *of("rlhfuse-33b-13b"))
    yield ("what-if", jobs["qwen-64"])
    yield ("forecast", jobs["ppo-64"], "--steps", "1000", "--lengths", "500:2.5,1000:4", "-o", "out")
    yield ("report", *of("rlhfuse-33b-13b"), "--fuse", "both", "-o", "out.html")
    yield ("report", jobs["ppo-1024"], "-o", "out.html")
    yield ("calibrate", str(examples / "measurements" / "nemo-rl-dense.yaml"), *out)
    yield ("schedule", "scale64", *out)
    yield ("schedule", "exp9", *out)
    yield ("schedule", "exp9", "--objective", "memory", *out)
    yield ("schedule", "exp1", "--solver", "exact", *out)
    yield ("schedule", "scale64", "--solver", "pattern", *out)
    yield ("schedule", "scale64", "--solver", "annealing", *out)
    yield ("schedule", "exp5", "--objective", "pareto", *out)
    yield ("schedule", "scale64", "--objective", "pareto", *out)
    yield ("compare", "exp9", "--all")
    yield ("compare", "scale64")
    yield ("bounds", "exp9", "--work", "2000")
    yield ("bounds", "scale64", "--work", "2000")
    yield ("show", "scale64", "--solver", "auto")


def cpu_seconds(pid):
    """Returns the processor time of all threads of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def catches(pid, number):
    """Whether a process has installed its signal handlers, which may take long on a busy machine."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return True
    return int(re.search(r"^SigCgt:\s*(\w+)", status, re.M)[1], 16) >> (number - 1) & 1 == 1


class Run:
    """A command stopped at a given moment, or as soon as possible after it has started, and how it ended."""

    def __init__(self, dovetail, arguments, folder, moment, sent, stacks):
        for left in folder.glob("out*"):
            left.unlink()
        begin = time.monotonic()
        with open(folder / "stdout", "wb") as stdout, open(folder / "stderr", "wb") as stderr:
            self.process = subprocess.Popen([dovetail, *arguments], cwd=folder, stdout=stdout, stderr=stderr)
        self.usage = None
        self.stopped = not self.ends_by(begin + moment)
        while self.stopped and not catches(self.process.pid, sent) and time.monotonic() < begin + moment + LONGEST:
            self.stopped = not self.ends_by(time.monotonic() + 0.005)
        used = cpu_seconds(self.process.pid)
        signalled = time.monotonic()
        if self.stopped:
            self.process.send_signal(sent)
            if stacks is not None and not self.ends_by(signalled + stacks):
                self.print_stack(self.process.pid)
            if not self.ends_by(signalled + FAR_TOO_LONG):
                self.process.kill()
                self.ends_by(float("inf"))
        self.code = self.process.returncode
        self.seconds = time.monotonic() - begin
        self.wall = time.monotonic() - signalled
        # On an idle machine it would have ended within the smaller of the two.
        self.late = min(self.wall, self.usage.ru_utime + self.usage.ru_stime - used)
        self.stderr = (folder / "stderr").read_text(encoding="utf-8", errors="replace")

    def ends_by(self, moment):
        while self.usage is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid != 0:
                self.usage = usage
                self.process.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= moment:
                return False
            else:
                time.sleep(0.005)
        return True

    @staticmethod
    def print_stack(pid):
        done = subprocess.run(
            ["gdb", "-batch", "-ex", "thread apply all bt 14", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            found = re.match(r"#\d+ .*? in (.*?) \(", line)
            if found and "dovetail" in found[1]:
                print("        ", found[1].replace("dovetail::", "")[:150])


def faults(run, arguments, folder, limit):
    """Yields the faults in how a stopped command ended."""
    if run.code != INTERRUPTED:
        yield f"exit code {run.code}: {run.stderr[-300:]}"
    if run.late > limit:
        yield f"took {run.late:.2f} s to end ({run.wall:.2f} s on this machine)"
    left = list(folder.glob("out*"))
    for path in left:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            try:
                json.loads(text)
            except ValueError as error:
                yield f"{path.name} is incomplete: {error}"
        elif path.suffix == ".html" and "</html>" not in text[-100:]:
            yield f"{path.name} is incomplete"
        elif path.suffix not in (".json", ".html"):
            yield f"{path.name} was left behind"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--moments", type=int, default=2, help="number of moments at which each command is stopped")
    parser.add_argument("--limit", type=float, default=3, help="seconds in which a command has to end")
    parser.add_argument(
        "--longest", type=float, default=LONGEST, help="seconds of a command within which it is stopped"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="run only commands with this text in their arguments")
    parser.add_argument(
        "--stacks", type=float, help="print the stacks of a command this many seconds after the signal (needs gdb)"
    )
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index, command in enumerate(commands(arguments.source.resolve(), folder)):
            text = " ".join(Path(word).name if word.startswith("/") else word for word in command)
            if arguments.only not in text:
                continue
            worst = 0.0
            longest = arguments.longest
            for number in range(arguments.moments):
                moment = draw.uniform(0.05, 1.0) ** 1.5 * longest
                sent = signal.SIGTERM if (index + number) % 2 else signal.SIGINT
                run = Run(arguments.dovetail, command, folder, moment, sent, arguments.stacks)
                if not run.stopped:
                    longest = min(longest, run.seconds)
                    continue
                worst = max(worst, run.late)
                for fault in faults(run, command, folder, arguments.limit):
                    failed += 1
                    print(f"FAILED {text} after {moment:.2f} s: {fault}", flush=True)
            print(f"{worst:6.2f} s  {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
