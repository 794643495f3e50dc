#!/usr/bin/env python3
"""Tests training as users run it: the demonstrations learn their tasks, a killed run resumes to the same numbers,
and errors are reported before anything runs.

usage: train_test.py SOURCE_DIR DOVETAIL [--kills N] [--seed N] [--optima N]

Two PPO demonstrations have a known optimum: --optima is the number of them to train (1 by default).

Expects dovetail-train next to DOVETAIL.
"""

import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(".")
DOVETAIL = "dovetail"
KILLS = 5
SEED = 1
OPTIMA = 1

GOOD = set("good bright kind clear warm fine".split())
BAD = set("bad dark cruel dull cold rough".split())
TOPICS = "harbor garden market river castle forest bridge island".split()


def rows_of(path):
    """Returns the rows of a JSON lines file without values that differ between runs."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row.pop("timing", None)
    return rows


def is_well_formed(prompt, text):
    """Whether a response has the clauses that its prompt requests, each about its noun."""
    count, topic = prompt.split()
    words = text.split()
    nouns = [TOPICS[(3 * TOPICS.index(topic) + 5 * i + 1) % 8] for i in range(int(count))]
    return words[1::2] == nouns and len(words) == 2 * len(nouns) and all(word in GOOD | BAD for word in words[::2])


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="dovetail-train-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def command(self, job, out, *options):
        return [DOVETAIL, "train", str(job), "-o", str(self.folder / out), *options]

    def train(self, job, out, *options):
        done = subprocess.run(self.command(job, out, *options), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return self.folder / out, done.stderr

    def copy_of(self, name):
        """Copies a demonstration with its folder, so that a test can change it."""
        shutil.copytree(SOURCE / "examples/train", self.folder / "train")
        return self.folder / "train" / name


class Demonstrations(Runs):
    def test_the_files_match_make_py(self):
        done = subprocess.run(
            [sys.executable, SOURCE / "examples/train/make.py", "--check"], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_make_py_creates_the_files_that_are_not_in_git(self):
        job = self.copy_of("tiny-sft")
        (job / "train.jsonl").unlink(missing_ok=True)
        subprocess.run([sys.executable, job.parent / "make.py"], check=True)
        out, _ = self.train(job, "sft", "--iterations", "2")
        self.assertEqual(len(rows_of(out / "metrics.jsonl")), 2)

    def test_ppo_reaches_the_predicted_optimum(self):
        """With +1 or -1 per clause and the coefficient b, the optimal share of good adjectives is sigmoid(2 / b),
        and the divergence per clause is ln 2 - H(share)."""
        for job, coefficient in (("job-rule-2.yaml", 2), ("job-rule.yaml", 1))[:OPTIMA]:
            out, _ = self.train(SOURCE / "examples/train/tiny-ppo" / job, f"ppo-{coefficient}")
            rows = [row for row in rows_of(out / "samples.jsonl") if row["iteration"] > 90]
            prompts = rows_of(SOURCE / "examples/train/tiny-ppo/prompts.jsonl")
            words = [word for row in rows for word in row["text"].split()]
            good, bad = (sum(word in kind for word in words) for kind in (GOOD, BAD))
            share = good / (good + bad)
            self.assertAlmostEqual(share, 1 / (1 + math.exp(-2 / coefficient)), delta=0.03)
            kl = sum(p - q for row in rows for p, q in zip(row["sampled"], row["reference"])) / (good + bad)
            entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
            self.assertAlmostEqual(kl, math.log(2) - entropy, delta=0.03)
            for row in rows:
                self.assertEqual(row["prompt"], prompts[row["prompt_index"]]["prompt"])
            formed = [is_well_formed(row["prompt"], row["text"]) for row in rows]
            self.assertGreater(sum(formed) / len(formed), 0.9)
            for row in rows:
                words = row["text"].split()
                self.assertEqual(row["reward"], sum((word in GOOD) - (word in BAD) for word in words))
            self.assertEqual({row["sampler_gap_max"] for row in rows_of(out / "metrics.jsonl")}, {0})

    def test_grpo_sharpens_the_sorter(self):
        out, _ = self.train(SOURCE / "examples/train/tiny-grpo", "grpo")
        self.assertEqual({row["sampler_gap_max"] for row in rows_of(out / "metrics.jsonl")}, {0})
        rewards = [row["reward"] for row in rows_of(out / "eval.jsonl")]
        self.assertTrue(0.3 < rewards[0] < 0.5, rewards)
        self.assertGreater(rewards[-1], 0.8)

    def test_too_high_a_learning_rate_causes_a_warning(self):
        out, printed = self.train(SOURCE / "examples/train/tiny-grpo/job-collapse.yaml", "collapse", "--iterations", "20")
        self.assertIn("the policy diverged from the sampling policy", printed)
        second = printed.index("\n2/20")
        self.assertIn("warning", printed[:second])
        # With a stable learning rate, the same model exceeds 0.8 by then.
        self.assertLess(rows_of(out / "eval.jsonl")[-1]["reward"], 0.7)


class Results(Runs):
    def test_a_run_leaves_its_report(self):
        out, _ = self.train(SOURCE / "examples/train/tiny-ppo/job-rule.yaml", "run", "--iterations", "4")
        trace = json.loads((out / "timeline.json").read_text(encoding="utf-8"))
        names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"}
        self.assertLessEqual({"actor_generate", "actor_train", "critic_train", "evaluation"}, names)
        self.assertIn("<svg", (out / "curves.svg").read_text(encoding="utf-8"))
        self.assertIn("tiny-ppo-rule", (out / "report.html").read_text(encoding="utf-8"))
        for command in (["calibrate", out / "measurement.yaml"], ["report", out, "-o", self.folder / "again.html"]):
            done = subprocess.run([DOVETAIL, *map(str, command)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        # The fit starts from constants of similar runs, which exclude the cluster's time outside tasks.
        measurement = (out / "measurement.yaml").read_text(encoding="utf-8")
        self.assertIn('start: "cpu/dovetail"', measurement)
        fit = subprocess.run(
            [DOVETAIL, "calibrate", out / "measurement.yaml", "--json"], capture_output=True, text=True, check=True
        )
        row = json.loads(fit.stdout)["rows"][0]["iteration"]
        self.assertLess(abs(row["fitted"] / row["measured"] - 1), 0.2)
        self.assertEqual((self.folder / "again.html").read_bytes(), (out / "report.html").read_bytes())

    def test_a_run_can_be_run_again_from_its_folder(self):
        first, _ = self.train(SOURCE / "examples/train/tiny-ppo/job-rule.yaml", "first", "--iterations", "2")
        self.train(first, "first", "--iterations", "3", "--resume")
        second, _ = self.train(first / "job.yaml", "second", "--iterations", "3")
        self.assertEqual(rows_of(second / "samples.jsonl")[:64], rows_of(first / "samples.jsonl")[:64])


class Interruptions(Runs):
    def test_a_killed_run_resumes_to_the_same_numbers(self):
        job = self.copy_of("tiny-ppo") / "job-rule.yaml"
        job.write_text(job.read_text().replace("  loss:", "  checkpoint: {every: 3}\n  evaluate: {every: 4}\n  loss:"))
        straight, _ = self.train(job, "straight", "--iterations", "16")
        draw = random.Random(SEED)
        killed = self.folder / "killed"
        for kill in range(KILLS + 1):
            resume = ["--resume"] if (killed / "checkpoints").exists() else []
            with subprocess.Popen(
                self.command(job, "killed", "--iterations", "16", *resume), stderr=subprocess.PIPE, text=True
            ) as process:
                if kill < KILLS:
                    time.sleep(draw.uniform(0.3, 2))
                    process.send_signal(draw.choice([signal.SIGTERM, signal.SIGINT, signal.SIGKILL]))
                printed = process.communicate()[1]
            self.assertIn(process.returncode, (0, 130, -9, -15, -2), printed)
            if process.returncode == 0:
                break
        for name in ("metrics.jsonl", "eval.jsonl", "samples.jsonl"):
            self.assertEqual(rows_of(killed / name), rows_of(straight / name), name)
        for role in ("actor", "critic"):
            weights = [(run / "export" / role / "model.safetensors").read_bytes() for run in (straight, killed)]
            self.assertEqual(*weights)

    def test_a_damaged_checkpoint_is_reported_and_the_previous_one_used(self):
        job = self.copy_of("tiny-ppo") / "job-rule.yaml"
        job.write_text(job.read_text().replace("  loss:", "  checkpoint: {every: 2}\n  loss:"))
        out, _ = self.train(job, "run", "--iterations", "4")
        newest = out / "checkpoints/iteration-000004/actor.safetensors"
        content = bytearray(newest.read_bytes())
        content[-1] ^= 1
        newest.write_bytes(content)
        _, printed = self.train(job, "run", "--iterations", "5", "--resume")
        self.assertIn("the file is damaged", printed)
        self.assertEqual(len(rows_of(out / "metrics.jsonl")), 5)

    def test_a_full_disk_error_names_the_path(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        job = SOURCE / "examples/train/tiny-ppo/job-rule.yaml"
        done = subprocess.run(
            self.command(job, "run", "--iterations", "4"), capture_output=True, text=True, check=False, preexec_fn=limit
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(self.folder / "run"), done.stderr)
        for name in ("metrics.jsonl", "samples.jsonl"):
            content = (self.folder / "run" / name).read_text()
            self.assertTrue(content == "" or content.endswith("\n"), name)


class Mistakes(Runs):
    def refused(self, job, *words):
        done = subprocess.run(self.command(job, "out"), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "out/metrics.jsonl").exists())

    def changed(self, name, before, after):
        job = self.copy_of("tiny-ppo") / name
        text = job.read_text()
        self.assertIn(before, text)
        job.write_text(text.replace(before, after))
        return job

    def test_unsupported_settings_are_rejected_at_their_key(self):
        self.refused(self.changed("job-rule.yaml", "  loss:", "  precision: {train: bf16}\n  loss:"), "bf16", "fp32")

    def test_prompts_are_checked_by_line(self):
        job = self.copy_of("tiny-ppo") / "job-rule.yaml"
        prompts = job.parent / "prompts.jsonl"
        lines = prompts.read_text().splitlines()
        lines[6] = json.dumps({"prompt": " ".join(["harbor"] * 60)})
        prompts.write_text("\n".join(lines) + "\n")
        self.refused(job, "prompts.jsonl:7:", "60 tokens", "accepted")

    def test_truncated_weights_are_reported(self):
        job = self.copy_of("tiny-ppo") / "job-rule.yaml"
        weights = job.parent.parent / "tiny-sft/model/model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        self.refused(job, "model.safetensors", "truncated")

    def test_a_reward_command_is_tried_first(self):
        self.refused(self.changed("job-rule.yaml", "reward.py", "no-such.py"), "reward command", "probe")

    def test_a_folder_with_a_run_is_not_written_over(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/notes.txt").write_text("mine")
        self.refused(SOURCE / "examples/train/tiny-ppo/job-rule.yaml", "not empty", "--resume")

    def test_a_changed_job_is_not_resumed(self):
        job = self.changed("job-rule.yaml", "  loss:", "  checkpoint: {every: 2}\n  loss:")
        self.train(job, "out", "--iterations", "2")
        job.write_text(job.read_text().replace("coefficient: 1}", "coefficient: 3}"))
        done = subprocess.run(
            self.command(job, "out", "--iterations", "3", "--resume"), capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("has changed", done.stderr)

    def test_changed_data_and_a_changed_reward_program_are_not_resumed(self):
        job = self.changed("job-rule.yaml", "  loss:", "  checkpoint: {every: 2}\n  loss:")
        self.train(job, "out", "--iterations", "2")
        for name in ("prompts.jsonl", "reward.py"):
            file = job.parent / name
            content = file.read_text()
            file.write_text(content + "\n")
            done = subprocess.run(
                self.command(job, "out", "--iterations", "3", "--resume"), capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("has changed", done.stderr)
            file.write_text(content)
        self.train(job, "out", "--iterations", "3", "--resume")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    for option in ("--kills", "--seed", "--optima"):
        if option in arguments:
            place = arguments.index(option)
            globals()[option[2:].upper()] = int(arguments[place + 1])
            del arguments[place : place + 2]
    SOURCE, DOVETAIL = Path(arguments[0]).resolve(), arguments[1]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    unittest.main(argv=[sys.argv[0], *arguments[2:]])
