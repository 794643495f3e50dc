#!/usr/bin/env python3
"""Tests that the --json output of commands about plans satisfies the JSON Schema of its format, and that damaged
answers do not.

usage: plan_answers_test.py SOURCE_DIR DOVETAIL
"""

import json
import unittest
from pathlib import Path

from documents import REMOVED, SOURCE, Documents, changed, dovetail, validator_of


class PlanAnswers(Documents):
    def test_calibrate(self):
        runs = SOURCE / "examples" / "measurements" / "nemo-rl-dense.yaml"
        path = self.path("mine.json")
        report = self.answer("calibration", "calibrate", str(runs), "--evaluations", "20", "-o", path)
        self.assert_refused(
            "calibration", report, ("rows", []), ("values", 0, "value", 0), ("fitted", "rank_correlation", 2)
        )
        written = json.loads(Path(path).read_text(encoding="utf-8"))
        self.assert_each_refused(
            "efficiency",
            written,
            ("format", "dovetail/efficiency@2"),
            ("name", ""),
            ("name", REMOVED),
            ("error", -1),
            ("constants", REMOVED),
            ("constants", "slott", 1),
            ("constants", "matrix_products", 0),
            ("constants", "slot", 1),
            ("colour", "red"),
        )

    def test_measured(self):
        logs = SOURCE / "examples" / "measurements"
        jobs = SOURCE / "examples" / "jobs"
        alone = self.answer("measured", "measured", str(logs / "verl-ppo.jsonl"))
        for damage in (
            ("steps", []),
            ("log", "trl"),
            ("times", []),
            ("times", 0, "seconds", "steps", 0),
            ("unknown", 3),
            ("colour", "red"),
        ):
            self.assertFalse(self.validator("measured").is_valid(changed(alone, damage)), damage)
        beside = self.answer(
            "measured",
            "measured",
            str(logs / "nemo-rl-grpo.jsonl"),
            "--job",
            str(jobs / "grpo-8b.yaml"),
            "--plan",
            str(jobs / "grpo-8b.plan.json"),
        )
        for damage in (
            ("comparison", "phases", 0, "keys", []),
            ("comparison", "iteration", "reasons", "x"),
            ("comparison", "phases", REMOVED),
        ):
            self.assertFalse(self.validator("measured").is_valid(changed(beside, damage)), damage)

    def test_plan_and_fit(self):
        jobs = SOURCE / "examples" / "jobs"
        plans = sorted(jobs.glob("*.plan.json"))
        self.assertGreater(len(plans), 2)
        for plan in plans:
            job = str(jobs / f"{plan.name.split('.')[0]}.yaml")
            estimate = self.answer("estimate", "plan", job, "--plan", str(plan))
            fit = self.answer("fit", "fit", job, "--plan", str(plan), code=0 if estimate["fits"] else 3)
            self.assertEqual(estimate["fits"], fit["fits"])
        self.assert_refused("estimate", estimate, ("steps", []), ("iteration_seconds", "1"), ("price", -1), ("fits", 1))
        self.assert_refused(
            "fit", fit, ("tasks", []), ("tasks", 0, "device", -1), ("tasks", 0, "parts", 0, "bytes", 1.5)
        )

    def test_ranked_plans(self):
        job = str(SOURCE / "examples" / "jobs" / "ppo-7b.yaml")
        ranking = self.answer(
            "ranking", "plan", job, "--iterations", "500", "--chains", "2", "-o", self.path("best.plan.json")
        )
        best = json.loads(Path(self.path("best.plan.json")).read_text(encoding="utf-8"))
        self.assertEqual(best, ranking["plans"][0]["plan"])
        self.answer("estimate", "plan", job, "--plan", self.path("best.plan.json"))
        self.assert_refused(
            "ranking",
            ranking,
            ("plans", 0, "words", []),
            ("plans", 0, "tie", 1),
            ("bound_seconds", "3"),
            ("plans", 0, "plan", "tasks", REMOVED),
            ("plans", 0, "plan", "hash", REMOVED),
            ("output", "plan"),
            ("plans", 0, "phases", "train", REMOVED),
            ("flips", None),
        )
        with open(self.path("small.yaml"), "w", encoding="utf-8") as file:
            json.dump(
                {
                    "format": "dovetail/job@1",
                    "name": "small",
                    "algorithm": "ppo",
                    "models": {"actor": "qwen3-4b", "reward": "qwen3-1.7b"},
                    "workload": {"prompts": 64, "prompt_length": 128, "response_length": 1024},
                    "cluster": {"nodes": 1, "gpus_per_node": 2, "gpu": "A100-40", "host_memory": "1GB"},
                    "limits": {"margin": 0},
                },
                file,
            )
        nearest = self.answer("ranking", "plan", self.path("small.yaml"), "--iterations", "500", code=3)
        self.assert_refused("ranking", nearest, ("nearest", "missing_bytes", 0), ("nearest", "words", REMOVED))
        self.assertNotIn(
            "output", self.answer("ranking", "plan", self.path("small.yaml"), "--iterations", "500", "-o", "-", code=3)
        )

    def test_the_answer_contains_the_written_plan(self):
        job = str(SOURCE / "examples" / "jobs" / "ppo-7b.yaml")
        ranking = self.answer("ranking", "plan", job, "--iterations", "500", "--chains", "2", "-o", "-", "--pick", "2")
        self.assertEqual(ranking["output"], ranking["plans"][1]["plan"])

    def test_plans_of_an_answer_are_valid_for_its_job(self):
        """Each plan of the answer can be used as input and gets the same predicted time."""
        jobs = SOURCE / "examples" / "jobs"
        job = str(jobs / "ppo-7b.yaml")
        quick = ("--chains", "2", "--iterations", "1000")
        explained = self.answer("explain", "explain", job, "--plan", str(jobs / "ppo-7b.plan.yaml"), *quick)
        fit = self.answer("fit", "fit", job, *quick)
        for found in (explained["best_plan"], *explained["changes"][:3], fit["fastest"], fit["roomiest"]):
            text = json.dumps(found["plan"])
            estimate = self.answer("estimate", "plan", job, "--plan", "-", stdin=text)
            self.assertEqual(estimate["iteration_seconds"], found["iteration_seconds"])
            self.assertEqual(
                [words["task"] for words in found["words"]], [task["task"] for task in found["plan"]["tasks"]]
            )

    def test_fit_of_a_job(self):
        jobs = SOURCE / "examples" / "jobs"
        quick = ("--chains", "2", "--iterations", "1000")
        fit = self.answer("fit", "fit", str(jobs / "ppo-7b.yaml"), *quick)
        self.assertTrue(fit["fits"])
        self.assert_refused(
            "fit",
            fit,
            ("tasks", REMOVED),
            ("fastest", "margin_bytes", -1),
            ("lengths", []),
            ("lengths", 1, "length", 0),
            ("smallest_cluster", "devices", 0),
            ("smallest_cluster", "plan", REMOVED),
            ("roomiest", "words", 0, "layout", 1),
        )
        text = (jobs / "ppo-7b.yaml").read_text(encoding="utf-8")
        small = self.path("small.yaml")
        Path(small).write_text(text.replace("gpus_per_node: 8", "gpus_per_node: 1"), encoding="utf-8")
        unfit = self.answer("fit", "fit", small, *quick, code=3)
        self.assertFalse(unfit["fits"])
        self.assert_refused(
            "fit", unfit, ("smallest_cluster", "nodes", 1.5), ("impossible" if "impossible" in unfit else "nearest", 1)
        )

    def test_simulate(self):
        jobs = SOURCE / "examples" / "jobs"
        plan = (str(jobs / "ppo-7b.yaml"), "--plan", str(jobs / "ppo-7b.plan.yaml"))
        simulated = self.answer("simulation", "simulate", *plan, "--fuse", "both", "--draws", "2")
        self.assertEqual(len(simulated["draws"]), 2)
        self.assert_refused(
            "simulation",
            simulated,
            ("uses", REMOVED),
            ("steady", "yes"),
            ("devices", 0, "devices", "all"),
            ("devices", 0, "peak_bytes", -1),
            ("steps", []),
            ("draws", []),
            ("seed", -1),
            ("fusion", 0, "fused", REMOVED),
        )
        dovetail("simulate", *plan, "-o", self.path("iteration.json"))
        with open(self.path("iteration.json"), encoding="utf-8") as file:
            timeline = json.load(file)
        validator_of("simulation@1.json").validate(timeline)
        both = self.answer("simulation", "simulate", *plan, "-o", "-")
        self.assertEqual(both["output"], timeline)
        self.assert_refused("simulation", timeline, ("devices", 0, "spans", 0, [0, 1]), ("span_columns", ["begin"]))

    def test_sweep(self):
        jobs = SOURCE / "examples" / "jobs"
        job = (str(jobs / "ppo-7b.yaml"), "--plan", str(jobs / "ppo-7b.plan.yaml"))
        lengths = self.answer("sweep", "sweep", *job, "--over", "length", "--values", "1,2,8")
        self.assert_each_refused(
            "sweep",
            lengths,
            ("over", "lengths"),
            ("points", []),
            ("points", 0, "fits", REMOVED),
            ("points", 0, "verdict", "roomy"),
            ("own", -1),
            ("plan", REMOVED),
            ("points", 0, "problem", "none"),
            ("points", 0, "device_memory", "bytes", 1.5),
        )
        threshold = self.answer("sweep", "sweep", *job, "--over", "threshold", "--values", "20%", "--draws", "1")
        self.assertNotIn("value", threshold["points"][0])
        self.assert_each_refused(
            "sweep", threshold, ("points", 1, "simulated", "mean_seconds", REMOVED), ("points", 1, "value", "20%")
        )
        nodes = self.answer(
            "sweep", "sweep", job[0], "--over", "nodes", "--values", "1", "--iterations", "500", "--chains", "1"
        )
        self.assert_each_refused(
            "sweep",
            nodes,
            ("points", 0, "words", []),
            ("points", 0, "words", 0, "layout", REMOVED),
            ("points", 0, "plan", REMOVED),
            ("points", 0, "plan", "format", "dovetail/job@1"),
        )
        both = self.answer("sweep", "sweep", *job, "--over", "length", "--values", "1", "-o", "-")
        self.assert_each_refused("sweep", both, ("output", "points", []))
        impossible = self.answer("sweep", "sweep", *job, "--over", "mini-batches", "--values", "1000")
        self.assertIn("problem", impossible["points"][0])

    def test_measured_lengths(self):
        log = Path(self.path("run.log"))
        step = (
            "step:{} - timing_s/gen:30.5 - timing_s/update_actor:20.5 - timing_s/step:60.5 - "
            "response_length/mean:500.0 - response_length/max:900.0 - response_length/clip_ratio:0.01\n"
        )
        log.write_text("".join(step.format(number) for number in range(1, 6)), encoding="utf-8")
        measured = self.answer("measured", "measured", str(log))
        self.assertEqual(measured["longest_response"], 900)

    def test_forecast(self):
        jobs = SOURCE / "examples" / "jobs"
        run = (
            str(jobs / "ppo-7b.yaml"),
            "--plan",
            str(jobs / "ppo-7b.plan.yaml"),
            "--steps",
            "500",
            "--lengths",
            "0:1,499:3",
        )
        forecast = self.answer("forecast", "forecast", *run, "--searches", "1", "--iterations", "500", "--chains", "1")
        for plan in forecast["plans"]:
            validator_of("plan@1.json").validate(plan["plan"])
        self.assert_each_refused(
            "forecast",
            forecast,
            ("schedule", 0, "plan", "first"),
            ("steps", 0),
            ("plans", []),
            ("seconds", REMOVED),
            ("points", 0, "at_cap", 2),
            ("points", 0, "verdict", REMOVED),
            ("plans", 0, "words", REMOVED),
            ("plans", 0, "plan", "format", "dovetail/job@1"),
        )

    def test_what_if(self):
        jobs = SOURCE / "examples" / "jobs"
        answers = [
            self.answer("what-if", "what-if", str(jobs / f"{name}.yaml"), "--plan", str(jobs / plan), "--draws", "1")
            for name, plan in (("ppo-7b", "ppo-7b.plan.yaml"), ("grpo-8b-async", "grpo-8b-async.plan.json"))
        ]
        self.assert_refused(
            "what-if",
            answers[0],
            ("training", "ways", []),
            ("training", "reason", ""),
            ("generation", "tail_share", 2),
            ("ways", 0, "staleness", "most", -1),
            ("ways", 0, "fused", REMOVED),
            ("ways", 0, "fits", REMOVED),
            ("ways", 0, "plan", REMOVED),
            ("training", "ways", 0, "verdict", "roomy"),
            ("splits", 0, "rollout_devices", 0),
            ("draws", 0),
        )
        self.assertFalse(answers[1]["generation"]["worth"])

    def test_explain(self):
        jobs = SOURCE / "examples" / "jobs"
        quick = ("--chains", "2", "--iterations", "1000")
        explained = self.answer(
            "explain", "explain", str(jobs / "ppo-7b.yaml"), "--plan", str(jobs / "ppo-7b.plan.yaml"), *quick
        )
        self.assertTrue(explained["fits"])
        self.assert_refused(
            "explain",
            explained,
            ("limit", REMOVED),
            ("limit", "missing_bytes", -1),
            ("changes", 0, "kind", "luck"),
            ("changes", 0, "tasks", []),
            ("changes", 0, "plan", []),
            ("changes", 0, "words", []),
            ("best_plan", "tie", 0),
            ("comparison", "uses", REMOVED),
            ("comparison", "steps", 0, "seconds", {}),
            ("comparison", "idle", 0, {}),
            ("unlike_pins", REMOVED),
        )
        text = (jobs / "ppo-7b.plan.yaml").read_text(encoding="utf-8")
        plan = self.path("plan.yaml")
        Path(plan).write_text(text.replace("memory_utilization: 0.5", "memory_utilization: 0.95"), encoding="utf-8")
        unfit = self.answer("explain", "explain", str(jobs / "ppo-7b.yaml"), "--plan", plan, *quick)
        self.assertFalse(unfit["fits"])
        self.assertGreater(len(unfit["changes"]), 0)
        text = text.replace("tokens: 8192", "tokens: 65536").replace("recompute: full", "recompute: none")
        text = text.replace("    offload: [gradients, optimizer]\n", "").replace(", offload: [weights]", "")
        Path(plan).write_text(text, encoding="utf-8")
        unfit = self.answer("explain", "explain", str(jobs / "ppo-7b.yaml"), "--plan", plan, *quick)
        self.assertIn("repair", unfit)
        self.assert_refused("explain", unfit, ("changes", {}), ("fits", "no"), ("repair", "margin_bytes", -1))


if __name__ == "__main__":
    unittest.main()
