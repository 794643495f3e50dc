#!/usr/bin/env python3
"""Compares model.py with loops over single numbers, and its gradients with finite differences.

usage: model_test.py
"""

import json
import math
import struct
import tempfile
import unittest
from pathlib import Path

import torch
from model import Model, read_safetensors

LLAMA = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 11, "rms_norm_eps": 1e-5, "rope_theta": 100.0,
}  # fmt: skip
LLAMA_3 = {
    **LLAMA, "head_dim": 8,
    "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 64},
}  # fmt: skip
QWEN_2 = {**LLAMA, "model_type": "qwen2", "tie_word_embeddings": True}


def random_weights(config, seed):
    """Returns the shape of every tensor of such a model, including norms and biases."""
    generator = torch.Generator().manual_seed(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    size = config.get("head_dim") or hidden // config["num_attention_heads"]
    queries, keys = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        shapes.update({
            prefix + "input_layernorm.weight": (hidden,), prefix + "post_attention_layernorm.weight": (hidden,),
            prefix + "self_attn.q_proj.weight": (queries, hidden), prefix + "self_attn.k_proj.weight": (keys, hidden),
            prefix + "self_attn.v_proj.weight": (keys, hidden), prefix + "self_attn.o_proj.weight": (hidden, queries),
            prefix + "mlp.gate_proj.weight": (inner, hidden), prefix + "mlp.up_proj.weight": (inner, hidden),
            prefix + "mlp.down_proj.weight": (hidden, inner),
        })  # fmt: skip
        if config["model_type"] == "qwen2":
            for name, count in (("q", queries), ("k", keys), ("v", keys)):
                shapes[prefix + f"self_attn.{name}_proj.bias"] = (count,)
    if not config.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return {
        name: (1 if len(shape) == 1 and "bias" not in name else 0)
        + 0.4 * torch.randn(shape, generator=generator, dtype=torch.float64)
        for name, shape in shapes.items()
    }


class Loops:
    """The same transformer, one token at a time, on lists of numbers."""

    def __init__(self, config, weights):
        self.config, self.weights = config, {name: value.tolist() for name, value in weights.items()}

    def norm(self, x, name):
        scale = math.sqrt(sum(a * a for a in x) / len(x) + self.config["rms_norm_eps"])
        return [a / scale * w for a, w in zip(x, self.weights[name])]

    def project(self, x, name):
        bias = self.weights.get(name + ".bias") or [0.0] * len(self.weights[name + ".weight"])
        return [sum(w * a for w, a in zip(row, x)) + b for row, b in zip(self.weights[name + ".weight"], bias)]

    def frequency(self, pair, size):
        turns = self.config["rope_theta"] ** (-2 * pair / size)
        scaling = self.config.get("rope_scaling")
        if scaling is None:
            return turns
        length = scaling["original_max_position_embeddings"]
        wave = 2 * math.pi / turns
        if wave < length / scaling["high_freq_factor"]:
            return turns
        if wave > length / scaling["low_freq_factor"]:
            return turns / scaling["factor"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        part = (length / wave - low) / (high - low)
        return (1 - part) * turns / scaling["factor"] + part * turns

    def turned(self, x, position):
        half = len(x) // 2
        out = [0.0] * len(x)
        for pair in range(half):
            angle = position * self.frequency(pair, len(x))
            turn = complex(math.cos(angle), math.sin(angle)) * complex(x[pair], x[pair + half])
            out[pair], out[pair + half] = turn.real, turn.imag
        return out

    def logits(self, tokens):
        config = self.config
        heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
        size = config.get("head_dim") or config["hidden_size"] // heads
        stream = [list(self.weights["model.embed_tokens.weight"][token]) for token in tokens]
        for layer in range(config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            queries, keys, values = [], [], []
            for position, x in enumerate(stream):
                normal = self.norm(x, prefix + "input_layernorm.weight")
                parts = []
                for name, count in (("q", heads), ("k", shared), ("v", shared)):
                    flat = self.project(normal, prefix + f"self_attn.{name}_proj")
                    parts.append([flat[head * size : (head + 1) * size] for head in range(count)])
                queries.append([self.turned(head, position) for head in parts[0]])
                keys.append([self.turned(head, position) for head in parts[1]])
                values.append(parts[2])
            for position, x in enumerate(stream):
                attended = []
                for head in range(heads):
                    group = head // (heads // shared)
                    scores = [
                        sum(a * b for a, b in zip(queries[position][head], keys[before][group])) / math.sqrt(size)
                        for before in range(position + 1)
                    ]
                    shares = [math.exp(score) for score in scores]
                    for place in range(size):
                        weighed = sum(shares[before] * values[before][group][place] for before in range(position + 1))
                        attended.append(weighed / sum(shares))
                moved = [a + b for a, b in zip(x, self.project(attended, prefix + "self_attn.o_proj"))]
                normal = self.norm(moved, prefix + "post_attention_layernorm.weight")
                gates = [a / (1 + math.exp(-a)) for a in self.project(normal, prefix + "mlp.gate_proj")]
                inner = [a * b for a, b in zip(gates, self.project(normal, prefix + "mlp.up_proj"))]
                stream[position] = [a + b for a, b in zip(moved, self.project(inner, prefix + "mlp.down_proj"))]
        head = "model.embed_tokens" if config.get("tie_word_embeddings") else "lm_head"
        return [self.project(self.norm(x, "model.norm.weight"), head) for x in stream]


class ModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def model(self, config, weights, **more):
        (self.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return Model(self.folder, weights, **more)

    def test_logits_are_those_of_loops_whatever_the_padding(self):
        for seed, config in enumerate((LLAMA, LLAMA_3, QWEN_2)):
            weights = random_weights(config, seed)
            model, loops = self.model(config, weights), Loops(config, weights)
            sequences = [[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], [7], [2, 7, 1, 8, 2, 8, 10]]
            together = model.outputs(sequences)
            for row, sequence in enumerate(sequences):
                expected = torch.tensor(loops.logits(sequence), dtype=torch.float64)
                torch.testing.assert_close(together[row, : len(sequence)], expected, rtol=0, atol=1e-10)

    def test_log_probabilities_and_entropies_are_of_the_token_before(self):
        weights = random_weights(LLAMA, 5)
        prompt, response = [3, 1, 4], [1, 5]
        chosen, entropies = self.model(LLAMA, weights).log_probabilities([prompt, [2]], [response, [7, 7, 7]])
        logits = Loops(LLAMA, weights).logits(prompt + response)
        for place, token in enumerate(response):
            row = logits[len(prompt) - 1 + place]
            total = sum(map(math.exp, row))
            shares = [math.exp(logit) / total for logit in row]
            self.assertAlmostEqual(float(chosen[0][place]), math.log(shares[token]), places=10)
            self.assertAlmostEqual(float(entropies[0][place]), -sum(p * math.log(p) for p in shares), places=10)

    def test_gradients_are_finite_differences(self):
        for seed, config in enumerate((LLAMA_3, QWEN_2)):
            weights = random_weights(config, 10 + seed)
            model = self.model(config, weights)

            def loss(model=model):
                chosen, entropies = model.log_probabilities([[3, 1], [4]], [[1, 5, 9], [2, 6]])
                return torch.cat(chosen).mul(torch.arange(5.0)).sum() + torch.cat(entropies).sum()

            for value in model.weights.values():
                value.requires_grad_(True)
            gradients = dict(zip(model.weights, torch.autograd.grad(loss(), list(model.weights.values()))))
            generator = torch.Generator().manual_seed(seed)
            for name, value in model.weights.items():
                value.requires_grad_(False)
                direction = torch.randn(value.shape, generator=generator, dtype=torch.float64)
                sides = []
                for step in (1e-5, -1e-5):
                    model.weights[name] = value + step * direction
                    sides.append(float(loss()))
                model.weights[name] = value
                expected = (sides[0] - sides[1]) / 2e-5
                found = float((gradients[name] * direction).sum())
                self.assertAlmostEqual(found, expected, delta=1e-6 * max(1, abs(expected)), msg=name)

    def test_values_are_of_the_scalar_head(self):
        weights = random_weights(LLAMA, 7)
        weights["score.weight"] = torch.randn(1, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        (values,) = self.model(LLAMA, weights, scalar=True).values([[3, 1, 4]], [[1, 5]])
        weights["lm_head.weight"] = weights["score.weight"]
        expected = [row[0] for row in Loops(LLAMA, weights).logits([3, 1, 4, 1, 5])][2:]
        torch.testing.assert_close(values, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-10)

    def test_safetensors_are_read_by_their_offsets(self):
        header = json.dumps({
            "__metadata__": {"format": "pt"},
            "b": {"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]},
            "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        }).encode()  # fmt: skip
        content = struct.pack("<Q", len(header)) + header + struct.pack("<ff", 1.5, -2.0) + b"\x80\x3f\x20\xc0"
        (self.folder / "model.safetensors").write_bytes(content)
        tensors = read_safetensors(self.folder / "model.safetensors")
        self.assertEqual(tensors["a"].tolist(), [[1.5, -2.0]])
        self.assertEqual(tensors["b"].tolist(), [1.0, -2.5])


if __name__ == "__main__":
    unittest.main()
