#!/usr/bin/env python3
"""Compares Dovetail with TRL's GRPOTrainer and the transformers library, with one thread each on the same cores.

usage: peers.py SOURCE DOVETAIL [--model FOLDER] [--only NAME...] [--layers N]

replay     Dovetail samples and trains 5 iterations; TRL's trainer and optimizer get the same texts and rewards.
speed      Iterations per hour. Each program samples and trains by itself, with a mean length of about 0.3 of the
cap,
           on a model of 1 million parameters and on FOLDER (SmolLM2-135M-Instruct or another model that uses
ChatML).
           The two programs alternate; the first iteration of each turn does not count. Neither has a reference or
           computes the log-probabilities of its samples before training on them.
generate   96 sequences through 16 slots, in the shape of SmolLM2-135M. The weights are random, and one token in 30
           ends a sequence. transformers is stopped at the lengths of Dovetail's samples, in the same order.
train      Tokens per second of supervised training in that shape: texts of equal length without padding.

Equivalent settings of Dovetail and TRL (TRL's other losses and settings have no counterpart here):

    weigh: sequences                  loss_type="grpo"
    weigh: tokens                     loss_type="bnpo"; equal to "dapo" if an iteration is one step
    weigh: constant                   loss_type="dr_grpo"
    advantage: group                  scale_rewards="group", which adds 1e-4 to the deviation, Dovetail 1e-6; a
right
                                      answer has the reward 100 there, so that neither matters
    advantage: none                   scale_rewards="none"
    kl: {in: loss, estimator: k3}     beta with use_bias_correction_kl=False; reference: skip is beta=0

Needs a Python with trl, transformers and torch; FOLDER must contain a tokenizer. Exits with 1 if a figure exceeds
its bound. Speeds are meaningful only on an otherwise idle machine.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
os.environ.update({"HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "TOKENIZERS_PARALLELISM": "false"})

import datasets
import torch
import transformers
import trl

NAMES = ["replay", "speed", "generate", "train"]
JOB = """format: dovetail/job@1
name: peers
algorithm: {algorithm}
models: {{actor: model}}
workload: {workload}
cluster: {{nodes: 1, gpus_per_node: 1, gpu: {{name: CPU, memory: 16GiB, bandwidth: 20GB/s, bf16: 100GFLOP/s}}}}
software: {{framework: dovetail}}
{fixed}train:
  iterations: {iterations}
  seed: {seed}
  data: {{train: {data}, template: {template}}}
  weights: {{actor: model}}
  optimizer: {{actor: {{learning_rate: {rate}}}}}
"""
ROLLOUTS = "  loss: {{{loss}}}\n  reward: {{command: [python3, reward.py]}}\n"
OPTIMIZER = {"adam_beta1": 0.9, "adam_beta2": 0.95, "adam_epsilon": 1e-8, "weight_decay": 0.0, "max_grad_norm": 1.0}
# The reward does not affect the speed.
REWARD = """import json, sys
for line in sys.stdin:
    sample = json.loads(line)
    print(json.dumps({"id": sample["id"], "reward": len(sample["response"]) % 7}), flush=True)
"""
RIGHT = """import json, sys
for line in sys.stdin:
    sample = json.loads(line)
    print(json.dumps({"id": sample["id"], "reward": SCALE * (sample["response"] == sample["answer"])}), flush=True)
"""
SMOLLM2 = {
    "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
    "intermediate_size": 1536, "vocab_size": 49152, "max_position_embeddings": 8192, "tie_word_embeddings": True,
    "rope_theta": 100000.0, "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0,
}  # fmt: skip
MILLION = {
    "hidden_size": 128, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 384, "vocab_size": 32, "max_position_embeddings": 256, "tie_word_embeddings": False,
    "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0,
}  # fmt: skip
CHATML = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
QUESTIONS = ["Say hello.", "Hello!", "What is two plus two?", "In one word: what is the capital of France?"]
TINY_PROMPTS = ["1 garden", "2 river", "3 harbor", "4 island", "5 market", "6 castle", "7 forest", "8 bridge"]


class Bounds:
    def __init__(self):
        self.faults = 0

    def hold(self, what, value, least=None, most=None):
        ok = not (least is not None and not value >= least or most is not None and not value <= most)
        bound = f", at least {least:.4g}" if least is not None else f", at most {most:g}" if most is not None else ""
        self.faults += not ok
        print(f"{what}: {value:.4g}{bound}{'' if ok else ' WRONG'}", flush=True)


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_model(folder, shape, source):
    """Creates a random model with nearly uniform token probabilities; its tokenizer is tiny-sft's with more words."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(**shape)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer = json.loads((source / "examples/train/tiny-sft/model/tokenizer.json").read_text(encoding="utf-8"))
    words = tokenizer["model"]["vocab"]
    words.update({f"<more{token}>": token for token in range(len(words), config.vocab_size)})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def tokenizer_of(folder, end, padding):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), eos_token=end, pad_token=padding, padding_side="left",
        add_prefix_space=padding != end,
    )  # fmt: skip


