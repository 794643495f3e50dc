"""How each trainer loads its configuration, and the result in terms of a plan. Written from the trainers' own code,
independently of Dovetail's. Used by trainer_loaders.py."""

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import types
from pathlib import Path

import yaml

MODELS = ("Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B", "Qwen/Qwen3-8B")
# Defaults that a plan's file omits.
ENGINE = {"memory_utilization": 0.9, "max_num_seqs": 256}
DEGREES = ("dp", "tp", "pp", "cp", "vpp")


def recomputed(granularity, modules):
    """Returns Dovetail's name for what Megatron-LM recomputes."""
    if granularity == "selective" and "moe" in (modules or ()):
        return "experts"
    return granularity or "none"


class Expected:
    """Configuration of one task in terms of a plan."""

    def __init__(self, devices, tp=1, pp=1, cp=1, vpp=1):
        self.layout = {"dp": devices // (tp * pp * cp), "tp": tp, "pp": pp, "cp": cp, "vpp": vpp}
        self.zero, self.recompute, self.micro_batch, self.offload, self.engine = 0, None, None, None, None

    def differences(self, task):
        layout = task["layout"]
        for key in DEGREES:
            if layout.get(key, 1) != self.layout[key]:
                yield f"{key} is {self.layout[key]}, planned {layout.get(key, 1)}"
        if self.zero is not None and layout.get("zero", 0) != self.zero:
            yield f"ZeRO {self.zero}, planned {layout.get('zero', 0)}"
        if self.recompute is not None and layout.get("recompute", "none") != self.recompute:
            yield f"recomputes {self.recompute}, planned {layout.get('recompute', 'none')}"
        if self.micro_batch is not None and task["micro_batch"] != self.micro_batch:
            yield f"micro-batches {self.micro_batch}, planned {task['micro_batch']}"
        if self.offload is not None and set(task.get("offload", [])) != self.offload:
            yield f"offloads {sorted(self.offload)}, planned {task.get('offload', [])}"
        for key, value in (self.engine or {}).items():
            planned = task.get("engine", {}).get(key, ENGINE[key])
            if abs(planned - value) > 1e-9:
                yield f"{key} is {value}, planned {planned}"


def workload(chance):
    nodes, gpus = chance.choice([1, 1, 2]), chance.choice([4, 8])
    return types.SimpleNamespace(
        nodes=nodes,
        gpus=gpus,
        devices=nodes * gpus,
        model=chance.choice(MODELS),
        critic=chance.random() < 0.4,
        prompts=chance.choice([128, 256, 512]),
        samples=chance.choice([2, 4, 8]),
        mini=chance.choice([64, 128]),
        prompt=chance.choice([512, 1024]),
        response=chance.choice([1024, 4096]),
    )


class Verl:
    """With FSDP or Megatron; `package`: the folder that contains verl."""

    to = "verl"

    def __init__(self, package, megatron):
        self.name, self.package, self.megatron = "verl, Megatron" if megatron else "verl, FSDP", package, megatron

    def other(self):
        return Verl(self.package, not self.megatron)

    def base(self, of, chance):
        actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
        dynamic = chance.random() < 0.6
        budget = 2 * (of.prompt + of.response)
        settings = {
            "algorithm.adv_estimator": "gae" if of.critic else "grpo",
            "data.train_files": "train.parquet",
            "data.val_files": "test.parquet",
            "data.train_batch_size": of.prompts,
            "data.max_prompt_length": of.prompt,
            "data.max_response_length": of.response,
            "actor_rollout_ref.model.path": of.model,
            "actor_rollout_ref.model.use_remove_padding": True,
            f"{actor}.ppo_mini_batch_size": of.mini,
            f"{actor}.use_dynamic_bsz": dynamic,
            f"{actor}.ppo_micro_batch_size_per_gpu": 1,
            f"{actor}.ppo_max_token_len_per_gpu": budget,
            f"{actor}.use_kl_loss": True,
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": 1,
            f"{rollout}.log_prob_micro_batch_size_per_gpu": 1,
            f"{rollout}.name": chance.choice(["vllm", "sglang"]),
            f"{rollout}.n": of.samples,
            f"{rollout}.tensor_model_parallel_size": chance.choice([1, 2]),
            f"{rollout}.gpu_memory_utilization": chance.choice([0.4, 0.6]),
            "trainer.nnodes": of.nodes,
            "trainer.n_gpus_per_node": of.gpus,
        }
        if of.critic:
            settings |= {"critic.model.path": of.model, "critic.ppo_micro_batch_size_per_gpu": 1}
            settings |= {"critic.model.use_remove_padding": True}
        if not self.megatron:
            for key in ("param_offload", "optimizer_offload"):
                settings[f"{actor}.fsdp_config.{key}"] = chance.random() < 0.5
        self.words = [f"{key}={value}" for key, value in settings.items()]
        command = ["python3", "-m", "verl.trainer.main_ppo"]
        if self.megatron:
            command.append("--config-name=ppo_megatron_trainer.yaml")
        lines = " \\\n  ".join([" ".join(command), *(shlex.quote(word) for word in self.words), '"$@"'])
        return "run.sh", f"#!/usr/bin/env bash\nset -e\n{lines}\n"

    def load(self, exported, _):
        from hydra import compose, initialize_config_dir
        from verl.utils.config import validate_config
        from verl.workers.config.model import HFModelConfig

        # It would read the files of the model, which do not exist here.
        HFModelConfig.__post_init__ = lambda self: None

        says_engine = any(word.startswith("model_engine=") for word in self.words)
        name = "ppo_megatron_trainer" if self.megatron and not says_engine else "ppo_trainer"
        with initialize_config_dir(str(self.package / "verl/trainer/config"), version_base=None):
            config = compose(config_name=name, overrides=[*self.words, *exported])
        critic = config.algorithm.adv_estimator == "gae"
        with contextlib.redirect_stdout(io.StringIO()):
            validate_config(config, use_reference_policy=True, use_critic=critic)
        return config

    def engine_of(self, role, devices):
        if self.megatron:
            engine, first = role.megatron, self.first.megatron
            expected = Expected(
                devices,
                first.tensor_model_parallel_size,
                first.pipeline_model_parallel_size,
                first.context_parallel_size,
                first.virtual_pipeline_model_parallel_size or 1,
            )
            # A distributed optimizer with one replica shards nothing.
            expected.zero = None
            return expected, engine
        engine = role.get("fsdp_config", None) or role.fsdp
        expected = Expected(
            devices, cp=role.get("ulysses_sequence_parallel_size") or engine.ulysses_sequence_parallel_size
        )
        expected.zero = 3 if devices > 1 else None
        return expected, engine

    def cut(self, config, dynamic, tokens, per_gpu, context):
        return {"tokens": config[tokens] * context} if config[dynamic] else {"sequences": config[per_gpu]}

    def trained(self, role, model, devices):
        expected, engine = self.engine_of(role, devices)
        if self.megatron:
            more = engine.override_transformer_config
            expected.recompute = recomputed(more.get("recompute_granularity"), more.get("recompute_modules"))
        else:
            expected.recompute = "full" if model.enable_gradient_checkpointing else "none"
        expected.micro_batch = self.cut(
            role, "use_dynamic_bsz", "ppo_max_token_len_per_gpu", "ppo_micro_batch_size_per_gpu", expected.layout["cp"]
        )
        expected.offload = {"weights", "gradients"} if engine.param_offload else set()
        expected.offload |= {"optimizer"} if engine.optimizer_offload else set()
        more = role.optim.get("override_optimizer_config") or {}
        expected.offload |= {"optimizer_on_host"} if more.get("optimizer_cpu_offload") else set()
        return expected

    def expected(self, config):
        devices = config.trainer.nnodes * config.trainer.n_gpus_per_node
        parts = config.actor_rollout_ref
        # A process has one set of Megatron's groups: that of the engine built first (verl/workers, V1).
        self.first = config.critic if config.algorithm.adv_estimator == "gae" else parts.ref
        rollout = parts.rollout
        generated = Expected(devices, rollout.tensor_model_parallel_size, rollout.pipeline_model_parallel_size)
        generated.engine = {"memory_utilization": rollout.gpu_memory_utilization, "max_num_seqs": rollout.max_num_seqs}
        actor = self.trained(parts.actor, parts.model, devices)
        tasks = {"actor_generate": generated, "actor_train": actor}
        keys = ("log_prob_use_dynamic_bsz", "log_prob_max_token_len_per_gpu", "log_prob_micro_batch_size_per_gpu")
        passed, _ = self.engine_of(parts.actor, devices)
        passed.micro_batch = self.cut(rollout, *keys, passed.layout["cp"])
        reference, engine = self.engine_of(parts.ref, devices)
        reference.micro_batch = self.cut(parts.ref, *keys, reference.layout["cp"])
        reference.offload = {"weights"} if not self.megatron or engine.param_offload else set()
        tasks |= {"actor_infer": passed, "reference_infer": reference}
        if config.algorithm.adv_estimator == "gae":
            tasks["critic_train"] = self.trained(config.critic, config.critic.model, devices)
        return tasks


def names_missing_modules(statement):
    names = [each.name for each in statement.names] if isinstance(statement, ast.Import) else []
    names += [statement.module] if isinstance(statement, ast.ImportFrom) else []
    return any(name.split(".")[0] in ("ray", "openrlhf") for name in names)


class OpenRlhf:
    """`package`: the folder that contains openrlhf."""

    name, to = "OpenRLHF", "openrlhf"

    def __init__(self, package):
        # The code after `if __name__ == "__main__"`, without the training that it starts and the imports only needed
        # for it.
        tree = ast.parse((package / "openrlhf/cli/train_ppo_ray.py").read_text(encoding="utf-8"))
        main = tree.body[-1]
        if ast.unparse(main.body[-1]) != "train(args)":
            raise SystemExit("OpenRLHF's main does not end with train(args)")
        main.body[-1] = ast.parse("loaded.append(args)").body[0]
        own = [each for each in tree.body[:-1] if not names_missing_modules(each)]
        self.code = compile(ast.Module([*own, *main.body], []), "train_ppo_ray.py", "exec")
        for name in ("openrlhf", "openrlhf.utils"):
            module = types.ModuleType(name)
            module.__path__ = [str(package / name.replace(".", "/"))]
            sys.modules[name] = module

    def base(self, of, chance):
        flags = {
            "--actor.model_name_or_path": of.model,
            "--reward.remote_url": "reward.py",
            "--data.prompt_dataset": "prompts",
            "--data.max_len": of.prompt + of.response,
            "--rollout.batch_size": of.prompts,
            "--rollout.n_samples_per_prompt": of.samples,
            "--train.batch_size": of.mini * of.samples,
            "--rollout.max_new_tokens": of.response,
            "--train.micro_batch_size": 1,
            "--rollout.micro_batch_size": chance.choice([1, 2]),
            "--ds.zero_stage": chance.choice([2, 3]),
            "--vllm.num_engines": of.devices // 2,
            "--vllm.tensor_parallel_size": 2,
            "--vllm.gpu_memory_utilization": chance.choice([0.4, 0.6]),
            "--algo.kl.init_coef": 1e-3,
            "--ds.param_dtype": "bf16",
        }
        roles = ("actor", "ref", "critic") if of.critic else ("actor", "ref")
        for role in roles:
            flags |= {f"--{role}.num_nodes": of.nodes, f"--{role}.num_gpus_per_node": of.gpus}
        flags["--algo.advantage.estimator"] = "gae" if of.critic else "group_norm"
        if of.critic:
            flags["--critic.model_name_or_path"] = of.model
        alone = ["--train.colocate_all", "--vllm.enable_sleep", "--ds.enable_sleep", "--ds.packing_samples"]
        alone += ["--actor.gradient_checkpointing_enable"]
        if chance.random() < 0.5:
            alone += ["--train.dynamic_batch_enable"]
            flags["--train.max_tokens_per_gpu"] = 2 * (of.prompt + of.response)
        lines = [f"  {key} {value} \\" for key, value in flags.items()]
        lines += [f"  {flag} \\" for flag in alone[:-1]] + [f"  {alone[-1]}"]
        return "run.sh", "#!/usr/bin/env bash\npython3 -m openrlhf.cli.train_ppo_ray \\\n" + "\n".join(lines) + "\n"

    def load(self, exported, _):
        """Returns the parsed flags of an exported script, from OpenRLHF's own parser."""
        words = shlex.split(exported.replace("\\\n", " "), comments=True)
        loaded = []
        before, sys.argv = sys.argv, ["train_ppo_ray.py", *words[words.index("openrlhf.cli.train_ppo_ray") + 1 :]]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(self.code, {"loaded": loaded, "__name__": "__main__"})
        finally:
            sys.argv = before
        args = loaded[0]
        # Checks of train() before it starts anything.
        devices = args.actor.num_nodes * args.actor.num_gpus_per_node
        if args.train.colocate_all and devices != args.vllm.num_engines * args.vllm.tensor_parallel_size:
            raise AssertionError("engines are not on as many GPUs as the actor")
        return args

    def expected(self, args):
        devices = args.actor.num_nodes * args.actor.num_gpus_per_node
        shared = args.ds.ring_attn_size * args.ds.tensor_parallel_size
        generated = Expected(args.vllm.num_engines * args.vllm.tensor_parallel_size, args.vllm.tensor_parallel_size)
        generated.engine = {"memory_utilization": args.vllm.gpu_memory_utilization}
        generated.offload = {"weights"} if args.vllm.enable_sleep else set()

        def of_role():
            return Expected(devices, args.ds.tensor_parallel_size, cp=args.ds.ring_attn_size)

        def cut(part):
            if args.train.dynamic_batch_enable:
                return {"tokens": getattr(args, part).max_tokens_per_gpu * shared}
            return {"sequences": getattr(args, part).micro_batch_size}

        tasks = {"actor_generate": generated}
        for role in ("actor", "critic"):
            if role == "critic" and not args.critic.model_name_or_path:
                continue
            train = of_role()
            train.zero = args.ds.zero_stage if devices > shared else None
            train.micro_batch = cut("train")
            train.offload = {"gradients", "optimizer"} if args.ds.enable_sleep else set()
            train.offload = train.offload | ({"optimizer_on_host"} if args.ds.adam_offload else set())
            train.recompute = "full" if args.actor.gradient_checkpointing_enable else "none"
            tasks[f"{role}_train"] = train
        passed, reference = of_role(), of_role()
        passed.micro_batch = reference.micro_batch = cut("rollout")
        # Models that are not trained are sharded by ZeRO 3 or not at all.
        passed.zero = reference.zero = 3 if args.ds.zero_stage == 3 and devices > shared else 0
        reference.offload = {"weights"} if args.ref.offload else set()
        return tasks | {"actor_infer": passed, "reference_infer": reference}


class NemoRl:
    """`loader`: folder of the repository whose own loader is used; None: its inheritance rule, reimplemented from
    NVIDIA-NeMo/RL 7ea279abf, nemo_rl/utils/config.py (the files named in `defaults` first, then the file itself).
    `defaults`: the folder with a grpo.yaml."""

    to = "nemo-rl"

    def __init__(self, loader, defaults, megatron):
        self.name, self.loader, self.defaults, self.megatron = "NeMo-RL", loader, defaults, megatron
        self.name += ", Megatron" if megatron else ", DTensor"

    def other(self):
        return NemoRl(self.loader, self.defaults, not self.megatron)

    def base(self, of, chance):
        total = of.prompt + of.response
        packs = chance.random() < 0.7
        policy = {
            "model_name": of.model,
            "train_global_batch_size": of.mini * of.samples,
            "train_micro_batch_size": 2,
            "logprob_batch_size": 2,
            "max_total_sequence_length": total,
            "sequence_packing": {"enabled": packs},
            "dtensor_cfg": {"enabled": not self.megatron},
            "megatron_cfg": {"enabled": self.megatron, "activation_checkpointing": chance.random() < 0.5},
            "generation": {"vllm_cfg": {"tensor_parallel_size": chance.choice([1, 2])}},
        }
        config = {
            "defaults": "grpo.yaml",
            "grpo": {"num_prompts_per_step": of.prompts, "num_generations_per_prompt": of.samples},
            "policy": policy,
            "data": {"max_input_seq_length": of.prompt},
            "cluster": {"num_nodes": of.nodes, "gpus_per_node": of.gpus},
        }
        return "run.yaml", yaml.safe_dump(config, sort_keys=False)

    def load(self, exported, folder):
        from omegaconf import OmegaConf

        os.environ.update(demanded_by(exported))
        OmegaConf.register_new_resolver("mul", lambda a, b: a * b, replace=True)
        path = folder / "tuned.yaml"
        path.write_text(exported, encoding="utf-8")
        if self.loader:
            source = (self.loader / "nemo_rl/utils/config.py").read_text(encoding="utf-8")
            names = {"__name__": "nemo_rl.utils.config"}
            exec(compile(source, "config.py", "exec"), names)
            config = names["load_config"](path)
        else:
            config = self.inherited(path)
        return OmegaConf.create(OmegaConf.to_container(config, resolve=True))

    def inherited(self, path):
        from omegaconf import OmegaConf

        config = OmegaConf.load(path)
        parent = config.pop("defaults", None)
        return config if parent is None else OmegaConf.merge(self.inherited(path.parent / parent), config)

    def expected(self, config):
        policy, devices = config.policy, config.cluster.num_nodes * config.cluster.gpus_per_node
        vllm = policy.generation.vllm_cfg
        generated = Expected(devices, vllm.tensor_parallel_size, vllm.pipeline_parallel_size)
        limits = policy.generation.get("vllm_kwargs") or {}
        generated.engine = {"memory_utilization": vllm.gpu_memory_utilization}
        if "max_num_seqs" in limits:
            generated.engine["max_num_seqs"] = limits["max_num_seqs"]

        def of_policy(tokens, sequences):
            if self.megatron:
                cfg = policy.megatron_cfg
                degrees = (cfg.tensor_model_parallel_size, cfg.pipeline_model_parallel_size, cfg.context_parallel_size)
                expected = Expected(devices, *degrees)
                # A distributed optimizer with one replica shards nothing.
                expected.zero = None
            else:
                cfg = policy.dtensor_cfg
                expected = Expected(devices, cfg.tensor_parallel_size, cp=cfg.context_parallel_size)
                expected.zero = None
            packs = policy.sequence_packing.enabled
            expected.micro_batch = (
                {"tokens": policy.sequence_packing[tokens]} if packs else {"sequences": policy[sequences]}
            )
            return expected, cfg

        train, cfg = of_policy("train_mb_tokens", "train_micro_batch_size")
        kind = recomputed(cfg.get("recompute_granularity", "full"), cfg.get("recompute_modules"))
        train.recompute = kind if cfg.activation_checkpointing else "none"
        passed, _ = of_policy("logprob_mb_tokens", "logprob_batch_size")
        return {"actor_generate": generated, "actor_train": train, "actor_infer": passed, "reference_infer": passed}


class Areal:
    """`package`: the folder that contains areal."""

    to = "areal"

    def __init__(self, package, backend):
        self.name, self.package, self.backend = f"AReaL, {backend}", package, backend

    def other(self):
        return Areal(self.package, "fsdp" if self.backend == "megatron" else "megatron")

    def base(self, of, chance):
        of.critic = False
        half, total = of.devices // 2, of.prompt + of.response
        engine = chance.choice(["sglang", "vllm"])
        names = {"experiment_name": "random", "trial_name": "trial"}
        config = {
            **names,
            "total_train_epochs": 1,
            "tokenizer_path": of.model,
            "cluster": {"n_nodes": of.nodes, "n_gpus_per_node": of.gpus},
            "rollout": {
                **names,
                "backend": f"{engine}:d{half // 2}t2",
                "max_head_offpolicyness": 2,
                "consumer_batch_size": of.prompts,
            },
            "gconfig": {"n_samples": of.samples, "max_new_tokens": of.response},
            "actor": {
                **names,
                "mb_spec": {"max_tokens_per_mb": 2 * total},
                "backend": f"{self.backend}:d{half}",
                "path": of.model,
                "gradient_checkpointing": chance.random() < 0.5,
                "optimizer": {"type": "adam"},
                "kl_ctl": 0.1,
                "use_decoupled_loss": True,
                "ppo_n_minibatches": chance.choice([1, 2, 4]),
            },
            "ref": {
                **names,
                "mb_spec": {"max_tokens_per_mb": 2 * total},
                "backend": f"{self.backend}:d{half}",
                "path": of.model,
                "optimizer": None,
                "scheduling_strategy": {"type": "colocation", "target": "actor"},
            },
            engine: {},
            "train_dataset": {"batch_size": of.prompts, "path": "data", "type": "rl", "max_length": of.prompt},
        }
        for name in ("saver", "recover", "evaluator", "stats_logger"):
            config[name] = {**names, "fileroot": "/tmp/areal"}
        return "run.yaml", yaml.safe_dump(config, sort_keys=False)

    def load(self, exported, folder):
        sys.path.insert(0, str(self.package))
        from areal.api.cli_args import PPOConfig, parse_cli_args, to_structured_cfg
        from omegaconf import OmegaConf

        os.environ.update(demanded_by(exported))
        path = folder / "tuned.yaml"
        path.write_text(exported, encoding="utf-8")
        config, _ = parse_cli_args(["--config", str(path)])
        return OmegaConf.to_object(to_structured_cfg(config, PPOConfig))

    @staticmethod
    def degrees(text):
        """Returns the backend of "fsdp:d4t2" and its degrees."""
        backend, _, degree_text = text.partition(":")
        degrees = {letter: int(number) for letter, number in re.findall(r"([a-z])(\d+)", degree_text)}
        sizes = {name: degrees.get(name[0], 1) for name in ("tp", "pp", "cp")}
        devices = degrees.get("d", 1) * sizes["tp"] * sizes["pp"] * sizes["cp"]
        return backend, Expected(devices, **sizes)

    def expected(self, config):
        engine, generated = self.degrees(config.rollout.backend)
        limits = getattr(config, engine)
        share = limits.mem_fraction_static if engine == "sglang" else limits.gpu_memory_utilization
        generated.engine = {"memory_utilization": share}
        tasks = {"actor_generate": generated}
        for task, role in (
            ("actor_train", config.actor),
            ("actor_infer", config.actor),
            ("reference_infer", config.ref),
        ):
            backend, expected = self.degrees(role.backend)
            shards = expected.layout["dp"] * expected.layout["cp"] > 1
            expected.zero = 3 if backend == "fsdp" and shards else None
            expected.micro_batch = {"tokens": role.mb_spec.max_tokens_per_mb}
            if task == "actor_train":
                own = role.megatron
                in_parts = backend == "megatron"
                kind = recomputed(own.recompute_granularity, own.recompute_modules) if in_parts else "full"
                expected.recompute = kind if role.gradient_checkpointing else "none"
                chunks = role.megatron.virtual_pipeline_parallel_size
                expected.layout["vpp"] = chunks if backend == "megatron" and expected.layout["pp"] > 1 else 1
            tasks[task] = expected
        return tasks


def demanded_by(exported):
    """Returns a value for each variable that a whole file requires."""
    return {name: f"/demanded/{name}" for name in re.findall(r"(?:\$\{|oc\.env:)(\w+)(?::\?|\})", exported)}
