#include "memory_measured_rows.h"

#include <map>
#include <string_view>
#include <utility>

#include "llm/bundled_models.h"

namespace dovetail::bench {
namespace {

using cost::Conventions;
using cost::TrainingShape;
using llm::Layout;
using llm::Transformer;

constexpr double mebibyte = 1024.0 * 1024.0;

Transformer bundled(std::string_view name) { return llm::find_bundled_model(name).value(); }

Transformer with_layers(Transformer model, std::int64_t layers) {
  model.layers = layers;
  return model;
}

Conventions conventions(std::string_view name) { return cost::find_conventions(name).value(); }

Layout layout_of(int data, int tensor, int pipeline, int zero) {
  Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.zero = zero;
  return layout;
}

TrainingShape shape_of(std::int64_t length, std::int64_t sequences, std::int64_t micro_batches) {
  TrainingShape shape;
  shape.sequence_length = length;
  shape.sequences = sequences;
  shape.micro_batches = micro_batches;
  return shape;
}

// Section 1: SimuMax v1.2.

Transformer llama_405b_of_simumax() {
  Transformer model = with_layers(bundled("llama-3.1-405b"), 4);
  model.key_value_heads = 16;
  return model;
}

Transformer deepseek_of_simumax(const char* name) {
  Transformer model = with_layers(bundled(name), 4);
  model.experts->dense_layers = 1;
  return model;
}

void add_simumax(std::vector<MeasuredMemory>& rows) {
  const Transformer small = with_layers(bundled("llama-3-70b"), 12);
  const Transformer large = llama_405b_of_simumax();
  const Transformer v2 = deepseek_of_simumax("deepseek-v2");
  const Transformer v3 = deepseek_of_simumax("deepseek-v3");
  struct Run {
    const char* name;
    const Transformer* model;
    int tensor, pipeline, context, expert, data;
    std::int64_t length;
    std::vector<double> allocated;  // GiB, by stage; one value: the highest
    double reserved;
  };
  const std::vector<Run> runs = {
      {"Llama-3-70B L12", &small, 1, 2, 1, 1, 4, 4096, {66.55, 62.97}, 70.88},
      {"Llama-3-70B L12", &small, 2, 1, 1, 1, 4, 4096, {60.68}, 62.53},
      {"Llama-3-70B L12", &small, 8, 1, 1, 1, 1, 4096, {28.29}, 29.12},
      {"405B L4", &large, 1, 2, 1, 1, 4, 4096, {86.61, 87.08}, 92.26},
      {"405B L4", &large, 2, 1, 1, 1, 4, 4096, {81.59}, 84.70},
      {"DeepSeek-V2 L4", &v2, 1, 1, 1, 8, 8, 4096, {45.63}, 48.79},
      {"DeepSeek-V3 L4", &v3, 1, 2, 1, 4, 4, 4096, {71.24, 114.00}, 118.61},
      {"Llama-3-70B L12", &small, 2, 1, 4, 1, 1, 32768, {68.43}, 70.33},
      {"Llama-3-70B L12", &small, 1, 1, 8, 1, 1, 131072, {147.99}, 159.65},
      {"405B L4", &large, 1, 1, 8, 1, 1, 32768, {139.22}, 152.14},
      {"405B L4", &large, 2, 1, 4, 1, 1, 131072, {118.13}, 127.50},
  };
  for (const Run& run : runs) {
    MeasuredMemory row{1,
                       run.name,
                       *run.model,
                       layout_of(run.data, run.tensor, run.pipeline, 1),
                       shape_of(run.length, 1, 4),
                       conventions("megatron")};
    row.layout.context = run.context;
    row.layout.expert = run.expert;
    row.layout.sequence_parallel = true;
    if (run.model->experts) row.shape.expert_capacity = 1;
    for (std::size_t stage = 0; stage < run.allocated.size(); ++stage) {
      row.stage = run.allocated.size() > 1 ? static_cast<int>(stage) : -1;
      row.measured = run.allocated[stage] * gibibyte;
      rows.push_back(row);
    }
    row.stage = -1;
    row.kind = Kind::reserved;
    row.measured = run.reserved * gibibyte;
    rows.push_back(row);
  }
}

// Section 2: reference values of Megatron-LM's tests. The last rank logs.

Transformer gpt(const char* name, std::int64_t hidden, std::int64_t heads, std::int64_t vocabulary) {
  Transformer model;
  model.name = name;
  model.layers = 32;
  model.hidden = hidden;
  model.heads = heads;
  model.key_value_heads = 8;
  model.head_size = 128;
  model.width = 4 * hidden;
  model.vocabulary = vocabulary;
  model.feed_forward = llm::FeedForward::plain;
  model.normalization = llm::Normalization::layer;
  return model;
}

Transformer gpt_7b() {
  Transformer model = gpt("GPT 7B", 4096, 32, 131'073);
  model.positions = 8192;
  model.query_key_value_bias = model.attention_output_bias = model.feed_forward_bias = true;
  return model;
}

/// The 7B tests: dropout, and neither fused gradient accumulation nor sequence parallelism.
Conventions megatron_with_dropout() {
  Conventions made = conventions("megatron");
  made.dropout_masks = 2;
  made.dummy_gradient_bytes = 0;
  return made;
}

void add_megatron_tests(std::vector<MeasuredMemory>& rows) {
  const auto add = [&rows](MeasuredMemory row, double static_gib, double h100_gib, double a100_gib) {
    row.stage = row.layout.pipeline - 1;
    for (const auto& [gpu, peak] : {std::pair{"H100", h100_gib}, std::pair{"A100", a100_gib}}) {
      row.note = gpu;
      row.measured = peak * gibibyte;
      rows.push_back(row);
    }
    row.note = "H100";
    row.kind = Kind::between_steps;
    row.measured = static_gib * gibibyte;
    rows.push_back(row);
  };
  MeasuredMemory row{2,
                     "GPT 15B",
                     gpt("GPT 15B", 6144, 48, 256'000),
                     layout_of(32, 8, 1, 1),
                     shape_of(4096, 4, 3),
                     conventions("megatron")};
  row.layout.sequence_parallel = true;
  add(row, 12.36, 26.23, 26.44);
  row = {2, "GPT 7B", gpt_7b(), layout_of(2, 4, 1, 1), shape_of(8192, 2, 2), megatron_with_dropout()};
  add(row, 19.24, 53.22, 54.19);
  row.layout = layout_of(2, 1, 4, 1);
  row.layout.virtual_stages = 8;
  row.shape = shape_of(8192, 1, 4);
  add(row, 23.11, 56.55, 56.33);
  row = {2,
         "Mixtral 8x7B",
         bundled("mixtral-8x7b"),
         layout_of(8, 2, 4, 1),
         shape_of(4096, 1, 32),
         conventions("megatron")};
  row.layout.virtual_stages = 8;
  row.layout.expert = 8;
  row.layout.sequence_parallel = true;
  add(row, 18.39, 33.07, 33.43);
  row.model_text = "Mixtral 8x22B";
  row.model = bundled("mixtral-8x22b");
  row.layout.pipeline = 8;
  row.layout.virtual_stages = 1;
  row.layout.expert_tensor = 2;
  add(row, 21.42, 26.57, 26.23);
}

// Section 3: nanotron's benchmark of a llama of 1B. Rank 0 logs, which is on stage 0.

void add_nanotron(std::vector<MeasuredMemory>& rows) {
  Transformer model;
  model.name = "llama-1B";
  model.layers = 24;
  model.hidden = 2048;
  model.heads = model.key_value_heads = 32;
  model.head_size = 64;
  model.width = 4096;
  model.vocabulary = 50'257;
  model.tied_embeddings = true;
  // The layers of the first stage are known. The division of the others does not affect it.
  const std::map<int, std::vector<int>> stages = {{1, {}},
                                                  {2, {14, 10}},
                                                  {4, {7, 7, 7, 3}},
                                                  {8, {4, 3, 3, 3, 3, 3, 3, 2}},
                                                  {16, {2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1}}};
  struct Run {
    int data, tensor, pipeline, sequences;
    double now, allocated, reserved;  // MiB
  };
  constexpr Run runs[] = {
      {1, 1, 8, 4, 4717, 44034, 44472},  {2, 1, 4, 2, 4613, 21843, 22742},  {2, 2, 2, 1, 4035, 8570, 9170},
      {1, 4, 2, 8, 3049, 25707, 26100},  {2, 4, 1, 8, 3280, 25808, 27166},  {1, 8, 1, 32, 2490, 60096, 60780},
      {16, 1, 1, 4, 7253, 42900, 44042}, {1, 1, 16, 2, 3274, 22941, 23444}, {1, 8, 2, 16, 1573, 31526, 31874}};
  for (const Run& run : runs) {
    MeasuredMemory row{3,
                       "llama-1B",
                       model,
                       layout_of(run.data, run.tensor, run.pipeline, 1),
                       shape_of(4096, run.sequences, 1024 / (run.data * run.sequences)),
                       conventions("nanotron")};
    row.layout.sequence_parallel = true;
    row.layout.stage_layers = stages.at(run.pipeline);
    row.stage = 0;
    for (const auto& [kind, value] :
         {std::pair{Kind::allocated, run.allocated}, std::pair{Kind::reserved, run.reserved},
          std::pair{Kind::between_steps, run.now}}) {
      row.kind = kind;
      row.measured = value * mebibyte;
      rows.push_back(row);
    }
  }
}

// Section 4: ATorch. Rank 0 logs.

void add_atorch(std::vector<MeasuredMemory>& rows) {
  const auto add = [&rows](MeasuredMemory row, int data, double allocated) {
    row.layout.data = data;
    row.layout.recomputation = llm::Recomputation::full;
    row.stage = 0;
    row.measured = allocated * mebibyte;
    rows.push_back(row);
  };
  MeasuredMemory fsdp{
      4, "Llama-2-7B", bundled("llama-2-7b"), layout_of(1, 1, 1, 3), shape_of(4096, 4, 1), conventions("fsdp1")};
  add(fsdp, 8, 39596.3);
  add(fsdp, 32, 32366.8);
  fsdp.model.adapter_rank = 16;
  fsdp.note = "LoRA";
  add(fsdp, 8, 33354.1);
  MeasuredMemory pipeline{4,
                          "Llama-2-7B",
                          bundled("llama-2-7b"),
                          layout_of(1, 1, 2, 1),
                          shape_of(4096, 8, 64),
                          conventions("deepspeed-3d")};
  add(pipeline, 4, 40006.9);
  pipeline.layout.tensor = 2;
  add(pipeline, 2, 31132.3);
  add(pipeline, 8, 23901.8);
}

// Section 5: torchtitan. Reserved memory, maximum over all GPUs.

void add_torchtitan(std::vector<MeasuredMemory>& rows) {
  const auto add = [&rows](MeasuredMemory row, llm::Recomputation recomputation, const char* note, double reserved,
                           const char* open = "") {
    row.layout.recomputation = recomputation;
    row.layout.sequence_parallel = row.layout.tensor > 1;
    row.kind = Kind::reserved;
    row.note = note;
    row.open = open;
    row.measured = reserved * gibibyte;
    rows.push_back(row);
  };
  MeasuredMemory row{5,
                     "Llama-3.1-8B",
                     bundled("llama-3.1-8b"),
                     layout_of(8, 1, 1, 3),
                     shape_of(8192, 2, 1),
                     conventions("torchtitan")};
  add(row, llm::Recomputation::selective, "eager", 82.4);
  add(row, llm::Recomputation::selective, "compiled", 77.0);
  row.layout.data = 128;
  add(row, llm::Recomputation::selective, "compiled", 62.0);
  row.layout.data = 8;
  row.shape = shape_of(32768, 1, 1);
  add(row, llm::Recomputation::full, "compiled, fp8", 83.9);
  row.layout.data = 1;
  row.layout.context = 8;
  row.shape = shape_of(262144, 1, 1);
  add(row, llm::Recomputation::full, "compiled, fp8", 84.5);
  row = {5,
         "Llama-3.1-70B",
         bundled("llama-3.1-70b"),
         layout_of(32, 8, 1, 3),
         shape_of(8192, 16, 1),
         conventions("torchtitan")};
  add(row, llm::Recomputation::full, "compiled, fp8", 71.9);
  row = {5,
         "Llama-3.1-405B",
         bundled("llama-3.1-405b"),
         layout_of(8, 8, 8, 3),
         shape_of(8192, 4, 8),
         conventions("torchtitan")};
  row.layout.stage_layers = {16, 16, 16, 16, 16, 16, 15, 15};
  add(row, llm::Recomputation::full, "compiled, fp8, 1F1B", 82.5);
  row.layout.stage_layers.clear();
  row.layout.virtual_stages = 2;
  add(row, llm::Recomputation::full, "compiled, fp8, interleaved", 72.7, "virtual stages not given (2 assumed)");
}

// Section 6: Megatron-Bridge and PithTrain.

Transformer moonlight() {
  Transformer model = bundled("deepseek-v3");
  model.name = "Moonlight-16B";
  model.layers = 27;
  model.hidden = 2048;
  model.heads = model.key_value_heads = 16;
  model.width = 11264;
  model.vocabulary = 163'840;
  model.latent->query_rank = 0;
  model.experts = llm::Experts{64, 6, 1408, 2816, false, 1, true};
  return model;
}

void add_bridge(std::vector<MeasuredMemory>& rows) {
  MeasuredMemory row{
      6, "Moonlight-16B", moonlight(), layout_of(4, 2, 1, 1), shape_of(4096, 1, 1), conventions("megatron-bridge")};
  row.layout.expert = 8;
  row.layout.sequence_parallel = true;
  row.measured = 36.618e9;
  rows.push_back(row);
  row.conventions.keeps_expert_product = false;
  row.note = "recomputes moe_act";
  row.measured = 35.941e9;
  rows.push_back(row);
  row = {6,
         "Qwen3-30B-A3B",
         bundled("qwen3-30b-a3b"),
         layout_of(16, 1, 1, 1),
         shape_of(4096, 1, 64),
         conventions("megatron-bf16-gradients")};
  row.layout.expert = 16;
  row.measured = 62.166 * gibibyte;
  rows.push_back(row);
  row = {6,
         "Llama-3-70B SFT",
         bundled("llama-3-70b"),
         layout_of(2, 4, 4, 1),
         shape_of(4096, 1, 16),
         conventions("megatron-bridge")};
  row.layout.virtual_stages = 5;
  row.layout.sequence_parallel = true;
  row.open = "types of weights, gradients and moments, and the fp8 recipe";
  row.measured = 58.8e9;
  rows.push_back(row);
  row.layout.data = 1;
  row.layout.pipeline = 8;
  row.shape.micro_batches = 32;
  row.measured = 53.2e9;
  rows.push_back(row);
  row = {6,
         "Qwen3-30B-A3B",
         bundled("qwen3-30b-a3b"),
         layout_of(8, 1, 4, 3),
         shape_of(4096, 1, 128),
         conventions("megatron")};
  row.layout.expert = 8;
  row.note = "PithTrain, DualPipeV";
  row.open = "kind of peak, batch and sequence length";
  row.is_modelled = false;
  for (const auto& [stage, peak] : {std::pair{0, 62.3}, std::pair{1, 58.0}}) {
    row.stage = stage;
    row.measured = peak * gibibyte;
    rows.push_back(row);
  }
}

}  // namespace

std::vector<MeasuredMemory> measured_memory() {
  std::vector<MeasuredMemory> rows;
  add_simumax(rows);
  add_megatron_tests(rows);
  add_nanotron(rows);
  add_atorch(rows);
  add_torchtitan(rows);
  add_bridge(rows);
  return rows;
}

}  // namespace dovetail::bench
