"""Rewrites a configuration of dialects/ without changing its meaning: variable names, arrays, quoting, order,
heredocs, older keys."""

import random
import string
from dataclasses import dataclass, field, replace

from dialects.configuration import quoted, scalar, tree_of, words_of, yaml_value

# Names in earlier versions, by the prefix of the current name.
OLDER = {
    "verl": {
        "critic.fsdp.": "critic.model.fsdp_config.",
        "reward.reward_model.": "reward_model.",
        "reward.reward_model.model_path": "reward_model.model.path",
        "actor_rollout_ref.actor.fsdp_config.ulysses_": "actor_rollout_ref.actor.ulysses_",
        "critic.fsdp.ulysses_": "critic.ulysses_",
    },
    "openrlhf": {
        "--actor.model_name_or_path": "--pretrain",
        "--critic.model_name_or_path": "--critic_pretrain",
        "--reward.model_name_or_path": "--reward_pretrain",
        "--reward.remote_url": "--remote_rm_url",
        "--algo.advantage.estimator": "--advantage_estimator",
        "--algo.kl.init_coef": "--init_kl_coef",
        "--rollout.batch_size": "--rollout_batch_size",
        "--rollout.n_samples_per_prompt": "--n_samples_per_prompt",
        "--rollout.micro_batch_size": "--micro_rollout_batch_size",
        "--rollout.max_tokens_per_gpu": "--rollout_max_tokens_per_gpu",
        "--rollout.max_new_tokens": "--generate_max_len",
        "--train.batch_size": "--train_batch_size",
        "--train.micro_batch_size": "--micro_train_batch_size",
        "--train.max_epochs": "--max_epochs",
        "--train.dynamic_batch_enable": "--use_dynamic_batch",
        "--train.max_tokens_per_gpu": "--train_max_tokens_per_gpu",
        "--train.async_enable": "--async_train",
        "--train.colocate_actor_ref": "--colocate_actor_ref",
        "--train.colocate_all": "--colocate_all_models",
        "--data.max_len": "--max_len",
        "--ds.packing_samples": "--packing_samples",
        "--ds.zero_stage": "--zero_stage",
        "--ds.tensor_parallel_size": "--ds_tensor_parallel_size",
        "--ds.ring_attn_size": "--ring_attn_size",
        "--ds.lora.rank": "--lora_rank",
        "--actor.gradient_checkpointing_enable": "--gradient_checkpointing",
        "--vllm.num_engines": "--vllm_num_engines",
        "--vllm.tensor_parallel_size": "--vllm_tensor_parallel_size",
        "--vllm.gpu_memory_utilization": "--vllm_gpu_memory_utilization",
        "--vllm.enforce_eager": "--enforce_eager",
        "--vllm.enable_sleep": "--vllm_enable_sleep",
    }
    | {
        f"--{role}.{size}": f"--{role}_{size}"
        for role in ("actor", "ref", "critic", "reward")
        for size in ("num_nodes", "num_gpus_per_node")
    },
}


@dataclass
class Mutant:
    """Returns files, the first of which is imported, and the arguments after it."""

    files: dict
    arguments: list = field(default_factory=list)


def older_key(dialect, key):
    """Returns the key under a name of an earlier version, from the longest known prefix."""
    sign = "+" * (len(key) - len(key.lstrip("+")))
    begins = [begin for begin in OLDER.get(dialect, {}) if key.lstrip("+").startswith(begin)]
    if not begins:
        return key
    begin = max(begins, key=len)
    return sign + OLDER[dialect][begin] + key.lstrip("+")[len(begin) :]


def older_settings(configuration):
    """Replaces settings that older versions expressed by other settings or in other units."""
    dialect, settings = configuration.dialect, dict(configuration.settings)
    if dialect == "openrlhf":
        # Now one limit for prompt and response together.
        both = settings.pop("--data.max_len")
        settings["--prompt_max_len"] = both - settings["--rollout.max_new_tokens"]
    if dialect == "verl":
        # Sequences of all ranks together.
        for key in [key for key in settings if key.endswith("micro_batch_size_per_gpu")]:
            settings[key.removesuffix("_per_gpu")] = settings.pop(key) * configuration.copies
    if dialect == "verl" and settings.get("model_engine") == "megatron":
        settings.pop("model_engine")
        settings["--config-name"] = "ppo_megatron_trainer.yaml"
    if dialect == "areal" and "rollout.backend" in settings and "enable_offload" not in settings:
        rollout, actor = settings["rollout.backend"], settings["actor.backend"]
        for key in list(settings):
            if key.endswith(".backend") or ".scheduling_strategy." in key:
                settings.pop(key)
        settings["allocation_mode"] = f"{rollout.replace(':', '.')}+{actor}"
    return settings


