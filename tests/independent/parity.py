#!/usr/bin/env python3
"""Compares Dovetail with the transformers library on random models of three families and a given model.

usage: parity.py SOURCE DOVETAIL [--model FOLDER] [--only NAME...] [--device cuda]

Compares for each model: log-probabilities of Dovetail's samples, 64 tokens at temperature 0, every gradient of
supervised training, losses and norms of five AdamW steps, and the exported folder as loaded by transformers. Needs
a Python with transformers and torch 2.4 or newer. Exits with 1 if anything differs.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers

SHAPE = {
    "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 32, "max_position_embeddings": 128, "initializer_range": 0.15,
    "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0,
}  # fmt: skip
LLAMA_3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
MODELS = {
    "llama": lambda: transformers.LlamaConfig(**SHAPE, tie_word_embeddings=False),
    "llama-3.1": lambda: transformers.LlamaConfig(**SHAPE, tie_word_embeddings=False, rope_scaling=LLAMA_3),
    "qwen2": lambda: transformers.Qwen2Config(**SHAPE, tie_word_embeddings=True),
}
JOB = """format: dovetail/job@1
name: parity
algorithm: {algorithm}
models: {{actor: model}}
workload: {workload}
cluster: {{nodes: 1, gpus_per_node: 1, gpu: {{name: CPU, memory: 16GiB, bandwidth: 20GB/s, bf16: 100GFLOP/s}}}}
software: {{framework: dovetail}}
train:
  iterations: {iterations}
  data: {{train: {data}, validation: {data}, template: {template}}}
  weights: {{actor: model}}
  optimizer: {{actor: {optimizer}}}
  evaluate: {{every: {iterations}}}
"""
REWARD = """import json, sys
for line in sys.stdin:
    sample = json.loads(line)
    print(json.dumps({"id": sample["id"], "reward": len(sample["response"]) % 7}), flush=True)
