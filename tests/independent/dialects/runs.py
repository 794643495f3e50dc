"""Random RLHF runs in neutral terms: models, batches, devices, layouts, micro-batches, engines.

No code is shared with Dovetail. Model shapes are those of the models' config.json on the hub.
"""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Model:
    """A model by its name on the hub, with its shape in terms of Megatron-LM's flags."""

    name: str
    layers: int
    hidden: int
    width: int
    heads: int
    key_value_heads: int
    vocabulary: int
    query_key_norm: bool = True
    query_bias: bool = False
    tied: bool = False
    experts: int = 0
    active: int = 0
    expert_width: int = 0


MODELS = (
    Model("Qwen/Qwen3-1.7B", 28, 2048, 6144, 16, 8, 151936, tied=True),
    Model("Qwen/Qwen3-8B", 36, 4096, 12288, 32, 8, 151936),
    Model("Qwen/Qwen2.5-7B-Instruct", 28, 3584, 18944, 28, 4, 152064, query_key_norm=False, query_bias=True),
    Model("Qwen/Qwen3-30B-A3B", 48, 2048, 6144, 32, 4, 151936, experts=128, active=8, expert_width=768),
)


@dataclass(frozen=True)
class Layout:
    """How a role is split. The data parallel degrees follow from the devices."""

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    expert_tensor: int = 1
    chunks: int = 1  # per stage
    first_layers: int | None = None
    last_layers: int | None = None
    recomputation: str = "none"

    @property
    def granularity(self):
        """Megatron-LM's word."""
        return "selective" if self.recomputation == "experts" else self.recomputation

    @property
    def copy(self):
        return self.tensor * self.pipeline * self.context


@dataclass(frozen=True)
class Engine:
    tensor: int = 1
    pipeline: int = 1
    spreads_experts: bool = False  # over the ranks of an instance
    share: float = 0.6  # share of memory
    sequences: int = 256
    tokens: int = 8192
    chunked: bool = True
    graphs: bool = True

    @property
    def size(self):
        return self.tensor * self.pipeline


@dataclass(frozen=True)
class Cut:
    """Micro-batches limited by tokens per GPU or by number of sequences."""

    by_tokens: bool
    train: int
    passes: int


@dataclass(frozen=True)
class Run:
    algorithm: str  # grpo, ppo, reinforce++
    reference: bool
    own_pass: bool  # the trainer recomputes the log-probabilities that training starts from
    model: Model
    critic: Model | None
    reward: Model | None
    adapter_rank: int
    prompts: int
    samples: int
    mini_prompts: int
    epochs: int
    packing: bool
    prompt_cap: int
    response_cap: int
    steps_off_policy: int
    nodes: int
    gpus: int
    engine_gpus: int  # separate engine GPUs; 0: engines share the trainer's
    backend: str  # megatron, fsdp
    host_optimizer: bool  # its states stay in host memory, where it steps
    layout: Layout = field(default_factory=Layout)
    cut: Cut = field(default_factory=lambda: Cut(True, 16384, 16384))
    engine: Engine = field(default_factory=Engine)

    @property
    def trainer_gpus(self):
        return self.nodes * self.gpus - self.engine_gpus

    @property
    def data(self):
        return self.trainer_gpus // self.layout.copy

    @property
    def generating_gpus(self):
        return self.engine_gpus or self.trainer_gpus

    @property
    def batch(self):
        return self.prompts * self.samples

    @property
    def mini_batch(self):
        return self.mini_prompts * self.samples

    @property
    def length(self):
        return self.prompt_cap + self.response_cap


class Chance:
    """Choices. The first is the simple one, which most trainers support."""

    def __init__(self, chance):
        self.chance = chance
        self.share_of_plain = chance.choice([0.6, 0.9, 0.95])

    def any(self, *choices):
        return self.chance.choice(choices)

    def rarely(self, plain, *others):
        return plain if not others or self.chance.random() < self.share_of_plain else self.chance.choice(others)

    def up_to(self, most, *choices):
        return self.chance.choice([each for each in choices if each <= most])


def random_devices(chance):
    """Returns nodes, GPUs per node, separate engine GPUs, and steps off policy."""
    nodes, gpus = chance.any((1, 8), (1, 8), (2, 8), (4, 8), (1, 4))
    if chance.any(True, True, False):
        return nodes, gpus, 0, 0
    engines = gpus // 2 if nodes == 1 else nodes // 2 * gpus
    return nodes, gpus, engines, chance.rarely(1, 0, 2)


