#!/usr/bin/env python3
"""Runs 2,000 PPO iterations on a model of 0.1 million parameters twice: once uninterrupted, with its memory and
open files observed, and once killed repeatedly. Nothing may grow, and both must give the same result.

usage: soak.py SOURCE DOVETAIL [--iterations N] [--kills N] [--seed N]

Exits with 1 if anything is wrong.
"""

import argparse
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 32,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
    "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0, "torch_dtype": "float32",
}  # fmt: skip
JOB = """format: dovetail/job@1
name: soak
algorithm: {{name: ppo, reward: rule}}
models: {{actor: model}}
workload: {{prompts: 16, prompt_length: 2, response_length: 12, mini_batches: 2, epochs: 1}}
cluster: {{nodes: 1, gpus_per_node: 1, gpu: {{name: CPU, memory: 16GiB, bandwidth: 40GB/s, bf16: 130GFLOP/s}}}}
software: {{framework: dovetail}}
train:
  iterations: {iterations}
  data: {{train: prompts.jsonl, validation: held-out.jsonl}}
  tokenizer: model
  optimizer: {{actor: {{learning_rate: 1e-3}}, critic: {{learning_rate: 1e-3}}}}
  loss: {{kl: {{coefficient: 0.1}}}}
  reward: {{command: [python3, reward.py]}}
  evaluate: {{every: 100, samples: 32}}
  checkpoint: {{every: 10, keep: 2}}
"""
SETTLED = 0.2  # share of the run whose memory use counts as start-up, not growth
MEGABYTE = 2**20
LONGEST_LIFE = 1.5


class Watch:
    """Memory and open files of a process over time."""

    def __init__(self, process):
        self.process, self.memory, self.handles = process, [], []
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        place = Path(f"/proc/{self.process.pid}")
        while self.process.poll() is None:
            time.sleep(0.05)
            try:
                pages = int((place / "statm").read_text().split()[1])
                handles = len(list((place / "fd").iterdir()))
            except (OSError, IndexError):
                continue
            self.memory.append(pages * 4096)
            self.handles.append(handles)

    def after_settling(self, values):
        """Returns the medians after start-up and of the last part. At its end, a run writes its report."""
        part = int(len(values) * SETTLED)
        return statistics.median(values[part : 2 * part]), statistics.median(values[-part:])


class Soak:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.faults = arguments, folder, 0
        source = arguments.source / "examples/train"
        for name in ("prompts.jsonl", "held-out.jsonl", "reward.py"):
            shutil.copy(source / "tiny-ppo" / name, folder)
        (folder / "model").mkdir()
        (folder / "model/config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
        shutil.copy(source / "tiny-sft/model/tokenizer.json", folder / "model")
        (folder / "job.yaml").write_text(JOB.format(iterations=arguments.iterations), encoding="utf-8")

    def hold(self, what, value, most):
        ok = value <= most
        self.faults += not ok
        print(f"{what}: {value}, at most {most}{'' if ok else '  WRONG'}", flush=True)

    def start(self, out, *options):
        command = [self.arguments.dovetail, "train", self.folder / "job.yaml", "-o", self.folder / out, *options]
        log = (self.folder / f"{out}.log").open("a", encoding="utf-8")
        return subprocess.Popen(command, stdout=log, stderr=log)

    def straight(self):
        process = self.start("straight")
        watch = Watch(process)
        self.hold("exit code", process.wait(), 0)
        watch.thread.join()
        early, late = watch.after_settling(watch.memory)
        self.hold("growth of memory after start-up, MiB", round((late - early) / MEGABYTE, 2), 4)
        early, late = watch.after_settling(watch.handles)
        self.hold("growth of open files", late - early, 0)

    def killed(self):
        """Restarts the run until it is done. Each process lives for up to LONGEST_LIFE seconds, including its
        start."""
        draw, kills = random.Random(self.arguments.seed), 0
        while True:
            resume = ["--resume"] if (self.folder / "killed/checkpoints").exists() else []
            process = self.start("killed", *resume)
            try:
                code = process.wait(draw.uniform(0.1, LONGEST_LIFE) if kills < self.arguments.kills else None)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
                kills += 1
                if process.wait() == 0:
                    code = 0
                    break
        print(f"{kills} kills", flush=True)
        self.hold("exit code of the killed run", code, 0)

    def rows(self, out, name):
        rows = [json.loads(line) for line in (self.folder / out / name).read_text(encoding="utf-8").splitlines()]
        for row in rows:
            row.pop("timing", None)
        return rows

    def compare(self):
        for name in ("metrics.jsonl", "eval.jsonl", "samples.jsonl"):
            self.hold(f"{name} differ", int(self.rows("straight", name) != self.rows("killed", name)), 0)
        for role in ("actor", "critic"):
            path = f"export/{role}/model.safetensors"
            same = (self.folder / "straight" / path).read_bytes() == (self.folder / "killed" / path).read_bytes()
            self.hold(f"exported {role} differs", int(not same), 0)
        self.hold("iterations missing", self.arguments.iterations - len(self.rows("killed", "metrics.jsonl")), 0)
        for out in ("straight", "killed"):
            # The checkpoints to keep, and the best one.
            self.hold(f"checkpoints of {out}", len(list((self.folder / out / "checkpoints").iterdir())), 3)
            left = [path.name for path in (self.folder / out).rglob(".dovetail-*")]
            self.hold(f"temporary files of {out}", len(left), 0)
        events = len(list((self.folder / "straight/tensorboard").iterdir()))
        self.hold("event files", events, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail")
    parser.add_argument("--iterations", type=int, default=2000, metavar="N")
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dovetail-soak-") as folder:
        soak = Soak(arguments, Path(folder))
        soak.straight()
        soak.killed()
        soak.compare()
    print(f"{soak.faults} failures")
    sys.exit(1 if soak.faults else 0)


if __name__ == "__main__":
    main()