"""
GREEDY = 64


def make_model(name, folder, source):
    """Creates a random model, including random norms and biases, with the tokenizer of tiny-sft."""
    torch.manual_seed(1)
    config = MODELS[name]()
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    shutil.copy(source / "examples/train/tiny-sft/model/tokenizer.json", folder)


def load(folder):
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True
    )
    # torch does not train the padding token's embedding, even if that token ends each turn of a chat.
    model.get_input_embeddings().padding_idx = None
    wrong = {key: report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys") if report[key]}
    return model.eval(), wrong


class Parity:
    def __init__(self, source, dovetail, device, folder, name, template):
        self.source, self.dovetail, self.device = source, dovetail, device
        self.folder, self.name, self.template = folder, name, template
        self.model, wrong = load(folder / "model")
        self.faults = 0
        self.hold("tensors missing for transformers", float(len(wrong)), 0)
        (folder / "reward.py").write_text(REWARD, encoding="utf-8")

    def hold(self, what, distance, tolerance):
        ok = distance <= tolerance
        self.faults += not ok
        print(f"{self.name}: {what}: {distance:.2e}{'' if ok else f'  WRONG, at most {tolerance:g}'}", flush=True)

    def run(self, out, data, more="", **settings):
        job = self.folder / f"{out}.yaml"
        job.write_text(JOB.format(data=data, template=self.template, **settings) + more, encoding="utf-8")
        command = [self.dovetail, "train", job, "-o", self.folder / out, "--device", self.device]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {out} ended with {done.returncode}: {done.stderr[-2000:]}")
        return self.folder / out

    def sample(self, out, prompts, workload, more):
        lines = "".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts)
        (self.folder / "prompts.jsonl").write_text(lines, encoding="utf-8")
        run = self.run(
            out, "prompts.jsonl", more + "  reward: {command: [python3, reward.py]}\n", iterations=1, workload=workload,
            algorithm="{name: grpo, reward: rule}", optimizer="{learning_rate: 1e-6}",
        )  # fmt: skip
        return [json.loads(line) for line in (run / "samples.jsonl").read_text(encoding="utf-8").splitlines()]

    def log_probabilities(self, model, prompt, response):
        logits = model(torch.tensor([prompt + response])).logits[0, len(prompt) - 1 : -1]
        return torch.log_softmax(logits, -1).gather(1, torch.tensor(response)[:, None])[:, 0]

    def check_samples(self, prompts):
        workload = f"{{prompts: {len(prompts)}, samples_per_prompt: 4, prompt_length: 20, response_length: 40}}"
        apart = 0
        with torch.no_grad():
            for row in self.sample("sampled", prompts, workload, ""):
                expected = self.log_probabilities(self.model, row["prompt_tokens"], row["response_tokens"])
                for key in ("sampled", "reference"):
                    apart = max(apart, float((torch.tensor(row[key]) - expected).abs().max()))
        self.hold("log-probabilities", apart, 1e-4)

    def check_greedy(self, prompts):
        workload = f"{{prompts: {len(prompts)}, samples_per_prompt: 2, prompt_length: 20, response_length: {GREEDY}}}"
        different = 0
        rows = self.sample("greedy", prompts, workload, f"  sampling: {{temperature: 0, min_tokens: {GREEDY}}}\n")
        with torch.no_grad():
            for row in rows:
                prompt, sampled = row["prompt_tokens"], row["response_tokens"]
                expected = self.model.generate(
                    torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                    do_sample=False, max_new_tokens=GREEDY, min_new_tokens=GREEDY,
                )[0, len(prompt) :].tolist()  # fmt: skip
                if sampled == expected:
                    continue
                first = next(i for i, (own, other) in enumerate(zip(sampled, expected)) if own != other)
                logits = self.model(torch.tensor([prompt + sampled[:first]])).logits[0, -1]
                different += abs(float(logits[sampled[first]] - logits[expected[first]])) > 1e-5
        self.hold(f"greedy texts of {len(rows)} that differ", float(different), 0)

    def batch(self, examples):
        """Tokenizes `examples` with the tokenizers library: (prompt, response with its end token)."""
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(self.folder / "model/tokenizer.json"))
        for example in examples:
            texts = [example["prompt"], example["response"]]
            if self.template == "chatml":
                texts = [f"<|im_start|>user\n{texts[0]}<|im_end|>\n<|im_start|>assistant\n", texts[1] + "<|im_end|>\n"]
            prompt, response = (tokenizer.encode(text, add_special_tokens=False).ids for text in texts)
            yield prompt, response + ([] if self.template == "chatml" else [self.model.config.eos_token_id])

    def loss(self, model, batch):
        total = sum(-self.log_probabilities(model, prompt, response).sum() for prompt, response in batch)
        return total / sum(len(response) for _, response in batch)

    def supervised(self, out, examples, iterations, optimizer):
        lines = "".join(json.dumps(example) + "\n" for example in examples)
        (self.folder / "texts.jsonl").write_text(lines, encoding="utf-8")
        workload = f"{{prompts: {len(examples)}, prompt_length: 20, response_length: 40}}"
        run = self.run(
            out, "texts.jsonl", iterations=iterations, algorithm="sft", workload=workload, optimizer=optimizer
        )  # fmt: skip
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        exported, wrong = load(run / "export/actor")
        self.hold(f"{out}: exported tensors missing for transformers", float(len(wrong)), 0)
        evaluation = json.loads((run / "eval.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        with torch.no_grad():
            loss = float(self.loss(exported, list(self.batch(examples))))
        self.hold(f"{out}: loss of the export, relative", abs(loss - evaluation["loss"]) / abs(loss), 1e-5)
        return rows, exported

    def check_gradients(self, examples):
        """With a large epsilon, the first AdamW step reveals the gradient: the step is rate g / (|g| + epsilon)."""
        rate, epsilon = 10, 1
        settings = f"{{learning_rate: {rate:.0f}, epsilon: {epsilon:.0f}, clip: none}}"
        rows, exported = self.supervised("gradient", examples, 1, settings)
        model, _ = load(self.folder / "model")
        # In double precision: a tensor's gradient in torch's single precision is 8e-5 away from it, Dovetail's 8e-6.
        model.double()
        self.loss(model, list(self.batch(examples))).backward()
        worst, whole, every = 0, 0, 0
        for (name, before), after in zip(model.named_parameters(), exported.parameters()):
            expected = before.grad
            step = before.detach() - after.detach().double()
            found = step * epsilon / (rate - step.abs())
            # A weight stores a step only up to the rounding of the weight.
            rounding = float(before.detach().abs().max()) * 1e-7 * epsilon / rate * math.sqrt(before.numel())
            apart, norm = float((found - expected).norm()), float(expected.norm())
            worst = max(worst, (apart - rounding) / norm)
            whole, every = whole + apart**2, every + norm**2
        self.hold("gradients of all tensors, by norm", math.sqrt(whole / every), 1e-4)
        self.hold("gradient of a tensor, by norm, worst case", worst, 1e-4)
        norm = rows[0]["actor_gradient_norm"]
        self.hold("gradient norm, relative", abs(norm - math.sqrt(every)) / norm, 1e-4)

    def check_steps(self, examples):
        rate = 1e-3 if self.name in MODELS else 1e-5
        rows, exported = self.supervised("steps", examples, 5, f"{{learning_rate: {rate}, weight_decay: 0.1}}")
        model, _ = load(self.folder / "model")
        begin = [parameter.detach().clone() for parameter in model.parameters()]
        # Weight decay applies to norms and biases as well.
        optimizer = torch.optim.AdamW(model.parameters(), rate, (0.9, 0.95), 1e-8, weight_decay=0.1)
        for row in rows:
            optimizer.zero_grad()
            loss = self.loss(model, list(self.batch(examples)))
            loss.backward()
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
            optimizer.step()
            loss = float(loss.detach())
            self.hold(f"loss of step {row['iteration']}, relative", abs(loss - row["actor_loss"]) / loss, 1e-4)
            self.hold(f"norm of step {row['iteration']}, relative", abs(norm - row["actor_gradient_norm"]) / norm, 1e-3)
        moved = [(a - b).detach().double() for a, b in zip(model.parameters(), begin)]
        apart = [(a - b).detach().double() for a, b in zip(model.parameters(), exported.parameters())]
        ratio = math.sqrt(sum(float((t * t).sum()) for t in apart) / sum(float((t * t).sum()) for t in moved))
        self.hold("change of the weights, by norm", ratio, 1e-2)


def examples_of(source, name):
    """Returns (prompts, texts to learn)."""
    if name in MODELS:
        texts = (source / "examples/train/tiny-sft/held-out.jsonl").read_text(encoding="utf-8").splitlines()
        examples = [json.loads(line) for line in texts[:12]]
        return [example["prompt"] for example in examples[:8]], examples
    texts = (source / "examples/train/smollm2/prompts.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line)["prompt"] for line in texts[:4]]
    answers = ["A ship.", "It depends, but about three days are enough.", "No: nobody knows that.", "Yes, 12 of them."]
    return prompts, [{"prompt": prompt, "response": answer} for prompt, answer in zip(prompts, answers)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("dovetail")
    parser.add_argument("--model", metavar="FOLDER", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=MODELS)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device that Dovetail computes on")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    faults = 0
    for name in (arguments.only or list(MODELS)) if arguments.model is None else ["model"]:
        with tempfile.TemporaryDirectory(prefix="dovetail-parity-") as folder:
            folder = Path(folder)
            if name in MODELS:
                make_model(name, folder / "model", arguments.source)
            else:
                os.symlink(arguments.model.resolve(), folder / "model")
            template = "none" if name in MODELS else "chatml"
            parity = Parity(arguments.source, arguments.dovetail, arguments.device, folder, name, template)
            prompts, examples = examples_of(arguments.source, name)
            parity.check_samples(prompts)
            parity.check_greedy(prompts)
            parity.check_gradients(examples)
            parity.check_steps(examples)
            faults += parity.faults
    print(f"{faults} differences")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