class ScriptMutation:
    """A script that starts the same program with the same arguments, written differently."""

    def __init__(self, configuration, chance):
        self.chance = chance
        self.lines = []  # before the command
        self.names = set()
        self.older = chance.random() < 0.5
        older = older_settings(configuration) if self.older else configuration.settings
        self.configuration = replace(configuration, settings=older)

    def name(self):
        while True:
            name = "".join(self.chance.choices(string.ascii_uppercase, k=self.chance.randint(2, 9)))
            name += self.chance.choice(["", "_SIZE", "_ARGS", str(self.chance.randint(0, 99))])
            if name not in self.names and name not in {"PATH", "HOME", "PWD", "IFS", "UID", "EUID", "PS"}:
                self.names.add(name)
                return name

    def computed(self, value):
        """Returns code that expands to an integer."""
        add = self.chance.randint(1, 9)
        return self.chance.choice([f"$(({value - add} + {add}))", f"$(( {2 * value} / 2 ))"])

    def variable(self, value):
        """Returns code that expands to the value through a variable defined in earlier lines."""
        name, other = self.name(), self.name()
        word = quoted(value)
        way = self.chance.randrange(12)
        if way == 0:
            self.lines += [f"{name}={word}"]
            return f"${{{name}}}"
        if way == 1:
            self.lines += [f"export {name}={word}"]
            return f"${name}" if self.chance.random() < 0.5 else f"${{{name}:-x}}"
        if way == 2:
            return f"${{{name}:-{value}}}"
        if way == 3:
            self.lines += [f": ${{{name}:={value}}}"]
            return f"${{{name}}}"
        if way == 4:
            self.lines += [f"{name}=$(cat <<'EOF'", value, "EOF", ")"]
            return f"${{{name}}}"
        if way == 5:
            self.lines += [f"{name}=(a {word} b)"]
            return f"${{{name}[1]}}"
        if way == 6:
            self.lines += [f"{name}={word}", f"{other}=${{{name}}}"]
            return f"${{{other}}}"
        if way == 7:
            self.lines += [f"if [ 1 -lt 2 ]; then {name}={word}; else {name}=0; fi"]
            return f"${{{name}}}"
        if way == 8:
            self.lines += [f"case ${{{other}:-b}} in", f"  a) {name}=1 ;;", f"  *) {name}={word} ;;", "esac"]
            return f"${{{name}}}"
        if way == 9:
            self.lines += [f"{name.lower()}() {{ echo {word}; }}"]
            return f"$({name.lower()})"
        if way == 10:
            self.lines += [f"printf -v {name} '%s' {word}"]
            return f"${{{name}}}"
        head, tail = value[: len(value) // 2], value[len(value) // 2 :]
        self.lines += [f"{name}={quoted(head)}", f"{name}+={quoted(tail)}"]
        return f"${{{name}}}"

    def value(self, value):
        """Returns code for the value, in double quotes or without quotes."""
        if value.isdigit() and int(value) > 9 and self.chance.random() < 0.2:
            return self.computed(int(value))
        special = any(c in value for c in "\"'$`\\{}*[] ()")
        if special or not value or self.chance.random() < 0.5:
            return None
        return self.variable(value)

    def word(self, key, value):
        """Returns a word `key=value`, or only the value if the key is empty."""
        joined = f"{key}={value}" if key else value
        code = self.value(value)
        if code is not None:
            whole = f"{key}={code}" if key else code
            # Unquoted values with spaces would be split, but there are none.
            return f'"{whole}"' if self.chance.random() < 0.5 else whole
        special = any(c in joined for c in "\"'$`\\*[]{} ()")
        ways = [quoted(joined), "'" + joined + "'"]
        if not special:
            ways += [f'"{joined}"'] + ([f'{key}="{value}"', f"{key}='{value}'", f'"{key}"={value}'] if key else [])
        return self.chance.choice(ways)

    def groups(self):
        """Returns the code of each setting's words."""
        configuration, chance, groups = self.configuration, self.chance, []
        for words in words_of(configuration):
            if configuration.kind == "overrides":
                key, _, value = words[0].partition("=")
                key = older_key(configuration.dialect, key) if self.older else key
                if not key.startswith(("-", "+", "model_engine")) and chance.random() < 0.1:
                    key = "++" + key
                if value in ("true", "false") and chance.random() < 0.5:
                    value = value.capitalize()
                groups.append(self.word(key, value))
                continue
            key = older_key(configuration.dialect, words[0]) if self.older else words[0]
            if len(words) == 1:
                groups.append(key)
            elif chance.random() < 0.3:
                groups.append(self.word(key, words[1]))
            else:
                groups.append(f"{key} {self.word('', words[1])}")
        chance.shuffle(groups)
        return groups

    def gathered(self, groups):
        """Returns the groups, some of them in arrays or text variables."""
        command = []
        while groups:
            count = self.chance.randint(1, max(len(groups) // 2, 1))
            taken, groups = groups[:count], groups[count:]
            way = self.chance.randrange(4)
            name = self.name()
            if way == 0:
                command += taken
            elif way == 1 and not any(c in " ".join(taken) for c in "\"'$\\`"):
                self.lines += [f'{name}="{" ".join(taken)}"']
                command.append(f"${name}")
            elif way == 2 and len(taken) > 1:
                half = len(taken) // 2
                self.lines += [f"{name}=(", *(f"    {each}" for each in taken[:half]), ")"]
                self.lines += [f"{name}+=( {' '.join(taken[half:])} )"]
                command.append(f'"${{{name}[@]}}"')
            else:
                self.lines += [f"declare -a {name}=({' '.join(taken)})"]
                command.append(f"${{{name}[@]}}")
        return command

    def command(self, words):
        chance, program = self.chance, self.configuration.program
        if program.startswith("python3"):
            begin = ["python3", "python", "python3 -u", "uv run python3", "exec python3", "ray job submit -- python3"]
            program = chance.choice(begin) + program[len("python3") :]
        between = chance.choice([" ", " \\\n    ", "   \\\n"])
        end = chance.choice(["", "", ' "$@"', " 2>&1 | tee log.txt", " > out.txt"])
        return between.join([program, *words]) + end

    def mutant(self):
        chance = self.chance
        words = self.gathered(self.groups())
        command = self.command(words)
        lines = list(self.lines)
        files = {}
        if chance.random() < 0.2 and "EOF" not in lines:
            files["more/settings.sh"] = "\n".join(lines) + "\n"
            lines = ['source "$(dirname "$0")/more/settings.sh"']
        if chance.random() < 0.3:
            begin = chance.choice(["main() {", "function main {"])
            lines = [begin, *lines, command, "}", 'main "$@"']
        elif chance.random() < 0.3:
            lines = [*lines, "if [[ -n 1 ]]; then", command, "fi"]
        else:
            lines = [*lines, command]
        head = chance.choice(["#!/bin/bash", "#!/usr/bin/env bash\nset -euo pipefail", "# a run\nset -x"])
        return Mutant({"run.sh": "\n".join([head, *lines]) + "\n"} | files)


class FileMutation:
    """A YAML configuration with the same meaning."""

    def __init__(self, configuration, chance):
        older = older_settings(configuration) if chance.random() < 0.5 else configuration.settings
        self.configuration = replace(configuration, settings=older)
        self.chance = chance
        self.first = {}  # the first key with a value

    def scalar(self, value, key):
        chance = self.chance
        if isinstance(value, bool):
            return chance.choice([scalar(value), scalar(value).capitalize(), scalar(value).upper()])
        if value is None:
            return chance.choice(["null", "~", ""])
        if isinstance(value, str):
            plain = all(c.isalnum() or c in "/-_." for c in value) and not value[0].isdigit()
            return chance.choice([yaml_value(value), "'" + value.replace("'", "''") + "'", *([value] * plain)])
        if isinstance(value, list):
            return yaml_value(value)
        first = self.first.get(value, key)
        if first != key and chance.random() < 0.3:
            return f"${{{first}}}"
        return scalar(value)

    def flow(self, tree):
        parts = []
        for key, value in tree.items():
            parts.append(f"{key}: {self.flow(value) if isinstance(value, dict) else yaml_value(value)}")
        return "{" + ", ".join(parts) + "}"

    def block(self, tree, indent, path):
        keys = list(tree)
        self.chance.shuffle(keys)
        for key in keys:
            value, shown = tree[key], self.chance.choice([key, key, f'"{key}"']) if indent else key
            whole = ".".join([*path, key])
            if self.chance.random() < 0.1:
                yield " " * indent + "# as before"
            if not isinstance(value, dict):
                yield " " * indent + f"{shown}: {self.scalar(value, whole)}" + self.chance.choice(["", "", "  # so"])
            elif self.chance.random() < 0.3:
                yield " " * indent + f"{shown}: {self.flow(value)}"
            else:
                yield " " * indent + f"{shown}:"
                yield from self.block(value, indent + self.chance.choice([2, 2, 4]), [*path, key])

    def text(self, settings):
        self.first = {}
        for key, value in settings.items():
            if isinstance(value, int) and not isinstance(value, bool):
                self.first.setdefault(value, key)
        return "\n".join(self.block(tree_of(settings), 0, [])) + "\n"

    def overrides(self, settings):
        # Hydra rejects keys missing from the base file unless they are prefixed. These keys are in the trainers' own
        # files.
        own = ("grpo.num", "ppo.num", "cluster.", "policy.model_name", "policy.train_")
        plain = {key for key in settings if self.configuration.dialect == "nemo-rl" and key.startswith(own)}
        return [f"{'' if key in plain else '++'}{key}={hydra(value)}" for key, value in settings.items()]

    def mutant(self):
        chance, settings = self.chance, dict(self.configuration.settings)
        movable = [key for key in settings if key != "defaults"]
        chance.shuffle(movable)
        way = chance.randrange(4)
        if way == 0:
            moved = {key: settings.pop(key) for key in movable[: len(movable) // 4]}
            return Mutant({"run.yaml": self.text(settings)}, self.overrides(moved))
        if way == 1 and self.configuration.dialect in ("nemo-rl", "roll"):
            return self.with_parent(settings, movable)
        if way == 2:
            return self.with_script(settings, movable)
        return Mutant({"run.yaml": self.text(settings)})

    def with_parent(self, settings, movable):
        parent = {key: settings.pop(key) for key in movable[: len(movable) // 2]}
        if self.configuration.dialect == "roll":
            text = "defaults:\n- parts/parent@_here_\n- _self_\n" + self.text(settings)
            return Mutant({"run.yaml": text, "parts/parent.yaml": self.text(parent)})
        parent["defaults"] = settings.pop("defaults")
        settings["defaults"] = "parts/parent.yaml"
        return Mutant({"run.yaml": self.text(settings), "parts/parent.yaml": self.text(parent)})

    def with_script(self, settings, movable):
        programs = {
            "nemo-rl": "uv run examples/run_{loop}.py --config conf/given.yaml",
            "areal": "python3 -m areal.infra.launcher.local train.py --config conf/given.yaml",
            "roll": "python3 start_rlvr_pipeline.py --config_path conf --config_name given",
        }
        loop = "ppo" if "ppo.num_prompts_per_step" in settings else "grpo"
        command, dialect = programs[self.configuration.dialect].format(loop=loop), self.configuration.dialect
        moved = {} if dialect == "roll" else {key: settings.pop(key) for key in movable[: len(movable) // 4]}
        words = " ".join(quoted(word) for word in self.overrides(moved))
        return Mutant({"run.sh": f"#!/bin/bash\n{command} {words}\n", "conf/given.yaml": self.text(settings)})


def hydra(value):
    if not isinstance(value, dict | str):
        return scalar(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{hydra(each)}" for key, each in value.items()) + "}"
    plain = all(c.isalnum() or c in "/-_." for c in value)
    return value if plain else '"' + value + '"'


def resolved(configuration):
    """verl's overrides as saved by Hydra, where the choice of an engine is not a setting."""
    settings = {key.lstrip("+"): value for key, value in configuration.settings.items()}
    if settings.pop("model_engine", None):
        settings["actor_rollout_ref.actor.strategy"] = "megatron"
    return replace(configuration, kind="yaml", settings=settings)


def mutant_of(configuration, chance=random):
    """Returns the same run, written differently."""
    if configuration.dialect == "verl" and chance.random() < 0.25:
        whole = FileMutation(resolved(configuration), chance)
        return Mutant({"run.yaml": whole.text(whole.configuration.settings)})
    kind = FileMutation if configuration.kind == "yaml" else ScriptMutation
    return kind(configuration, chance).mutant()
