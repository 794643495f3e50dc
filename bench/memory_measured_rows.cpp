#include "memory_measured_rows.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/enum_names.h"
#include "data_rows.h"
#include "llm/bundled_models.h"

namespace dovetail::bench {

constexpr auto names_of(Kind) {
  return std::array{base::EnumName{"allocated", Kind::allocated}, base::EnumName{"reserved", Kind::reserved},
                    base::EnumName{"between_steps", Kind::between_steps}};
}

namespace {

using cost::Conventions;
using llm::Layout;
using llm::Transformer;

Transformer bundled(std::string_view name) { return llm::find_bundled_model(name).value(); }

Transformer with_layers(Transformer model, std::int64_t layers) {
  model.layers = layers;
  return model;
}

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

Transformer nanotron_1b() {
  Transformer model;
  model.name = "llama-1B";
  model.layers = 24;
  model.hidden = 2048;
  model.heads = model.key_value_heads = 32;
  model.head_size = 64;
  model.width = 4096;
  model.vocabulary = 50'257;
  model.tied_embeddings = true;
  return model;
}

Transformer llama_7b_with_adapters() {
  Transformer model = bundled("llama-2-7b");
  model.adapter_rank = 16;
  return model;
}

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

/// Returns the model of a name in the column `shape`: one of these, or a bundled model.
Transformer shape_named(const std::string& name) {
  static const std::map<std::string, std::function<Transformer()>> shapes = {
      {"llama-3-70b-12-layers", [] { return with_layers(bundled("llama-3-70b"), 12); }},
      {"llama-3.1-405b-simumax", llama_405b_of_simumax},
      {"deepseek-v2-simumax", [] { return deepseek_of_simumax("deepseek-v2"); }},
      {"deepseek-v3-simumax", [] { return deepseek_of_simumax("deepseek-v3"); }},
      {"gpt-15b", [] { return gpt("GPT 15B", 6144, 48, 256'000); }},
      {"gpt-7b", gpt_7b},
      {"nanotron-1b", nanotron_1b},
      {"llama-2-7b-lora-16", llama_7b_with_adapters},
      {"moonlight-16b", moonlight}};
  const auto found = shapes.find(name);
  return found == shapes.end() ? bundled(name) : found->second();
}

/// Returns the conventions of a name in the column `conventions`: one of these variants, or a trainer's.
Conventions conventions_named(const std::string& name) {
  if (name == "megatron-dropout") {
    // Megatron-LM's tests of 7B: dropout, and neither fused gradient accumulation nor sequence parallelism.
    Conventions made = cost::find_conventions("megatron").value();
    made.dropout_masks = 2;
    made.dummy_gradient_bytes = 0;
    return made;
  }
  if (name == "megatron-bridge-recomputed-moe-act") {
    Conventions made = cost::find_conventions("megatron-bridge").value();
    made.keeps_expert_product = false;
    return made;
  }
  return cost::find_conventions(name).value();
}

Layout layout_of(const DataRow& row) {
  Layout layout;
  layout.data = row.integer("dp");
  layout.context = row.integer("cp");
  layout.tensor = row.integer("tp");
  layout.pipeline = row.integer("pp");
  layout.virtual_stages = row.integer("vpp");
  layout.expert = row.integer("ep");
  layout.expert_tensor = row.integer("etp");
  layout.zero = row.integer("zero");
  layout.sequence_parallel = row.flag("sequence_parallel");
  layout.recomputation = row.named<llm::Recomputation>("recompute");
  layout.stage_layers = row.integers("stage_layers");
  return layout;
}

/// Returns the measured bytes. They are in the column of the source's unit.
double measured_bytes(const DataRow& row) {
  if (row.has("measured_gib")) return row.number("measured_gib") * gibibyte;
  if (row.has("measured_mib")) return row.number("measured_mib") * 1024.0 * 1024.0;
  return row.number("measured_gb") * 1e9;
}

MeasuredMemory measured_of(const DataRow& row) {
  MeasuredMemory measured;
  measured.section = row.integer("section");
  measured.model_text = row.text("model");
  measured.model = shape_named(row.text("shape"));
  measured.layout = layout_of(row);
  measured.shape.micro_batches = row.integer("micro_batches");
  measured.shape.sequences = row.integer("micro_batch_sequences");
  measured.shape.sequence_length = row.integer("sequence_tokens");
  if (row.has("expert_capacity")) measured.shape.expert_capacity = row.number("expert_capacity");
  measured.conventions = conventions_named(row.text("conventions"));
  measured.kind = row.named<Kind>("kind");
  if (row.has("stage")) measured.stage = row.integer("stage");
  measured.measured = measured_bytes(row);
  measured.note = row.text("note");
  measured.open = row.text("unknown_settings");
  measured.is_modelled = row.flag("modeled");
  return measured;
}

}  // namespace

std::vector<MeasuredMemory> measured_memory() {
  std::vector<MeasuredMemory> rows;
  for (const DataRow& row : read_data("memory_measured.csv")) rows.push_back(measured_of(row));
  return rows;
}

}  // namespace dovetail::bench
