#!/usr/bin/env python3
"""Plans random jobs of six trainers and checks that each trainer can run its plan.

The rules are derived from the trainers' code and share nothing with those of the search. They look only at the
plan. The cost of following them is printed: iteration time relative to the best plan for any framework.

usage: trainer_plans.py DOVETAIL [--jobs N] [--seed N] [--framework NAME]

Exits with 1 if a plan breaks a rule.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BACKENDS = (
    ("verl", "verl-fsdp"),
    ("verl", "megatron-policy"),
    ("openrlhf", "deepspeed-zero"),
    ("nemo-rl", "nemo-rl-megatron"),
    ("nemo-rl", "fsdp2"),
    ("areal", "fsdp2"),
    ("areal", "megatron-policy"),
    ("roll", "roll-megatron"),
    ("roll", "fsdp2"),
    ("slime", "megatron-policy"),
)
# Reward models run on separate devices in NeMo-RL and slime, and outside the run in AReaL.
WITHOUT_JUDGE = ("nemo-rl", "slime", "areal")
DEGREES = ("dp", "tp", "pp", "cp", "ep", "etp", "vpp")
# No plan fits.
INFEASIBLE = 3


def random_job(chance, framework, training):
    """Returns the text of a job with a placeholder for its framework, and its devices as a plan names all of them."""
    is_ppo = chance.random() < 0.5
    has_reward = framework not in WITHOUT_JUDGE and chance.random() < 0.4
    # Hugging Face's models under ROLL's FSDP2 compute padded rows.
    packing = (framework, training) != ("roll", "fsdp2")
    other = chance.choice(["qwen3-1.7b", "qwen3-4b", "qwen3-8b"])
    models = [f"actor: {chance.choice(['qwen3-1.7b', 'qwen3-4b', 'qwen3-8b', 'qwen2.5-7b', 'llama-3-8b'])}"]
    models += [f"critic: {other}"] * is_ppo + [f"reward: {other}"] * has_reward
    nodes, gpus, cap = chance.choice([1, 1, 2, 4]), chance.choice([4, 8]), chance.choice([1024, 4096, 8192])
    return (
        f"""format: dovetail/job@1
