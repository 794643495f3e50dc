"""A Llama or Qwen2 model on plain tensors: padded rows, an explicit mask, gradients by autograd."""

import json
import math
import struct
from pathlib import Path

import torch

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}


def read_safetensors(path):
    """{name: tensor}"""
    content = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        data = bytearray(content[8 + length + begin : 8 + length + end])
        tensors[name] = torch.frombuffer(data, dtype=TYPES[entry["dtype"]]).reshape(entry["shape"]).clone()
    return tensors


class Model:
    """The model of a Hugging Face folder in double precision; `weights` replaces the file's weights if given."""

    def __init__(self, folder, weights=None, scalar=False):
        self.config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        weights = read_safetensors(Path(folder) / "model.safetensors") if weights is None else weights
        self.weights = {name: value.double().clone() for name, value in weights.items()}
        self.scalar = scalar
        if scalar and "score.weight" not in self.weights:
            self.weights["score.weight"] = torch.zeros(1, self.config["hidden_size"], dtype=torch.float64)
        if scalar:
            self.weights.pop("lm_head.weight", None)

    def parameters(self):
        return self.weights

    def norm(self, x, name):
        epsilon = self.config.get("rms_norm_eps", 1e-6)
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon) * self.weights[name]

    def project(self, x, name):
        y = x @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def frequencies(self, size):
        config = self.config
        base = config.get("rope_theta", 10000.0)
        frequency = 1 / base ** (torch.arange(0, size, 2, dtype=torch.float64) / size)
        scaling = config.get("rope_scaling") or {}
        if scaling.get("rope_type", scaling.get("type")) == "llama3":
            old = scaling["original_max_position_embeddings"]
            low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
            wave = 2 * math.pi / frequency
            smooth = ((old / wave - low) / (high - low)).clamp(0, 1)
            frequency = (1 - smooth) * frequency / factor + smooth * frequency
        return frequency

    def turn(self, x, positions):
        """x: [rows, heads, tokens, size]"""
        size = x.shape[-1]
        angle = positions[:, None].double() * self.frequencies(size)
        cosine, sine = torch.cos(angle), torch.sin(angle)
        first, second = x[..., : size // 2], x[..., size // 2 :]
        return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)

    def layer(self, x, index, mask):
        config, prefix = self.config, f"model.layers.{index}."
        rows, tokens, hidden = x.shape
        heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
        size = config.get("head_dim") or hidden // heads
        normal = self.norm(x, prefix + "input_layernorm.weight")

        def split(name, count):
            return self.project(normal, prefix + "self_attn." + name).view(rows, tokens, count, size).transpose(1, 2)

        positions = torch.arange(tokens)
        query, key = self.turn(split("q_proj", heads), positions), self.turn(split("k_proj", shared), positions)
        key, value = (t.repeat_interleave(heads // shared, 1) for t in (key, split("v_proj", shared)))
        scores = query @ key.transpose(-1, -2) / math.sqrt(size)
        shares = torch.softmax(scores.masked_fill(~mask, float("-inf")), -1)
        attended = (shares @ value).transpose(1, 2).reshape(rows, tokens, heads * size)
        x = x + self.project(attended, prefix + "self_attn.o_proj")
        normal = self.norm(x, prefix + "post_attention_layernorm.weight")
        gate = self.project(normal, prefix + "mlp.gate_proj")
        up = self.project(normal, prefix + "mlp.up_proj")
        return x + self.project(gate * torch.sigmoid(gate) * up, prefix + "mlp.down_proj")

    def outputs(self, sequences):
        """Returns logits or values for each token of sequences padded to the longest: [rows, tokens, ...]."""
        longest = max(map(len, sequences))
        tokens = torch.tensor([list(sequence) + [0] * (longest - len(sequence)) for sequence in sequences])
        x = self.weights["model.embed_tokens.weight"][tokens]
        place = torch.arange(longest)
        length = torch.tensor([len(sequence) for sequence in sequences])
        mask = (place[None, :] <= place[:, None])[None, None] & (place[None, None, None] < length[:, None, None, None])
        mask = mask | torch.eye(longest, dtype=torch.bool)[None, None]
        for index in range(self.config["num_hidden_layers"]):
            x = self.layer(x, index, mask)
        x = self.norm(x, "model.norm.weight")
        if self.scalar:
            return (x @ self.weights["score.weight"].T)[..., 0]
        head = self.weights.get("lm_head.weight", self.weights["model.embed_tokens.weight"])
        return x @ head.T

    def log_probabilities(self, prompts, responses):
        """Returns the log-probability of each response token and the entropy at each: two lists of tensors."""
        logs = torch.log_softmax(self.outputs([p + r for p, r in zip(prompts, responses)]), -1)
        chosen, entropies = [], []
        for row, (prompt, response) in enumerate(zip(prompts, responses)):
            here = logs[row, len(prompt) - 1 : len(prompt) - 1 + len(response)]
            chosen.append(here.gather(1, torch.tensor(response)[:, None])[:, 0])
            entropies.append(-(here.exp() * here).sum(-1))
        return chosen, entropies

    def values(self, prompts, responses):
        """Returns the values before each token of a response, and at the last one: a list of tensors."""
        out = self.outputs([p + r for p, r in zip(prompts, responses)])
        return [out[row, len(p) - 1 : len(p) + len(r)] for row, (p, r) in enumerate(zip(prompts, responses))]
