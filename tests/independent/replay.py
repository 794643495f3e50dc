#!/usr/bin/env python3
"""Recomputes PPO or GRPO from the inputs and samples of a run, and compares the run with the result.

usage: replay.py RUN [--iterations N] [--plant kl|mask|mean|stop]

RUN is the folder of a run. Its job must use the defaults of its algorithm, except for the settings of the
demonstrations.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import torch
import yaml
from model import Model, read_safetensors

MASK = (1 << 64) - 1


def scatter(x):
    """SplitMix64's finalizer."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Random:
    """xoshiro256** from a seed and a stream; below() by Lemire's multiplication."""

    def __init__(self, seed, stream):
        state = scatter((scatter(seed) + stream) & MASK)
        self.words = []
        for _ in range(4):
            self.words.append(scatter(state))
            state = (state + 0x9E3779B97F4A7C15) & MASK

    def next(self):
        def rotate(x, k):
            return ((x << k) | (x >> (64 - k))) & MASK

        s = self.words
        result = (rotate((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, bound):
        while True:
            product = (self.next() >> 32) * bound
            if product & 0xFFFFFFFF >= (1 << 32) % bound:
                return product >> 32


def permutation(seed, purpose, index, count):
    order, random = list(range(count)), Random(seed, scatter(purpose) ^ index)
    for left in range(count, 1, -1):
        other = random.below(left)
        order[left - 1], order[other] = order[other], order[left - 1]
    return order


# Single precision drifts away from double: tolerance for a token's values after twenty iterations.
DRIFT = 1e-3


class AdamW:
    def __init__(self, parameters, settings, total):
        self.parameters, self.total = parameters, total
        self.rate = float(settings["learning_rate"])
        schedule = settings.get("schedule", {})
        self.shape, self.warmup = schedule.get("name", "constant"), schedule.get("warmup", 0)
        self.minimum = schedule.get("minimum", 0)
        self.betas = settings.get("betas", [0.9, 0.95])
        self.first = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self.second = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self.steps = 0

    def part(self, number):
        """Returns the learning rate factor in mini-batch `number` of the run."""
        if number < self.warmup:
            return (number + 1) / (self.warmup + 1)
        done = min(1, (number - self.warmup) / max(1, self.total - 1 - self.warmup))
        left = {"constant": 1, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[self.shape]
        return self.minimum + (1 - self.minimum) * left

    def step(self, gradients, norm, number):
        part = self.part(number)
        self.steps += 1
        b1, b2 = self.betas
        for name, gradient in gradients.items():
            g = gradient * min(1, 1 / norm)
            self.first[name] = b1 * self.first[name] + (1 - b1) * g
            self.second[name] = b2 * self.second[name] + (1 - b2) * g * g
            first = self.first[name] / (1 - b1**self.steps)
            second = self.second[name] / (1 - b2**self.steps)
            self.parameters[name] = self.parameters[name] - self.rate * part * first / (second.sqrt() + 1e-8)


def gradients_of(model, loss_of):
    """Returns {name: gradient} of a function of the model, and the function's other results."""
    for name, value in model.weights.items():
        model.weights[name] = value.detach().requires_grad_(True)
    loss, more = loss_of()
    names = list(model.weights)
    found = torch.autograd.grad(loss, [model.weights[name] for name in names], allow_unused=True)
    gradients = {n: torch.zeros_like(model.weights[n]) if g is None else g for n, g in zip(names, found)}
    for name, value in model.weights.items():
        model.weights[name] = value.detach()
    return gradients, float(loss.detach()), more


class Replay:
    def __init__(self, run, plant):
        self.run, self.plant = Path(run), plant
        self.job = yaml.safe_load((self.run / "job.yaml").read_text(encoding="utf-8"))
        train, workload = self.job["train"], self.job["workload"]
        algorithm = self.job["algorithm"]
        self.ppo = (algorithm if isinstance(algorithm, str) else algorithm["name"]) == "ppo"
        self.seed = train.get("seed", 1)
        self.mini_batches, self.epochs = workload.get("mini_batches", 1), workload.get("epochs", 1)
        self.kl = train.get("loss", {}).get("kl", {}).get("coefficient", 0.1 if self.ppo else 0.04)
        self.early_stop = train.get("loss", {}).get("early_stop_kl")
        folder = self.run / self.job["folder"]
        self.actor = Model(folder / train["weights"]["actor"])
        self.reference = Model(folder / train["weights"]["actor"])
        self.metrics = [json.loads(line) for line in (self.run / "metrics.jsonl").read_text().splitlines()]
        # `--iterations` may have overridden the job's number.
        iterations = len(self.metrics) if (self.run / "export").exists() else train["iterations"]
        steps = iterations * self.epochs * self.mini_batches
        self.optimizers = {"actor": AdamW(self.actor.weights, train["optimizer"]["actor"], steps)}
        if self.ppo:
            begin = train["weights"].get("critic") or train["weights"].get("reward") or train["weights"]["actor"]
            self.critic = Model(folder / begin, scalar=True)
            self.optimizers["critic"] = AdamW(self.critic.weights, train["optimizer"]["critic"], steps)
        self.samples = {}
        for line in (self.run / "samples.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            self.samples.setdefault(row["iteration"], []).append(row)
        self.moments = [0.0, 0.0, 0.0]  # of returns: sums of means and squares, weight
        self.faults, self.stops = 0, 0

    def compare(self, what, found, expected, tolerance=1e-4):
        if not isinstance(found, float):
            found, expected = torch.as_tensor(found).double(), torch.as_tensor(expected).double()
            scale = max(1.0, float(expected.abs().max()))
            distance = float((found - expected).abs().max()) / scale
        else:
            distance = abs(found - expected) / max(1.0, abs(expected))
        if not distance <= tolerance:
            self.faults += 1
            print(f"{what}: {distance:.2e} apart")

    def scale(self):
        if self.moments[2] == 0:
            return 0.0, 1.0
        mean = self.moments[0] / self.moments[2]
        return mean, math.sqrt(max(1e-4, self.moments[1] / self.moments[2] - mean * mean))

    def settle(self, rows, old, reference, values):
        """Computes advantages and the critic's targets."""
        if not self.ppo:
            advantages = []
            each = len(rows) // len({(row["epoch"], row["prompt_index"]) for row in rows})
            for begin in range(0, len(rows), each):
                rewards = torch.tensor([row["reward"] for row in rows[begin : begin + each]], dtype=torch.float64)
                spread = rewards.std() + 1e-6 if (rewards != rewards[0]).any() else 1
                for row, better in zip(rows[begin : begin + each], (rewards - rewards.mean()) / spread):
                    advantages.append(better.expand(len(row["response_tokens"])))
            return advantages, None
        mean, deviation = self.scale()
        advantages, returns = [], []
        sign = -1 if self.plant == "kl" else 1
        for row, p, q, v in zip(rows, old, reference, values):
            value = v * deviation + mean
            reward = -sign * self.kl * (p - q)
            if row["ended"]:
                reward[-1] += row["reward"]
            after = value[1:].clone()
            if row["ended"]:
                after[-1] = 0
            surprise = reward + after - value[:-1]
            better = torch.zeros_like(surprise)
            last = 0.0
            for t in range(len(surprise) - 1, -1, -1):
                last = float(surprise[t]) + 0.95 * last
                better[t] = last
            advantages.append(better)
            returns.append(better + value[:-1])
        every = torch.cat(returns)
        for i, number in enumerate((float(every.mean()), float((every * every).mean()), 1.0)):
            self.moments[i] = 0.99 * self.moments[i] + 0.01 * number
        mean, deviation = self.scale()
        flat = torch.cat(advantages)
        center, spread = flat.mean(), flat.std(unbiased=False) + 1e-5
        return [(a - center) / spread for a in advantages], [(r - mean) / deviation for r in returns]

    def policy_loss(self, rows, old, reference, advantages):
        prompts, responses = ([row[key] for row in rows] for key in ("prompt_tokens", "response_tokens"))
        new, _ = self.actor.log_probabilities(prompts, responses)
        total = sum(map(len, responses))
        loss, divergence = 0, 0
        for row, n, o, q, a in zip(rows, new, old, reference, advantages):
            ratio = torch.exp(n - o)
            divergence += float((ratio - 1 - (n - o)).detach().sum()) / total
            token = torch.maximum(-a * ratio, -a * ratio.clamp(0.8, 1.2))
            if not self.ppo and "reference" in row:
                token = token + self.kl * (torch.exp(q - n) - 1 - (q - n))
            if self.plant == "mask":
                token = token[1:]
            by_tokens = self.ppo != (self.plant == "mean")
            loss = loss + (token.sum() / total if by_tokens else token.mean() / len(rows))
        return loss, divergence

    def value_loss(self, rows, old, targets):
        prompts, responses = ([row[key] for row in rows] for key in ("prompt_tokens", "response_tokens"))
        loss = 0
        for v, o, target in zip(self.critic.values(prompts, responses), old, targets):
            v, o = v[:-1], o[:-1]
            moved = o + (v - o).clamp(-0.2, 0.2)
            loss = loss + torch.maximum((v - target) ** 2, (moved - target) ** 2).sum() / 2
        return loss / sum(map(len, responses)), 0

    def mini_batches_of(self, iteration, count):
        """Trains on a mini-batch: its number within the run, and the indices of its samples."""
        for epoch in range(self.epochs):
            order = permutation(self.seed, 2, (iteration - 1) * self.epochs + epoch, count)
            for part in range(self.mini_batches):
                each, more = divmod(count, self.mini_batches)
                begin = part * each + min(part, more)
                number = ((iteration - 1) * self.epochs + epoch) * self.mini_batches + part
                yield number, order[begin : begin + each + (part < more)]

    def train(self, role, iteration, count, loss_of):
        losses, norms = [], []
        model, optimizer = (self.actor if role == "actor" else self.critic), self.optimizers[role]
        for number, places in self.mini_batches_of(iteration, count):
            gradients, loss, divergence = gradients_of(model, lambda places=places: loss_of(places))
            norm = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
            losses.append(loss)
            norms.append(norm)
            if self.early_stop is not None and divergence > self.early_stop and self.plant != "stop":
                self.stops += 1
                break
            optimizer.parameters = model.weights
            optimizer.step(gradients, norm, number)
        metrics = self.metrics[iteration - 1]
        self.compare(f"iteration {iteration}, {role} loss", sum(losses) / len(losses), metrics[role + "_loss"])
        # Rounding the initial weights to fp32 once changes a norm by up to 3e-4 if a token with a small ratio dominates
        # it.
        norm = sum(norms) / len(norms)
        self.compare(f"iteration {iteration}, {role} norm", norm, metrics[role + "_gradient_norm"], 1e-3)

    def iterate(self, iteration):
        rows = self.samples[iteration]
        prompts, responses = ([row[key] for row in rows] for key in ("prompt_tokens", "response_tokens"))

        def pick(values, places):
            return [values[place] for place in places]

        with torch.no_grad():
            old, _ = self.actor.log_probabilities(prompts, responses)
            reference, _ = self.reference.log_probabilities(prompts, responses)
            values = self.critic.values(prompts, responses) if self.ppo else None
        for row, o, q, v in zip(rows, old, reference, values or old):
            self.compare(f"iteration {iteration}, log-probabilities", o, row["sampled"], DRIFT)
            if "reference" in row:
                self.compare(f"iteration {iteration}, of the reference", q, row["reference"])
            if self.ppo:
                self.compare(f"iteration {iteration}, values", v, row["values"], DRIFT)
        advantages, targets = self.settle(rows, old, reference, values)
        for row, a in zip(rows, advantages):
            self.compare(f"iteration {iteration}, advantages", a, row["advantages"])
        self.train(
            "actor",
            iteration,
            len(rows),
            lambda p: self.policy_loss(*(pick(each, p) for each in (rows, old, reference, advantages))),
        )
        if self.ppo:
            self.train(
                "critic",
                iteration,
                len(rows),
                lambda p: self.value_loss(*(pick(each, p) for each in (rows, values, targets))),
            )

    def compare_export(self):
        for role, model in [("actor", self.actor)] + ([("critic", self.critic)] if self.ppo else []):
            exported = read_safetensors(self.run / "export" / role / "model.safetensors")
            for name, value in exported.items():
                self.compare(f"weights of {role}, {name}", model.weights[name], value.double())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--plant", choices=["kl", "mask", "mean", "stop"])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    replay = Replay(arguments.run, arguments.plant)
    iterations = min(arguments.iterations, len(replay.metrics))
    for iteration in range(1, iterations + 1):
        replay.iterate(iteration)
    if iterations == len(replay.metrics):
        replay.compare_export()
    print(f"{iterations} iterations, {replay.stops} stopped early: {replay.faults} differences")
    sys.exit(1 if replay.faults else 0)


if __name__ == "__main__":
    main()