def random_layout(chance, backend, model, devices):
    heads = model.key_value_heads
    if backend == "fsdp":
        tensor = chance.rarely(1, *(each for each in (2, 4) if each <= min(devices, heads)))
        context = chance.rarely(1, *(each for each in (2, 4) if each * tensor <= devices))
        return Layout(tensor=tensor, context=context, recomputation=chance.any("full", "full", "none"))
    tensor = chance.up_to(min(devices, heads), 1, 2, 2, 4)
    pipeline = chance.up_to(devices // tensor, 1, 1, 2, 4)
    context = chance.up_to(devices // tensor // pipeline, 1, 1, 1, 2)
    layout = Layout(
        tensor=tensor,
        pipeline=pipeline,
        context=context,
        recomputation=chance.any("full", "selective", "none", *("experts" for _ in range(model.experts > 0))),
    )
    if model.experts:
        ranks = devices // pipeline
        expert_tensor = chance.up_to(ranks, 1, 1, tensor)
        layout = replace(layout, expert=chance.up_to(ranks // expert_tensor, 1, 2, 4, 8), expert_tensor=expert_tensor)
    if pipeline > 1 and chance.rarely(False, True):
        layout = replace(layout, first_layers=model.layers // pipeline - (pipeline - 1))
    elif pipeline > 1 and model.layers % (2 * pipeline) == 0 and chance.rarely(False, True):
        layout = replace(layout, chunks=2)
    return layout


def random_engine(chance, model, devices):
    tensor = chance.up_to(min(devices, model.key_value_heads), 1, 2, 4)
    engine = Engine(
        tensor=tensor,
        pipeline=chance.rarely(1, 2) if devices >= 2 * tensor else 1,
        spreads_experts=model.experts > 0 and chance.any(True, False),
        share=chance.any(0.5, 0.6, 0.7, 0.85),
        graphs=chance.any(True, True, False),
    )
    if chance.any(True, False):
        return engine
    return replace(
        engine,
        sequences=chance.any(64, 128, 512),
        tokens=chance.any(4096, 8192, 16384),
        chunked=chance.rarely(True, False),
    )


def random_cut(chance, packing, length, samples):
    """Returns micro-batches for optimizer steps with this many samples per rank."""
    if chance.rarely(packing, not packing):
        train = max(chance.any(length, 16384, 32768), length)
        return Cut(True, train, chance.rarely(train, 2 * train))
    train = chance.up_to(samples, 1, 2, 4)
    return Cut(False, train, chance.rarely(train, 2 * train, 8))


def random_run(source):
    """Returns a run whose sizes divide, so that no trainer rejects it at start."""
    chance = Chance(source)
    backend = chance.any("megatron", "megatron", "fsdp")
    model = chance.any(*(MODELS if backend == "megatron" else MODELS[:3]))
    algorithm = chance.any("grpo", "grpo", "grpo", "ppo", "reinforce++")
    nodes, gpus, engine_gpus, off_policy = random_devices(chance)
    devices = nodes * gpus - engine_gpus
    layout = random_layout(chance, backend, model, devices)
    prompts, samples = chance.any(64, 128, 192, 256), chance.any(4, 8, 16)
    mini_prompts = prompts // chance.any(1, 1, 2)
    packing = chance.rarely(True, False)
    prompt_cap, response_cap = chance.any(512, 1024, 2048), chance.any(1024, 4096, 6144)
    samples_of_rank = mini_prompts * samples // (devices // layout.copy)
    # With layers or chunks per stage set, the critic must be the actor's model.
    other_critic = () if layout.first_layers or layout.chunks > 1 else (MODELS[1],)
    return Run(
        algorithm=algorithm,
        reference=chance.any(True, False),
        own_pass=chance.rarely(True, False),
        model=model,
        critic=None if algorithm != "ppo" else chance.rarely(model, *other_critic),
        reward=chance.rarely(None, MODELS[0]),
        adapter_rank=chance.rarely(0, 16),
        prompts=prompts,
        samples=samples,
        mini_prompts=mini_prompts,
        epochs=chance.rarely(1, 2),
        packing=packing,
        prompt_cap=prompt_cap,
        response_cap=response_cap,
        steps_off_policy=off_policy,
        nodes=nodes,
        gpus=gpus,
        engine_gpus=engine_gpus,
        backend=backend,
        host_optimizer=chance.rarely(False, True),
        layout=layout,
        cut=random_cut(chance, packing, prompt_cap + response_cap, samples_of_rank),
        engine=random_engine(chance, model, engine_gpus or devices),
    )


def changed_run(run, chance):
    """Returns the run with one change that most dialects supporting the run support as well."""
    layout, engine, cut = run.layout, run.engine, run.cut
    return chance.choice(
        [
            replace(run, prompts=2 * run.prompts, mini_prompts=2 * run.mini_prompts),
            replace(run, response_cap=run.response_cap - 16),
            replace(run, prompt_cap=run.prompt_cap - 16),
            replace(run, reference=not run.reference),
            replace(run, layout=replace(layout, recomputation="none" if layout.recomputation == "full" else "full")),
            replace(run, host_optimizer=not run.host_optimizer),
            replace(run, engine=replace(engine, share=0.55)),
            replace(run, engine=replace(engine, graphs=not engine.graphs)),
            replace(run, engine=replace(engine, sequences=engine.sequences // 2)),
            replace(run, cut=Cut(cut.by_tokens, 2 * cut.train, 2 * cut.passes)),
        ]
    )
