#!/usr/bin/env python3
"""Every example, and all JSON that the program writes, satisfies the JSON Schema of its format; damaged ones do not.

usage: schema_test.py SOURCE_DIR DOVETAIL
"""

import copy
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jsonschema

try:
    import yaml
except ImportError:  # then the jobs that people wrote are left to the C++ tests
    yaml = None

SOURCE = Path(".")
DOVETAIL = "dovetail"
INSTANCES = ["exp2", "exp11"]


def dovetail(*arguments, code=0, stdin=None):
    result = subprocess.run([DOVETAIL, *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == code, f"dovetail {' '.join(arguments)} gave {result.returncode}:\n{result.stderr}"
    return result.stdout


def validator_of(name):
    schema = json.loads((SOURCE / "schemas" / name).read_text(encoding="utf-8"))
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    # Schemas refer to each other by file name.
    place = (SOURCE / "schemas" / name).resolve().as_uri()
    return checker(schema, resolver=jsonschema.RefResolver(place, schema))


def changed(document, *steps):
    """A copy of the document with the value at a path replaced, or removed: (key, ..., value) or (key, ..., REMOVED)."""
    result = copy.deepcopy(document)
    for *path, last, value in steps:
        place = result
        for key in path:
            place = place[key]
        if value is REMOVED:
            del place[last]
        else:
            place[last] = value
    return result


REMOVED = object()
# Keys of reports that are there only where they have something to say.
OPTIONAL = {"robust", "varied", "stopped_by", "other_layout", "iterations_per_second", "awaits", "line", "column", "published",
            "price", "device_memory", "source", "doubtful", "measured", "left_out",
            "lengths", "fastest", "roomiest", "smallest_cluster", "nearest", "repair", "best_plan", "comparison", "part",
            "over_bound", "not_fused", "fusion", "inter_stage", "intra_stage", "fused_training", "bound_seconds", "span_columns", "spans", "memory"}


def damages_everywhere(value, *path):
    """Every object with a key more and with a key less, every value with another of the wrong type; of a list in its first item."""
    if path:
        yield (*path, {"colour": "red"} if not isinstance(value, dict) else "red")
    if isinstance(value, list) and value:
        yield from damages_everywhere(value[0], *path, 0)
    if isinstance(value, dict):
        yield (*path, "colour", "red")
        for key, part in value.items():
            if key not in OPTIONAL and path[-2:] != ("timing", "seconds"):
                yield (*path, key, REMOVED)
            yield from damages_everywhere(part, *path, key)


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.problems = validator_of("pipeline-problem@1.json")
        cls.schedules = validator_of("schedule@1.json")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def problem_json(self, problem):
        path = Path(self.folder.name) / "problem.json"
        dovetail("problem", problem, "-o", str(path))
        return json.loads(path.read_text(encoding="utf-8"))

    def schedule_json(self, problem):
        path = Path(self.folder.name) / "schedule.json"
        dovetail("schedule", problem, "--solver", "list", "-o", str(path))
        return json.loads(path.read_text(encoding="utf-8"))

    def test_examples_and_instances_are_problems(self):
        examples = sorted(str(path) for path in (SOURCE / "examples").glob("*.yaml"))
        self.assertGreater(len(examples), 8)
        for problem in examples + INSTANCES:
            with self.subTest(problem=problem):
                self.problems.validate(self.problem_json(problem))

    def test_schedules_are_schedules(self):
        for name in ["two-models.yaml", "split-backward.yaml", "minibatches.yaml", "capacity.yaml"]:
            with self.subTest(example=name):
                self.schedules.validate(self.schedule_json(str(SOURCE / "examples" / name)))

    def test_a_searched_schedule_is_a_schedule(self):
        path = Path(self.folder.name) / "searched.json"
        dovetail("schedule", str(SOURCE / "examples" / "two-models.yaml"), "--iterations", "200", "-o", str(path))
        self.schedules.validate(json.loads(path.read_text(encoding="utf-8")))

    def test_damaged_problems_are_refused(self):
        problem = self.problem_json(str(SOURCE / "examples" / "split-backward.yaml"))
        self.assert_all_refused(self.problems, problem, [
            ("format", "dovetail/pipeline-problem@2"), ("format", REMOVED), ("time_unit", "hour"), ("devices", 0), ("devices", "4"),
            ("models", []), ("models", REMOVED), ("colour", "red"), ("memory", {"capacity": -1}),
            ("models", 0, "name", 7), ("models", 0, "microbatches", 0), ("models", 0, "forward", REMOVED), ("models", 0, "forward", "fast"),
            ("models", 0, "devices", []), ("models", 0, "fwd", 2), ("models", 0, "transfer", {"sideways": 1}),
            ("models", 0, "replicas", [[0, 1, 2, 3]])])  # beside `devices`

    def test_damaged_schedules_are_refused(self):
        schedule = self.schedule_json(str(SOURCE / "examples" / "two-models.yaml"))
        self.assert_all_refused(self.schedules, schedule, [
            ("format", "dovetail/schedule@0"), ("problem", REMOVED), ("problem", "exp5"), ("problem", "models", REMOVED),
            ("columns", REMOVED), ("columns", ["op"]), ("devices", REMOVED), ("devices", 0, {}), ("makespan", "long"), ("author", "me"),
            ("optimal", {"makespan": 1}), ("stopped_by", "boredom")])

    def assert_all_refused(self, validator, document, damages):
        validator.validate(document)
        for damage in damages:
            with self.subTest(damage=damage):
                self.assertFalse(validator.is_valid(changed(document, damage)))


# Every key of a job that goes with others; what it leaves out is in the changes below.
JOB = {
    "format": "dovetail/job@1", "name": "everything",
    "algorithm": {"name": "ppo", "reference": "averaged", "reference_decay": 0.99, "reward": "rule", "reward_seconds": 0.1,
                  "policy_log_probabilities": "trainer", "ptx_tokens": 100},
    "models": {"actor": "llama-2-7b", "critic": {"model": "models/critic.json", "lora": 8}},
    "workload": {"prompts": 128, "samples_per_prompt": 4, "mini_batch": 64, "epochs": 1, "prompt_length": 100, "steps_off_policy": 1,
                 "packing": False, "response_length": {"mean": 1000, "sigma": 0.8, "cap": 4096}},
    "cluster": {"nodes": 2, "gpus_per_node": 8, "gpu": "H100", "host_memory": "2TB", "price": 2.5,
                "network": {"bandwidth": "400Gb/s", "latency": "5us", "half_bandwidth_size": "1.5 MiB"}},
    "software": {"training": "megatron", "efficiency": "h100"},
    "fixed": {"placement": ["co-located"],
              "actor_generate": {"devices": 3, "layout": {"tp": 1}, "engine": {"memory_utilization": 0.6}, "offload": []},
              "actor_train": {"devices": "0-7", "layout": {"dp": 2, "zero": 0}, "micro_batch": {"tokens": 8192}, "offload": ["weights"]}}}
GRAPH = {"roles": [{"name": "a"}, {"name": "b", "head": "scalar", "initialised_from": "a", "averaged_from": "a", "decay": 0.5}],
         "tasks": [{"name": "g", "kind": "generate", "role": "a", "inputs": ["p"], "outputs": ["r"], "sequences": 2, "per": "prompt"},
                   {"name": "i", "kind": "infer", "role": "b", "inputs": ["r"]}, {"name": "c", "kind": "rule", "seconds": 0.5},
                   {"name": "t", "kind": "train", "role": "a", "extra_tokens": 5}]}
GROUPS = {"groups": [{"nodes": 2, "gpus_per_node": 8, "gpu": 4090, "host_memory": 0},
                     {"nodes": 1, "gpus_per_node": 3, "gpu": {
                         "name": "X", "memory": "80GiB", "usable_memory": 8e10, "bandwidth": "3.35TB/s", "bf16": "989TFLOP/s", "fp16": 9e14,
                         "fp8": "2e3 TFLOPS", "link": "450GB/s", "host_link": "512Gbit/s"}}],
          "networks": [{"name": "rack", "nodes": 2, "bandwidth": 5e10}, {"name": "spine", "latency": "0.01ms"}]}
CONFIG = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128,
          "vocab_size": 100, "torch_dtype": "bfloat16"}


class Jobs(unittest.TestCase):
    """Jobs and plans, which no command converts yet: the files of the examples, and a job in JSON."""

    @classmethod
    def setUpClass(cls):
        cls.jobs = validator_of("job@1.json")
        cls.plans = validator_of("plan@1.json")
        cls.files = [path for path in sorted((SOURCE / "examples" / "jobs").iterdir()) if yaml or path.suffix == ".json"]

    def load(self, path):
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)

    def test_examples_are_jobs_and_plans(self):
        self.assertGreater(len(self.files), 3)
        for path in self.files:
            with self.subTest(example=path.name):
                (self.plans if ".plan." in path.name else self.jobs).validate(self.load(path))

    def test_hashes_are_as_the_formats_page_says(self):
        plans = [path for path in self.files if path.name.endswith(".plan.json")]
        self.assertGreater(len(plans), 3)
        for path in plans:
            with self.subTest(example=path.name):
                plan = self.load(path)
                said = plan.pop("hash")
                text = json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                self.assertEqual(said, hashlib.sha256(text.encode()).hexdigest())

    def test_what_the_readers_take_is_accepted(self):
        accepted = [
            (), ("name", REMOVED), ("algorithm", "reinforce++"), ("algorithm", {"name": "sft"}),
            ("algorithm", {"name": "dpo", "ptx_tokens": 5}), ("algorithm", GRAPH), ("cluster", GROUPS), ("models", "actor", CONFIG),
            ("workload", "mini_batch", REMOVED), ("software", {}), ("fixed", {}), ("fixed", "actor_train", {}),
            ("workload", "response_length", {"file": "lengths.csv", "column": "tokens"}),
            ("workload", "response_length", {"p50": 10, "p90": 20.5, "p99": 30, "at_cap": 0.01, "cap": 40})]
        for damage in accepted:
            with self.subTest(damage=damage):
                self.jobs.validate(changed(JOB, damage) if damage else JOB)

    def test_damaged_jobs_are_refused(self):
        refused = [
            ("format", "dovetail/job@2"), ("name", ""), ("colour", "red"), ("algorithm", "gppo"), ("algorithm", "reward", "model"),
            ("algorithm", "reference", "pass"), ("algorithm", {"name": "dpo", "reward": "rule"}),
            ("algorithm", {"name": "dpo", "reference": "skip"}), ("algorithm", "reference_decay", 1),
            ("models", "actor", 7), ("models", "actor", {"lora": 7}), ("models", "critic", "lora", 0),
            ("models", "actor", {"model_type": "gpt"}), ("workload", "prompts", 0), ("workload", "mini_batches", 2),
            ("workload", "packing", 1), ("workload", "response_length", 0), ("workload", "response_length", {"p50": 5}),
            ("workload", "prompt_length", {"column": "x"}),
            ("workload", "response_length", "sigma", 6), ("cluster", "groups", GROUPS["groups"]),
            ("cluster", "networks", GROUPS["networks"]), ("cluster", "gpu", REMOVED),
            ("cluster", "gpu", {"name": "X", "memory": 1e9, "bandwidth": 1e9}), ("cluster", "price", "2.5 EUR"),
            ("cluster", "host_memory", "lots"), ("cluster", "network", "bandwidth", "50GB"), ("cluster", "network", "latency", "5 GB"),
            ("cluster", "network", "latency", 5), ("software", "engine", "vllm"), ("fixed", []), ("fixed", "placement", []),
            ("fixed", "placement", "co-located"), ("fixed", "placement", ["a", "a"]), ("fixed", "actor_train", 3),
            ("fixed", "actor_train", "task", "actor_train"), ("fixed", "actor_train", "devices", "0-"),
            ("fixed", "actor_train", "layout", "dp", 0), ("fixed", "actor_train", "engine", {}),
            ("fixed", "actor_train", "micro_batch", {}), ("fixed", "actor_generate", "engine", "max_seqs", 1),
            ("fixed", "actor_generate", "offload", ["all"])]
        refused += [(key, REMOVED) for key in ["format", "algorithm", "models", "workload", "cluster"]]
        graph_refused = [("roles", []), ("roles", 1, "decay", REMOVED), ("tasks", 0, "role", REMOVED), ("tasks", 2, "role", "a"),
                         ("tasks", 1, "seconds", 1), ("tasks", 1, "extra_tokens", 1), ("tasks", 0, "inputs", ["a", "a"]), ("name", "ppo")]
        refused += [("algorithm", changed(GRAPH, damage)) for damage in graph_refused]
        for damage in refused:
            with self.subTest(damage=damage):
                self.assertFalse(self.jobs.is_valid(changed(JOB, damage)))

    def test_damaged_plans_are_refused(self):
        plan = self.load(SOURCE / "examples" / "jobs" / "grpo-8b.plan.json")
        generate, train = 0, 3
        for damage in [("format", REMOVED), ("tasks", REMOVED), ("tasks", {}), ("placement", 3), ("job", ""), ("colour", "red"),
                       ("hash", "sha"), ("hash", 64 * "A"), ("job_hash", 64 * "g"), ("job_hash", 0)] + [
                ("tasks", train, *step) for step in [
                    ("task", REMOVED), ("devices", REMOVED), ("layout", REMOVED), ("devices", "0-"), ("devices", [0, 7]), ("devices", -1),
                    ("layout", "dp", 0), ("layout", "data", 8), ("layout", "zero", 4), ("layout", "recompute", "some"),
                    ("layout", "stage_layers", [-1]), ("layout", "sequence_parallel", 1), ("micro_batch", {}),
                    ("micro_batch", {"tokens": 1, "count": 1}), ("micro_batch", {"tokens": 0}), ("engine", {}), ("offload", ["weight"]),
                    ("offload", ["weights", "weights"])]] + [
                ("tasks", generate, "engine", *step) for step in [
                    ("memory_utilization", 0), ("memory_utilization", 1.1), ("memory_utilization", "0.9"), ("max_num_seqs", 0),
                    ("max_seqs", 8), ("cuda_graphs", "yes")]]:
            with self.subTest(damage=damage):
                self.assertFalse(self.plans.is_valid(changed(plan, damage)))