algorithm: {{name: {'ppo' if is_ppo else 'grpo'}, reward: {'model' if has_reward else 'rule'}, reference: pass}}
models: {{{', '.join(models)}}}
workload: {{prompts: {chance.choice([64, 128, 256])}, samples_per_prompt: {chance.choice([1, 4, 8])},
  mini_batches: {chance.choice([1, 2, 4])}, prompt_length: 512, packing: {str(packing).lower()},
  response_length: {{mean: {cap // 4}, p90: {cap // 2}, cap: {cap}}}}}
cluster: {{nodes: {nodes}, gpus_per_node: {gpus}, gpu: {chance.choice(['H100', 'A100-80', 'H200'])}, host_memory: 2TB}}
software: {{framework: %s, training: %s}}
""",
        f"0-{nodes * gpus - 1}",
    )


class Plan:
    """Tasks of a plan by name."""

    def __init__(self, tasks):
        self.tasks = {task["task"]: task for task in tasks}
        self.trained = [name for name in self.tasks if name.endswith("_train")]
        self.roles = [name for name in self.tasks if name not in ("actor_generate", "reward_infer")]
        self.passes = [name for name in self.tasks if name not in ("actor_generate", *self.trained)]

    def degree(self, task, key):
        return self.tasks[task]["layout"].get(key, 1)

    def zero(self, task):
        return self.tasks[task]["layout"].get("zero", 0)

    def away(self, task):
        return set(self.tasks[task].get("offload", []))

    def cut(self, task):
        return json.dumps(self.tasks[task]["micro_batch"], sort_keys=True)

    def by_tokens(self, task):
        return "tokens" in self.tasks[task]["micro_batch"]

    def pairs(self):
        """Yields each training with the pass of its role."""
        named = [(train, train.replace("_train", "_infer")) for train in self.trained]
        return [(train, passed) for train, passed in named if passed in self.tasks]

    def differ(self, tasks, of):
        return len({of(task) for task in tasks}) > 1


def faults_of_all(plan, devices):
    yield from (f"{task} is not on all devices" for task, has in plan.tasks.items() if has["devices"] != devices)
    for train, passed in plan.pairs():
        yield from (f"{passed}: {key}" for key in DEGREES if plan.degree(train, key) != plan.degree(passed, key))


def faults_of_verl(plan, training):
    for train in plan.trained:
        if ("weights" in plan.away(train)) != ("gradients" in plan.away(train)):
            yield f"{train}: weights and gradients are offloaded together"
    for train, passed in plan.pairs():
        if ("weights" in plan.away(train)) != ("weights" in plan.away(passed)):
            yield f"{passed}: param_offload applies to the whole engine"
        if plan.by_tokens(train) != plan.by_tokens(passed):
            yield f"{passed}: use_dynamic_bsz applies to training and passes"
    if training == "megatron-policy":
        for key in DEGREES[1:]:
            if plan.differ(plan.roles, lambda task, key=key: plan.degree(task, key)):
                yield f"one process group for all roles: {key}"
        return
    for task in plan.roles:
        if any(plan.degree(task, key) != 1 for key in ("tp", "pp", "ep", "etp", "vpp")):
            yield f"{task}: FSDP does not split layers"
        if plan.zero(task) != 3 and plan.degree(task, "dp") * plan.degree(task, "cp") > 1:
            yield f"{task}: FSDP shards weights"
    if "reference_infer" in plan.tasks and "weights" not in plan.away("reference_infer"):
        yield "the reference is loaded from the host"
    if any("optimizer_on_host" in plan.away(task) for task in plan.trained):
        yield "FSDP steps on the devices"


def faults_of_openrlhf(plan, _):
    others = [*plan.passes, *plan.trained]
    for key in ("tp", "cp"):
        if plan.differ(others, lambda task, key=key: plan.degree(task, key)):
            yield f"one --ds.* for all: {key}"
    if plan.differ(others, lambda task: plan.zero(task) == 3):
        yield "one --ds.zero_stage"
    if any(plan.degree(task, "pp") != 1 for task in plan.tasks):
        yield "no pipeline parallelism"
    if plan.differ(plan.trained, plan.cut) or plan.differ(plan.passes, plan.cut):
        yield "one budget for all trainings, one for all passes"
    if plan.differ(others, plan.by_tokens):
        yield "one --train.dynamic_batch_enable"
    if any("weights" in plan.away(task) for task in plan.trained):
        yield "weights in bf16 stay on the devices"
    if plan.differ(plan.trained, lambda task: frozenset(plan.away(task))):
        yield "one --ds.enable_sleep"
    if plan.tasks["actor_generate"].get("engine", {}).get("max_num_seqs", 256) != 256:
        yield "max_num_seqs must be vLLM's default"


def faults_of_nemo_rl(plan, _):
    policy = [task for task in plan.roles if not task.startswith("critic")]
    for key in DEGREES:
        if plan.differ(policy, lambda task, key=key: plan.degree(task, key)):
            yield f"one layout of the policy: {key}"
    for task in plan.tasks:
        leaves = {"weights", "gradients"} if task in plan.trained else {"weights"}
        if not leaves <= plan.away(task):
            yield f"{task}: {leaves} are offloaded before the engine wakes"
    if plan.differ([task for task in policy if task in plan.passes], plan.cut):
        yield "logprob_mb_tokens applies to all passes"


WHOLE = ({"weights", "gradients", "optimizer"}, {"weights", "gradients", "optimizer_on_host"})


def faults_of_areal(plan, training):
    """inclusionAI/AReaL at 4aef98d8d."""
    # areal/infra/scheduler/local.py, create_workers: a colocated role has as many workers as the role it shares GPUs
    # with. An engine that generates has one worker per instance, one that trains has one per GPU.
    if any(plan.degree("actor_generate", key) != 1 for key in ("tp", "pp", "cp")):
        yield "one instance per GPU"
    # areal/engine/fsdp_engine.py, offload, and its counterparts: torch_memory_saver pauses everything.
    # areal/trainer/rl_trainer.py: the actor is offloaded during a rollout on its GPUs, other roles on request.
    for train in plan.trained:
        if plan.away(train) not in (*WHOLE, set(), {"optimizer_on_host"}):
            yield f"{train}: offloading is all or nothing"
    if plan.away("actor_train") not in WHOLE or "weights" not in plan.away("actor_generate"):
        yield "actor and rollout release the GPUs for each other"
    for train, passed in plan.pairs():
        # areal/trainer/ppo/actor.py, critic.py: compute_logp, compute_values and ppo_update belong to one engine, which
        # splits batches by one mb_spec (areal/engine/fsdp_engine.py, _prepare_mb_list).
        if plan.cut(train) != plan.cut(passed):
            yield f"{passed}: mb_spec applies to the whole engine"
        if ("weights" in plan.away(train)) != ("weights" in plan.away(passed)):
            yield f"{passed}: offloading applies to the whole engine"
    for task in plan.roles:
        # areal/api/cli_args.py, MicroBatchSpec: max_tokens_per_mb or n_mbs.
        if "sequences" in plan.tasks[task]["micro_batch"]:
            yield f"{task}: micro-batches cannot be limited by sequences"
        if training == "fsdp2":
            # areal/api/alloc_mode.py: fsdp has d, t and c; areal/engine/fsdp_engine.py, fully_shard.
            if any(plan.degree(task, key) != 1 for key in ("pp", "vpp", "ep", "etp")) or plan.zero(task) != 3:
                yield f"{task}: FSDP has only data, tensor and context parallelism, and shards weights"
        elif plan.zero(task) > 1 or "optimizer_on_host" in plan.away(task):
            yield f"{task}: Megatron's distributed optimizer is on the devices"


def faults_of_roll(plan, training):
    """alibaba/ROLL at 8eb27cc2."""
    # roll/pipeline/rlvr/rlvr_pipeline.py, run: actor_train and critic are offloaded at the start, actor_infer and
    # reward models after generation; roll/utils/context_managers.py: a pass offloads its states afterwards.
    for task in (*plan.passes, "actor_generate"):
        if "weights" not in plan.away(task):
            yield f"{task}: weights are offloaded afterwards"
    for train in plan.trained:
        if training == "roll-megatron":
            # roll/distributed/strategy/megatron_strategy.py, offload_states: everything unless restricted by `include`.
            if plan.away(train) not in WHOLE:
                yield f"{train}: everything is offloaded"
        elif plan.away(train) not in ({"weights"}, {"weights", "optimizer_on_host"}):
            # roll/distributed/strategy/fsdp2_strategy.py, offload_states: only the model.
            yield f"{train}: weights are offloaded, the optimizer stays"
    for task in plan.roles:
        if training == "roll-megatron":
            if plan.zero(task) > 1:
                yield f"{task}: Megatron's distributed optimizer"
            continue
        # The same file, create_device_mesh_with_ep: ulysses_size, fsdp_size and ep_size.
        if any(plan.degree(task, key) != 1 for key in ("tp", "pp", "vpp", "etp")):
            yield f"{task}: FSDP2 does not split layers"
        if plan.zero(task) != 3 and plan.degree(task, "dp") * plan.degree(task, "cp") > 1:
            yield f"{task}: FSDP2 shards weights"
        # The same file, train_step and forward_step: rows by per_device_train_batch_size and infer_batch_size.
        if "sequences" not in plan.tasks[task]["micro_batch"]:
            yield f"{task}: micro-batches are limited by sequences"


def faults_of_slime(plan, _):
    """THUDM/slime at 624b824a8."""
    # slime/ray/placement_group.py, create_training_models: critic and actor are created from one set of flags;
    # slime/backends/megatron_utils/actor.py, load_other_checkpoint: the reference is other weights in the same model.
    for key in DEGREES:
        if plan.differ(plan.roles, lambda task, key=key: plan.degree(task, key)):
            yield f"one set of flags for all roles: {key}"
    # slime/ray/rollout.py, _split_train_data_by_dp: num_microbatches belongs to the batch, for passes and trainings.
    if plan.differ(plan.roles, plan.cut):
        yield "one division into micro-batches for all roles"
    # slime/utils/arguments.py: --colocate sets offload_train and offload_rollout; actor.py, sleep: torch_memory_saver.
    for task in plan.tasks:
        if task in plan.trained and plan.away(task) not in WHOLE:
            yield f"{task}: everything is offloaded"
        if "weights" not in plan.away(task):
            yield f"{task}: weights are offloaded"
    # slime/backends/megatron_utils/arguments.py: use_distributed_optimizer.
    if any(plan.zero(task) != 1 for task in plan.trained):
        yield "ZeRO 1"


RULES = {
    "verl": faults_of_verl,
    "openrlhf": faults_of_openrlhf,
    "nemo-rl": faults_of_nemo_rl,
    "areal": faults_of_areal,
    "roll": faults_of_roll,
    "slime": faults_of_slime,
}


def planned(dovetail, folder, name, text):
    """Returns the tasks of the first plan and its iteration time in seconds, or None if no plan fits."""
    job, plan = folder / f"{name}.yaml", folder / f"{name}.json"
    job.write_text(text, encoding="utf-8")
    search = [dovetail, "plan", job, "--iterations", "2000", "--simulate", "0", "-o", plan]
    done = subprocess.run(search, capture_output=True, text=True, check=False)
    if done.returncode == INFEASIBLE:
        return None
    if done.returncode != 0:
        raise SystemExit(f"{done.stderr}\n{text}")
    answer = subprocess.run([dovetail, "plan", job, "--plan", plan, "--json"], capture_output=True, check=True)
    return json.loads(plan.read_text(encoding="utf-8"))["tasks"], json.loads(answer.stdout)["iteration_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dovetail")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--framework", choices=sorted(RULES), help="only jobs of this framework")
    arguments = parser.parse_args()
    backends = [backend for backend in BACKENDS if arguments.framework in (None, backend[0])]
    chance = random.Random(arguments.seed)
    broken, costs = 0, {}
    for _ in range(arguments.jobs):
        framework, training = chance.choice(backends)
        job, devices = random_job(chance, framework, training)
        with tempfile.TemporaryDirectory() as scratch:
            kept = planned(arguments.dovetail, Path(scratch), "kept", job % (framework, training))
            free = planned(arguments.dovetail, Path(scratch), "free", job % ("any", training))
        if kept is None:
            costs.setdefault((framework, training), []).append(None)
            continue
        plan = Plan(kept[0])
        faults = [*faults_of_all(plan, devices), *RULES[framework](plan, training)]
        if faults:
            broken += 1
            print(f"WRONG {faults}\n{job % (framework, training)}{json.dumps(kept[0])}")
        costs.setdefault((framework, training), []).append(kept[1] / free[1] if free else None)
    for (framework, training), ratios in sorted(costs.items()):
        known = [ratio for ratio in ratios if ratio is not None] or [float("nan")]
        print(
            f"{framework} ({training}): {len(ratios)} jobs, {ratios.count(None)} without a plan; "
            f"iteration time relative to any framework: median {statistics.median(known):.3f}, maximum {max(known):.3f}"
        )
    print(f"{arguments.jobs} jobs, {broken} plans that their trainer cannot run")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