def load(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.get_input_embeddings().padding_idx = None
    return model


class Run:
    """Output of `dovetail train`."""

    def __init__(self, dovetail, folder, out, more="", **settings):
        defaults = {"fixed": "", "seed": 1, "template": "none", "data": "data.jsonl", "rate": 1e-5}
        job = folder / f"{out}.yaml"
        job.write_text(JOB.format(**{**defaults, **settings}) + more, encoding="utf-8")
        self.folder = folder / out
        command = [dovetail, "train", job, "-o", self.folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{out} ended with {done.returncode}: {done.stderr[-2000:]}")
        self.rows = read_lines(self.folder / "metrics.jsonl")

    def samples(self):
        return read_lines(self.folder / "samples.jsonl")

    def timing(self, name):
        """Sum over all iterations except the first."""
        return [row["timing"][name] for row in self.rows[1:]]


class Watched(trl.GRPOTrainer):
    """GRPOTrainer that also records its results, the number of token slots, and times."""

    def __init__(self, *more, **named):
        self.seen, self.places, self.useful, self.seconds = [], [], [], []
        super().__init__(*more, **named)
        torch.set_num_threads(1)
        self.add_callback(Clock(self))

    def _get_per_token_logps_and_entropies(self, model, input_ids, attention_mask, logits_to_keep, *more, **named):
        found = super()._get_per_token_logps_and_entropies(
            model, input_ids, attention_mask, logits_to_keep, *more, **named
        )
        self.places.append(attention_mask.numel())
        self.useful.append(int(attention_mask.sum()))
        if model is not self.ref_model:
            self.seen.append((input_ids, attention_mask, found[0].detach()))
        return found


class Clock(transformers.TrainerCallback):
    def __init__(self, trainer):
        self.trainer, self.begin = trainer, 0

    def on_step_begin(self, *_, **__):
        self.begin = time.perf_counter()

    def on_step_end(self, *_, **__):
        self.trainer.seconds.append(time.perf_counter() - self.begin)


def trainer_of(folder, model, tokenizer, prompts, reward, rollout=None, **settings):
    arguments = trl.GRPOConfig(
        output_dir=str(folder / "trl"), use_cpu=True, bf16=False, fp16=False, gradient_checkpointing=False,
        lr_scheduler_type="constant", num_iterations=1, temperature=1.0, top_k=0, top_p=1.0, disable_dropout=True,
        use_bias_correction_kl=False,
        report_to="none", save_strategy="no", logging_steps=1, disable_tqdm=True, **OPTIMIZER, **settings,
    )  # fmt: skip
    trainer = Watched(
        model=model, reward_funcs=reward, args=arguments, processing_class=tokenizer, rollout_func=rollout,
        train_dataset=datasets.Dataset.from_list([{"prompt": prompt} for prompt in prompts]),
    )  # fmt: skip
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def logged(trainer, name):
    return [row[name] for row in trainer.state.log_history if name in row]


# replay

REPLAYS = {  # name: (Dovetail's algorithm, its loss, the reward of a right answer; TRL's settings)
    "grpo": (
        "{name: grpo, reward: rule}", "weigh: sequences, advantage: group", 100,
        {"loss_type": "grpo", "scale_rewards": "group", "beta": 0.04},
    ),
    "bnpo": (
        "{name: grpo, reward: rule, reference: skip}", "weigh: tokens, advantage: none", 1,
        {"loss_type": "bnpo", "scale_rewards": "none", "beta": 0.0},
    ),
    "dr_grpo": (
        "{name: grpo, reward: rule}", "weigh: constant, advantage: none", 1,
        {"loss_type": "dr_grpo", "scale_rewards": "none", "beta": 0.04},
    ),
}  # fmt: skip
PROMPTS, COPIES, CAP = 16, 8, 12


def replayed(folder, samples, settings):
    """Returns TRL's trainer after training on `samples` in their order."""
    turns = {}
    for row in samples:
        turns.setdefault(row["iteration"], []).append(row)
    left = iter(turns.values())
    current = []

    def rollout(prompts, _):
        current[:] = next(left)
        assert len(prompts) == len(current)
        return {
            "prompt_ids": [row["prompt_tokens"] for row in current],
            "completion_ids": [row["response_tokens"] for row in current],
            "logprobs": None,
        }

    trainer = trainer_of(
        folder, load(folder / "model"), tokenizer_of(folder / "model", "<eos>", "<pad>"), ["0="] * PROMPTS,
        lambda completions, **_: [row["reward"] for row in current], rollout, num_generations=COPIES,
        max_completion_length=CAP, per_device_train_batch_size=PROMPTS * COPIES, gradient_accumulation_steps=1,
        max_steps=len(turns), learning_rate=1e-4, seed=1, **settings,
    )  # fmt: skip
    trainer.train()
    return trainer


def log_probabilities_apart(trainer, samples):
    """Returns the maximum difference. TRL has the texts of an iteration in another order."""
    found = {}
    for iteration, batch in enumerate(trainer.seen, 1):
        for text, real, scores in zip(batch[0], batch[1].bool(), batch[2]):
            found[iteration, tuple(text[real].tolist())] = scores[real[-len(scores) :]]
    apart = 0
    for row in samples:
        scores = found[row["iteration"], tuple(row["prompt_tokens"] + row["response_tokens"])]
        for key in ("sampled", "policy"):
            apart = max(apart, float((torch.tensor(row[key]) - scores).abs().max()))
    return apart


def distance(model, other):
    pairs = zip(model.named_parameters(), other.named_parameters(), strict=True)
    return math.sqrt(sum(float((a - b).detach().double().square().sum()) for (_, a), (_, b) in pairs))


def check_replay(bounds, source, dovetail, folder):
    tiny = source / "examples/train/tiny-grpo"
    shutil.copytree(tiny / "model", folder / "model")
    shutil.copy(tiny / "prompts.jsonl", folder / "data.jsonl")
    workload = f"{{prompts: {PROMPTS}, samples_per_prompt: {COPIES}, prompt_length: 9, response_length: {CAP}}}"
    for name, (algorithm, loss, reward, settings) in REPLAYS.items():
        (folder / "reward.py").write_text(RIGHT.replace("SCALE", str(reward)), encoding="utf-8")
        run = Run(
            dovetail, folder, name, ROLLOUTS.format(loss=loss), algorithm=algorithm, workload=workload, iterations=5,
            rate=1e-4,
        )  # fmt: skip
        samples = run.samples()
        trainer = replayed(folder, samples, settings)
        bounds.hold(f"replay {name}: log-probabilities", log_probabilities_apart(trainer, samples), most=1e-4)
        for row, norm in zip(run.rows, logged(trainer, "grad_norm"), strict=True):
            apart = abs(norm - row["actor_gradient_norm"]) / norm
            bounds.hold(f"replay {name}: gradient norm of iteration {row['iteration']}, relative", apart, most=1e-3)
        moved = distance(trainer.model, load(folder / "model"))
        apart = distance(trainer.model, load(run.folder / "export/actor"))
        bounds.hold(f"replay {name}: change of the weights, by norm", apart / moved, most=1e-2)


# speed


def run_trl(folder, size, tokenizer, prompts, seed):
    """Returns (seconds of the iterations except the first, slots per token of its batches, mean length)."""
    each = size["prompts"] * size["copies"]
    trainer = trainer_of(
        folder, load(folder / "model"), tokenizer, prompts,
        lambda completions, **_: [float(len(text) % 7) for text in completions], num_generations=size["copies"],
        max_completion_length=size["cap"], per_device_train_batch_size=each, gradient_accumulation_steps=1,
        max_steps=size["iterations"], learning_rate=1e-5, seed=seed,
        loss_type="grpo", scale_rewards="group", beta=0.0,
    )  # fmt: skip
    trainer.train()
    length = statistics.mean(logged(trainer, "completions/mean_length")[1:])
    return trainer.seconds[1:], sum(trainer.places) / sum(trainer.useful), length


def run_dovetail(dovetail, folder, size, template, seed):
    """Returns (seconds of the iterations except the first, mean length)."""
    workload = (
        f"{{prompts: {size['prompts']}, samples_per_prompt: {size['copies']}, prompt_length: {size['longest']}, "
        f"response_length: {{mean: {size['cap'] * 0.3:.0f}, sigma: 1, cap: {size['cap']}}}}}"
    )
    run = Run(
        dovetail, folder, f"speed-{seed}", ROLLOUTS.format(loss="weigh: sequences, advantage: group"),
        algorithm="{name: grpo, reward: rule, reference: skip, policy_log_probabilities: engine}", workload=workload,
        iterations=size["iterations"], template=template, seed=seed,
    )  # fmt: skip
    return run.timing("seconds"), statistics.mean(row["response_length"] for row in run.rows[1:])


def check_speed(bounds, dovetail, folder, name, size, prompts, template):
    write_lines(folder / "data.jsonl", [{"prompt": prompt} for prompt in prompts])
    (folder / "reward.py").write_text(REWARD, encoding="utf-8")
    chat = template == "chatml"
    tokenizer = tokenizer_of(folder / "model", *(["<|im_end|>"] * 2 if chat else ["<eos>", "<pad>"]))
    texts = [CHATML.format(prompt) if chat else prompt for prompt in prompts]
    own, other, own_lengths, other_lengths, padded = [], [], [], [], []
    for turn in range(1, size["turns"] + 1):
        seconds, length = run_dovetail(dovetail, folder, size, template, turn)
        own, own_lengths = own + seconds, own_lengths + [length]
        seconds, ratio, length = run_trl(folder, size, tokenizer, texts, turn)
        other, other_lengths, padded = other + seconds, other_lengths + [length], padded + [ratio]
    padded = statistics.mean(padded)
    bounds.hold(f"speed {name}: mean length in TRL, of the cap", statistics.mean(other_lengths) / size["cap"])
    bounds.hold(f"speed {name}: mean length in Dovetail, of the cap", statistics.mean(own_lengths) / size["cap"])
    bounds.hold(f"speed {name}: slots in TRL's batches per token", padded)
    bounds.hold(f"speed {name}: iterations per hour, TRL", 3600 / statistics.median(other))
    bounds.hold(f"speed {name}: iterations per hour, Dovetail", 3600 / statistics.median(own))
    least = 5 if name == "million" else 0.9 * padded
    bounds.hold(f"speed {name}: Dovetail over TRL", statistics.median(other) / statistics.median(own), least=least)


def check_million(bounds, source, dovetail, folder):
    make_model(folder / "model", MILLION, source)
    size = {"prompts": len(TINY_PROMPTS), "copies": 8, "longest": 4, "cap": 100, "iterations": 8, "turns": 3}
    check_speed(bounds, dovetail, folder, "million", size, TINY_PROMPTS, "none")


def check_user(bounds, source, dovetail, folder, model):
    os.symlink(model.resolve(), folder / "model")
    size = {"prompts": len(QUESTIONS), "copies": 4, "longest": 40, "cap": 160, "iterations": 3, "turns": 2}
    check_speed(bounds, dovetail, folder, "model", size, QUESTIONS, "chatml")


# generate

SEQUENCES, PLACES, MOST = 96, 16, 100


class Until(transformers.StoppingCriteria):
    """Ends each sequence of a batch at its own length."""

    def __init__(self, begin, lengths):
        self.begin, self.lengths = begin, torch.tensor(lengths)

    def __call__(self, input_ids, scores, **_):
        return input_ids.shape[1] - self.begin >= self.lengths


def generate(model, rows):
    """Returns the seconds of transformers for texts with the lengths of `rows`."""
    longest = max(len(row["prompt_tokens"]) for row in rows)
    ids = torch.tensor([[0] * (longest - len(row["prompt_tokens"])) + row["prompt_tokens"] for row in rows])
    until = Until(longest, [len(row["response_tokens"]) for row in rows])
    begin = time.perf_counter()
    with torch.no_grad():
        found = model.generate(
            ids, attention_mask=(ids != 0).long(), do_sample=True, top_k=0, max_new_tokens=MOST, eos_token_id=None,
            pad_token_id=0, stopping_criteria=transformers.StoppingCriteriaList([until]),
        )  # fmt: skip
    assert found.shape[1] == longest + max(len(row["response_tokens"]) for row in rows)
    return time.perf_counter() - begin


def check_generate(bounds, source, dovetail, folder, layers):
    ends = list(range(1, SMOLLM2["vocab_size"], 30))
    make_model(folder / "model", {**SMOLLM2, "num_hidden_layers": layers, "eos_token_id": ends}, source)
    (folder / "reward.py").write_text(REWARD, encoding="utf-8")
    write_lines(folder / "data.jsonl", [{"prompt": prompt} for prompt in TINY_PROMPTS])
    run = Run(
        dovetail, folder, "generate", ROLLOUTS.format(loss="weigh: sequences"), iterations=2,
        algorithm="{name: grpo, reward: rule, reference: skip, policy_log_probabilities: engine}",
        workload=f"{{prompts: {SEQUENCES // 4}, samples_per_prompt: 4, prompt_length: 4, response_length: {MOST}}}",
        fixed=f"fixed: {{actor_generate: {{engine: {{max_num_seqs: {PLACES}}}}}}}\n", rate=1e-9,
    )  # fmt: skip
    rows = [row for row in run.samples() if row["iteration"] == 2]
    tokens = sum(len(row["response_tokens"]) for row in rows)
    model = load(folder / "model").eval()
    model.generation_config.eos_token_id = None
    generate(model, rows[:2])
    seconds = sum(generate(model, rows[begin : begin + PLACES]) for begin in range(0, SEQUENCES, PLACES))
    own = run.timing("actor_generate_seconds")[0]
    bounds.hold("generate: mean length, of the cap", tokens / SEQUENCES / MOST)
    bounds.hold("generate: tokens per second, transformers", tokens / seconds)
    bounds.hold("generate: tokens per second, Dovetail", tokens / own)
    bounds.hold("generate: Dovetail over transformers", seconds / own, least=3)


# train

TEXTS, LENGTH = 16, 128


def train_step(model, optimizer, ids):
    optimizer.zero_grad()
    model(ids, labels=ids).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def check_train(bounds, source, dovetail, folder, layers):
    make_model(folder / "model", {**SMOLLM2, "num_hidden_layers": layers}, source)
    words = "good bright kind clear warm fine bad dark cruel dull cold rough".split()
    texts = [" ".join(words[(3 * i + j * j) % 12] for j in range(LENGTH - 1)) for i in range(TEXTS)]
    write_lines(folder / "data.jsonl", [{"text": text} for text in texts])
    tokenizer = tokenizer_of(folder / "model", "<eos>", "<pad>")
    ids = torch.tensor([tokenizer(text)["input_ids"] + [1] for text in texts])
    assert ids.shape == (TEXTS, LENGTH)
    model = load(folder / "model").train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5, (0.9, 0.95), 1e-8, weight_decay=0, fused=True)
    own, other = [], []
    for turn in (1, 2):
        run = Run(
            dovetail, folder, f"train-{turn}", algorithm="sft", iterations=3,
            workload=f"{{prompts: {TEXTS}, prompt_length: 1, response_length: {LENGTH - 1}}}",
        )  # fmt: skip
        own += run.timing("actor_train_seconds")
        timing = run.rows[-1]["timing"]
        assert round(timing["tokens_per_second"] * timing["seconds"]) == ids.numel()
        for step in range(3):
            begin = time.perf_counter()
            train_step(model, optimizer, ids)
            other += [time.perf_counter() - begin] if step else []
    own, other = statistics.median(own), statistics.median(other)
    bounds.hold("train: tokens per second, transformers", ids.numel() / other)
    bounds.hold("train: tokens per second, Dovetail", ids.numel() / own)
    bounds.hold("train: Dovetail over transformers", other / own, least=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail")
    parser.add_argument("--model", metavar="FOLDER", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=NAMES, default=NAMES)
    parser.add_argument("--layers", type=int, default=SMOLLM2["num_hidden_layers"], metavar="N")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore")
    bounds = Bounds()
    rest = (bounds, arguments.source, arguments.dovetail)
    checks = {
        "replay": [check_replay],
        "speed": [check_million] + [lambda *more: check_user(*more, arguments.model)] * (arguments.model is not None),
        "generate": [lambda *more: check_generate(*more, arguments.layers)],
        "train": [lambda *more: check_train(*more, arguments.layers)],
    }
    for name in arguments.only:
        for check in checks[name]:
            with tempfile.TemporaryDirectory(prefix="dovetail-peers-") as folder:
                check(*rest, Path(folder))
    print(f"{bounds.faults} differences")
    sys.exit(1 if bounds.faults else 0)


if __name__ == "__main__":
    main()