class Reports(unittest.TestCase):
    """What the commands print with --json."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.examples = [str(path) for path in sorted((SOURCE / "examples").glob("*.yaml"))]
        cls.validators = {}
        # Devices without ops, activations of 0 and a name that is not plain ASCII.
        cls.idle_device = cls.path("idle.yaml")
        Path(cls.idle_device).write_text(
            "format: dovetail/pipeline-problem@1\ntime_unit: us\ndevices: 3\nmodels:\n"
            "  - {name: modèle, microbatches: 2, devices: [0, 2], forward: 0.5, backward: 1.25, activation: 0}\n", encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return str(Path(cls.folder.name) / name)

    def example(self, name):
        return str(SOURCE / "examples" / f"{name}.yaml")

    def validator(self, name):
        if name not in self.validators:
            self.validators[name] = validator_of(f"{name}@1.json")
        return self.validators[name]

    def answer(self, name, *arguments, code=0, stdin=None):
        """What the command prints with --json: one object that satisfies the schema of that name."""
        document = json.loads(dovetail(*arguments, "--json", code=code, stdin=stdin))
        with self.subTest(arguments=arguments):
            self.assertEqual(document["format"], f"dovetail/{name}@1")
            self.validator(name).validate(document)
        return document

    def schedule(self, problem):
        path = self.path("schedule.json")
        dovetail("schedule", problem, "--solver", "list", "-o", path)
        return path

    def assert_refused(self, name, document, *damages):
        """Refused: each of the damages, and those that can be made of any document."""
        parts = {key: part for key, part in document.items() if not isinstance(part, dict) or "format" not in part}  # the schema of another
        for damage in (*damages, *damages_everywhere(parts), ("format", f"dovetail/{name}@2")):
            with self.subTest(name=name, damage=damage):
                self.assertFalse(self.validator(name).is_valid(changed(document, damage)))

    def test_every_format_of_the_program_has_a_schema(self):
        sources = [path.read_text(encoding="utf-8") for path in sorted((SOURCE / "src").rglob("*.*")) if path.suffix in (".cpp", ".h")]
        formats = {name for text in sources for name in re.findall(r'"dovetail/([a-z-]+@[0-9]+)"', text)}
        schemas = {path.name.removesuffix(".json") for path in (SOURCE / "schemas").glob("*.json")}
        self.assertGreater(len(formats), 8)
        self.assertEqual(formats, schemas)

    def test_calibrate(self):
        runs = SOURCE / "examples" / "measurements" / "nemo-rl-dense.yaml"
        path = self.path("mine.json")
        report = self.answer("calibration", "calibrate", str(runs), "--evaluations", "20", "-o", path)
        self.assert_refused("calibration", report, ("rows", []), ("values", 0, "value", 0), ("fitted", "rank_correlation", 2))
        written = json.loads(Path(path).read_text(encoding="utf-8"))
        self.assert_each_refused("efficiency", written, ("format", "dovetail/efficiency@2"), ("name", ""), ("name", REMOVED), ("error", -1),
                                 ("constants", REMOVED), ("constants", "slott", 1), ("constants", "matrix_products", 0),
                                 ("constants", "slot", 1), ("colour", "red"))

    def test_measured(self):
        logs = SOURCE / "examples" / "measurements"
        jobs = SOURCE / "examples" / "jobs"
        alone = self.answer("measured", "measured", str(logs / "verl-ppo.jsonl"))
        for damage in (("steps", []), ("log", "slime"), ("times", []), ("times", 0, "seconds", "steps", 0), ("unknown", 3), ("colour", "red")):
            self.assertFalse(self.validator("measured").is_valid(changed(alone, damage)), damage)
        beside = self.answer("measured", "measured", str(logs / "nemo-rl-grpo.jsonl"), "--job", str(jobs / "grpo-8b.yaml"), "--plan",
                             str(jobs / "grpo-8b.plan.json"))
        for damage in (("comparison", "phases", 0, "keys", []), ("comparison", "iteration", "reasons", "x"), ("comparison", "phases", REMOVED)):
            self.assertFalse(self.validator("measured").is_valid(changed(beside, damage)), damage)

    @unittest.skipIf(yaml is None, "needs PyYAML")
    def test_profiles(self):
        for path in sorted((SOURCE / "examples" / "profiles").glob("*.yaml")):
            profile = yaml.safe_load(path.read_text(encoding="utf-8"))
            self.assert_each_refused("profile", profile, ("format", REMOVED), ("name", ""), ("layers", []), ("colour", "red"),
                                     ("layers", 0, "gpu", 3), ("layers", 0, "model", REMOVED), ("layers", 0, "tensor", 0),
                                     ("layers", 0, "forward", []), ("layers", 0, "forward", 0, "tokens", [0]),
                                     ("layers", 0, "decode", 0, "length", 5), ("layers", 0, "backward", 0, "seconds", REMOVED))

    @unittest.skipIf(yaml is None, "needs PyYAML")
    def test_measurements(self):
        runs = yaml.safe_load((SOURCE / "examples" / "measurements" / "nemo-rl-dense.yaml").read_text(encoding="utf-8"))
        inline = 2
        self.assert_each_refused("measurement", runs, ("format", REMOVED), ("name", 3), ("rows", []), ("rows", REMOVED), ("colour", "red"),
                                 ("fit", []), ("fit", ["slott"]), ("fit", ["slot", "slot"]), ("start", {"slott": 1}), ("start", "task", 31),
                                 ("spread", {"low": 0}), ("spread", {"least": 1}), *[("rows", inline, *step) for step in [
                                     ("job", REMOVED), ("plan", 3), ("seconds", 0), ("seconds", REMOVED), ("name", ""), ("weight", -1),
                                     ("job", "format", "dovetail/job@2"), ("plan", "tasks", REMOVED), ("phases", "refit", "5"),
                                     ("response_length", {"mean": 5}), ("response_length", {"mean": 5, "cap": 9, "sigma": 1})]])
        both = changed(runs, ("rows", 0, "weight", 1), ("rows", 0, "doubtful", "why"))
        self.assertFalse(self.validator("measurement").is_valid(both))

    def assert_each_refused(self, name, document, *damages):
        self.validator(name).validate(document)
        for damage in damages:
            with self.subTest(name=name, damage=damage):
                self.assertFalse(self.validator(name).is_valid(changed(document, damage)))

    def test_schedule(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            self.answer("schedule-report", "schedule", problem, "--solver", "list")
        two_models = self.example("two-models")
        searched = self.answer("schedule-report", "schedule", two_models, "--iterations", "50", "-o", self.path("two.csv"))
        self.assertEqual(len(searched["written"]), 2)
        self.answer("schedule-report", "schedule", self.example("three-models"), "--iterations", "50", "--chains", "1", "-o",
                    self.path("three.svg"))
        self.answer("schedule-report", "schedule", two_models, "--solver", "annealing", "--time-limit", "50ms")
        self.answer("schedule-report", "schedule", self.example("v-shape"), "--solver", "zb-v")
        self.answer("schedule-report", "schedule", self.idle_device, "--iterations", "50")  # stopped by the bound
        other = self.answer("schedule-report", "schedule", "exp2", "--solver", "1f1b+")
        self.assertIn("other_layout", other)
        self.assert_refused("schedule-report", other)
        infeasible = self.answer("schedule-report", "schedule", "exp2", "--solver", "greedy", "--memory-cap", "3", code=3)
        self.assert_refused("schedule-report", searched, ("makespan", "372"), ("makespan", None), ("bounds", "makespan", None),
                            ("fits", False), ("excess", infeasible["excess"]), ("solver", "chains", REMOVED), ("solver", "auto"),
                            ("stopped_by", "boredom"), ("time_unit", "hour"), ("bubbles", 1.5), ("peak_activation_by_device", []),
                            ("timing", {}), ("timing", "minutes", 1), ("written", "two.csv"), ("optimal", "makespan", 1))
        self.assert_refused("schedule-report", infeasible, ("excess", []), ("excess", 0, "held", REMOVED), ("excess", 0, "excess", 0),
                            ("fits", True), ("written", ["plan.json"]))

    def test_schedule_by_a_deadline(self):
        least = self.answer("schedule-report", "schedule", "exp2", "--objective", "memory", "--iterations", "50")
        self.assert_refused("schedule-report", least, ("bounds", "makespan_at_peak", None), ("objective", "makespan"))
        met = self.answer("schedule-report", "schedule", "exp2", "--deadline", "500", "--robust", "20", "--iterations", "50")
        self.assert_refused("schedule-report", met, ("deadline", REMOVED), ("meets_deadline", REMOVED), ("robust", 0), ("robust", 101),
                            ("objective", "pareto"), ("varied", "by", 0.1), ("smallest_capacity", [2]),
                            ("bounds", "makespan_at_peak", 225))
        missed = self.answer("schedule-report", "schedule", "exp2", "--deadline", "230", "--solver", "1f1b", code=3)
        self.assert_refused("schedule-report", missed, ("written", ["plan.json"]))
        late = self.answer("schedule-report", "schedule", "exp2", "--deadline", "9", code=3)
        self.assert_refused("schedule-report", late, ("impossible", False), ("meets_deadline", True))
        both = self.answer("schedule-report", "schedule", "exp2", "--deadline", "9", "--memory-cap", "1", code=3)
        self.assert_refused("schedule-report", both, ("smallest_capacity", []))

    def test_pareto(self):
        front = ["--objective", "pareto", "--iterations", "50"]
        for problem in [self.example(name) for name in ("two-models", "split-backward", "minibatches", "capacity")] + [self.idle_device]:
            report = self.answer("pareto-report", "schedule", problem, *front, "-o", self.path("front.json"))
            written = json.loads(Path(self.path("front.json")).read_text(encoding="utf-8"))
            with self.subTest(problem=problem):
                self.validator("pareto").validate(written)
                self.assertEqual(len(report["front"]), len(written["front"]))
        report = self.answer("pareto-report", "schedule", "exp2", *front, "-o", self.path("front.json"))
        written = json.loads(Path(self.path("front.json")).read_text(encoding="utf-8"))
        damages = [("front", []), ("front", 0, "bounds", "makespan", REMOVED), ("front", 0, "optimal", "makespan", 1), ("bounds", {}),
                   ("peak_bound", []), ("constructions", 0, "fits", "yes"), ("stopped_by", "boredom"), ("time_unit", "hour")]
        self.assert_refused("pareto-report", report, *damages)
        for damage in [*damages, ("front", 0, "schedule", REMOVED), ("front", 0, "schedule", {}), ("front", 0, "schedule", "devices", {}),
                       ("format", "dovetail/pareto@2"), ("colour", "red")]:
            with self.subTest(damage=damage):
                self.assertFalse(self.validator("pareto").is_valid(changed(written, damage)))

    def test_diff(self):
        for problem in self.examples + [self.idle_device]:
            other = self.path("other.json")
            dovetail("schedule", problem, "--solver", "one-at-a-time", "-o", other)
            difference = self.answer("diff", "diff", self.schedule(problem), other)
        equal = self.answer("diff", "diff", other, other)
        self.assertTrue(equal["equal"])
        dovetail("schedule", self.example("two-models"), "--solver", "gpipe", "-o", other)
        difference = self.answer("diff", "diff", self.schedule(self.example("two-models")), other)
        self.assertFalse(difference["equal"])
        self.assert_refused("diff", difference, ("equal", True), ("parting", None), ("parting", "a", "op", "X"), ("moves", 0, "a", REMOVED),
                            ("devices", []), ("devices", 0, "a", "idle", "lunch", 1), ("change", "makespan", "-3"), ("a", "file", ""))
        self.assert_refused("diff", equal, ("parting", {"device": 0, "a": None, "b": None}), ("same_order", False))

    def test_compare(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            self.answer("compare", "compare", problem, "--all", "--iterations", "50", "--draws", "20")
        dovetail("compare", self.example("v-shape"), "--solver", "chimera", "--json", code=2)
        unfit = self.answer("compare", "compare", "exp2", "--solver", "greedy", "--solver", "chimera", "--memory-cap", "3",
                            "--draws", "1")
        self.answer("compare", "compare", "exp2", "--solver", "auto", "--iterations", "50", "--draws", "1", "--objective", "memory",
                    "--robust", "10")
        self.assert_refused("compare", unfit, ("objective", "pareto"), ("robust", 0), ("baseline", {}), ("baseline", "1f1b"), ("draws", 0), ("draws", 1.5), ("interrupted", None),
                            ("bounds", "makespan", REMOVED), ("timing", "seconds", "greedy", "1"), ("rows", {}),
                            ("rows", 0, "made_by", {}), ("rows", 0, "excess", REMOVED), ("rows", 0, "fits", True),
                            ("rows", 0, "varied", []), ("rows", 0, "varied", 0, "by", 0.2), ("rows", 0, "varied", 1, "median", REMOVED),
                            ("rows", 0, "speed_up", "-"), ("rows", 0, "gap", -0.1), ("not_applicable", 0, "why", REMOVED))

    def test_check(self):
        for problem in self.examples + [self.idle_device]:
            self.answer("check", "check", self.schedule(problem))
        data = SOURCE / "tests" / "data"
        trace = self.answer("check", "check", str(data / "flexfusion" / "trace_exp2.txt"))
        self.assertGreater(len(trace["notes"]), 0)
        self.answer("check", "check", str(data / "pytorch" / "interleaved_2rank_4stage_8mb.csv"))
        self.assert_refused("check", trace, ("valid", False), ("valid", 1), ("violation", {"message": "none"}), ("notes", [1]),
                            ("devices", 0, "idle", "drain", REMOVED), ("devices", 0, "idle", "lunch", 1), ("devices", 0, "busy", "1"),
                            ("devices", []), ("idle", 0, "cause", "lunch"), ("idle", 0, "end", 0), ("idle", 0, "awaits", 3))

    def test_check_of_invalid_schedules(self):
        schedule = json.loads(Path(self.schedule(self.example("two-models"))).read_text(encoding="utf-8"))
        start, end = schedule["columns"].index("start"), schedule["columns"].index("end")
        early = [("devices", 0, 1, start, 0), ("devices", 0, 1, end, schedule["devices"][0][1][end] - schedule["devices"][0][1][start])]
        damages = {"place": early, "claim": [("makespan", 1)], "op missing": [("devices", 0, 0, REMOVED)],
                   "capacity": [("problem", "memory", {"capacity": 2})]}
        answers = {}
        for name, steps in damages.items():
            answers[name] = self.answer("check", "check", "-", code=1, stdin=json.dumps(changed(schedule, *steps)))
            self.assertFalse(answers[name]["valid"])
        self.answer("check", "check", "-", code=1, stdin="0F0,0F1,0B0\n")  # B1 is missing
        self.answer("check", "check", "-", code=1, stdin="0F0,0B1,0F1,0B0\n")  # waits for itself
        self.assertIn("line", answers["claim"]["violation"])
        self.assert_refused("check", answers["place"], ("valid", True), ("violation", {}), ("violation", "line", 0),
                            ("violation", "line", "3"), ("violation", "line", REMOVED), ("makespan", 1), ("timing", {"seconds": 1}))

    def test_bounds(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            bounds = self.answer("bounds", "bounds", problem)
        self.assert_refused("bounds", bounds, ("makespan", "6"), ("time_unit", "hour"), ("arguments", "path", REMOVED),
                            ("arguments", "luck", {}), ("arguments", "one_machine", "by_device", REMOVED),
                            ("arguments", "work", "by_device", [1]), ("arguments", "work", "sets_the_bound", 1), ("timing", {}))

    def test_convert(self):
        for example in ["two-models", "v-shape"]:
            path = self.schedule(self.example(example))
            for name in ["a.json", "a.svg", "a.trace.json", "a.csv"]:
                self.answer("convert", "convert", path, self.path(name))
        data = SOURCE / "tests" / "data"
        self.answer("convert", "convert", str(data / "flexfusion" / "trace_exp2.txt"), self.path("b"), "--to", "csv-comms")
        plain = ["convert", self.path("a.csv"), self.path("c.txt"), "--to", "json", "--problem", self.example("v-shape")]
        self.answer("convert", *plain, "--from", "csv-comms")
        converted = self.answer("convert", *plain)
        self.assert_refused("convert", converted, ("from", "svg"), ("to", "png"), ("written", []), ("written", "c.txt"), ("notes", None))

    def report(self, *arguments):
        """The data in the page that `dovetail report` writes of the files."""
        page = dovetail("report", *arguments, "-o", "-")
        data = json.loads(re.search(r'<script type="application/json" id="dovetail-report">(.*?)</script>', page, re.S).group(1))
        self.validator("report").validate(data)
        return data

    def test_report(self):
        schedule, trace = self.schedule(self.example("v-shape")), self.path("v.trace.json")
        dovetail("convert", schedule, trace)
        for arguments in [(trace,), (schedule, trace), (schedule, trace, "--overlay")]:
            with self.subTest(arguments=arguments):
                self.report(*arguments)
        data = self.report(schedule)
        gantt = ("sections", 0)
        for damage in (("format", "dovetail/report@2"), ("title", 1), (*gantt, "kind", "pie"), (*gantt, "length", 0, -1), (*gantt, "gap", REMOVED),
                       (*gantt, "categories", 0, "color", "blue"), (*gantt, "lanes", 0, "bars", 1.5), ("sections", 1, "rows", 0, "amounts", 0, -1)):
            self.assertFalse(self.validator("report").is_valid(changed(data, damage)), damage)

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
        self.assert_refused("fit", fit, ("tasks", []), ("tasks", 0, "device", -1), ("tasks", 0, "parts", 0, "bytes", 1.5))

    def test_ranked_plans(self):
        job = str(SOURCE / "examples" / "jobs" / "ppo-7b.yaml")
        ranking = self.answer("ranking", "plan", job, "--iterations", "500", "--chains", "2", "-o", self.path("best.plan.json"))
        with open(self.path("best.plan.json"), encoding="utf-8") as file:
            validator_of("plan@1.json").validate(json.load(file))
        self.answer("estimate", "plan", job, "--plan", self.path("best.plan.json"))
        self.assert_refused("ranking", ranking, ("plans", 0, "tasks", []), ("plans", 0, "tie", 1), ("bound_seconds", "3"),
                            ("plans", 0, "phases", "train", REMOVED), ("flips", None))
        with open(self.path("small.yaml"), "w", encoding="utf-8") as file:
            json.dump({"format": "dovetail/job@1", "name": "small", "algorithm": "ppo", "models": {"actor": "qwen3-4b", "reward": "qwen3-1.7b"},
                       "workload": {"prompts": 64, "prompt_length": 128, "response_length": 1024},
                       "cluster": {"nodes": 1, "gpus_per_node": 2, "gpu": "A100-40", "host_memory": "1GB"}}, file)
        nearest = self.answer("ranking", "plan", self.path("small.yaml"), "--iterations", "500", code=3)
        self.assert_refused("ranking", nearest, ("nearest", "missing_bytes", 0), ("nearest", "tasks", REMOVED))

    def test_fit_of_a_job(self):
        jobs = SOURCE / "examples" / "jobs"
        quick = ("--chains", "2", "--iterations", "1000")
        fit = self.answer("fit", "fit", str(jobs / "ppo-7b.yaml"), *quick)
        self.assertTrue(fit["fits"])
        self.assert_refused("fit", fit, ("tasks", REMOVED), ("fastest", "margin_bytes", -1), ("lengths", []), ("lengths", 1, "length", 0),
                            ("smallest_cluster", "devices", 0), ("smallest_cluster", "plan", REMOVED), ("roomiest", "tasks", 0, "layout", 1))
        text = (jobs / "ppo-7b.yaml").read_text(encoding="utf-8")
        small = self.path("small.yaml")
        Path(small).write_text(text.replace("gpus_per_node: 8", "gpus_per_node: 1"), encoding="utf-8")
        unfit = self.answer("fit", "fit", small, *quick, code=3)
        self.assertFalse(unfit["fits"])
        self.assert_refused("fit", unfit, ("smallest_cluster", "nodes", 1.5), ("impossible" if "impossible" in unfit else "nearest", 1))

    def test_simulate(self):
        jobs = SOURCE / "examples" / "jobs"
        plan = (str(jobs / "ppo-7b.yaml"), "--plan", str(jobs / "ppo-7b.plan.yaml"))
        simulated = self.answer("simulation", "simulate", *plan, "--fuse", "both", "--draws", "2")
        self.assertEqual(len(simulated["draws"]), 2)
        self.assert_refused("simulation", simulated, ("uses", REMOVED), ("steady", "yes"), ("devices", 0, "devices", "all"),
                            ("devices", 0, "peak_bytes", -1), ("steps", []), ("draws", []), ("seed", -1))
        dovetail("simulate", *plan, "-o", self.path("iteration.json"))
        with open(self.path("iteration.json"), encoding="utf-8") as file:
            timeline = json.load(file)
        validator_of("simulation@1.json").validate(timeline)
        self.assert_refused("simulation", timeline, ("devices", 0, "spans", 0, [0, 1]), ("span_columns", ["begin"]))

    def test_explain(self):
        jobs = SOURCE / "examples" / "jobs"
        quick = ("--chains", "2", "--iterations", "1000")
        explained = self.answer("explain", "explain", str(jobs / "ppo-7b.yaml"), "--plan", str(jobs / "ppo-7b.plan.yaml"), *quick)
        self.assertTrue(explained["fits"])
        self.assert_refused("explain", explained, ("limit", REMOVED), ("limit", "missing_bytes", -1), ("changes", 0, "kind", "luck"),
                            ("changes", 0, "tasks", []), ("changes", 0, "plan", []), ("best_plan", "tie", 0), ("comparison", "uses", REMOVED),
                            ("comparison", "steps", 0, "seconds", {}), ("comparison", "idle", 0, {}), ("unlike_pins", REMOVED))
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

    def test_instances(self):
        instances = self.answer("instances", "instances")
        self.assert_refused("instances", instances, ("instances", []), ("instances", 0, "name", REMOVED), ("instances", 0, "ops", 0),
                            ("instances", 0, "devices", 8.5), ("instances", 0, "published", None),
                            ("instances", 0, "published", "greedy", "makespan", REMOVED),
                            ("instances", 0, "published", "peak_activation_optimized", REMOVED))

    def test_fuse_layouts(self):
        costs = "forward=2,backward=4.5,activation=1"
        actor = f"actor,dp=2,pp=8,tp=8,microbatches=32,{costs}"
        fused = self.answer("fused-layouts", "fuse-layouts", "--time-unit", "ms", "--model", actor,
                            "--model", f"critic,dp=4,pp=8,tp=4,microbatches=15,{costs}")
        self.assertGreater(len(fused["warnings"]), 0)
        alike = self.answer("fused-layouts", "fuse-layouts", "--time-unit", "us", "--model", actor,
                            "--model", f"critic,dp=2,pp=8,tp=8,microbatches=32,{costs}")
        self.assertNotIn("merged_model", alike)
        self.assert_refused("fused-layouts", fused, ("merged_stages", 1), ("merged_stages", 0), ("copies", [1]), ("groups", 0),
                            ("notes", "none"), ("problem", REMOVED), ("problem", "models", REMOVED), ("problem", "exp5"))
        self.assert_refused("fused-layouts", alike, ("merged_stages", 2), ("merged_model", "critic"))

    def test_problem(self):
        for problem in self.examples + INSTANCES + [self.idle_device]:
            self.answer("pipeline-problem", "problem", problem)
        self.answer("pipeline-problem", "problem", "--from", str(SOURCE / "examples" / "timings.csv"), "--microbatches", "actor=4",
                    "--microbatches", "critic=4")


if __name__ == "__main__":
    SOURCE, DOVETAIL = Path(sys.argv.pop(1)), sys.argv.pop(1)
    unittest.main()
