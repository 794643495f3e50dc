#include "runtime/generation/forward_cpu.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "kernels/cached_attention.h"
#include "kernels/rows.h"
#include "runtime/model/share_out.h"

namespace dovetail::runtime {
namespace {

float* data_of(const Tensor& tensor) { return tensor.data_ptr<float>(); }

Tensor normalize_rows(const Tensor& x, const Parameter& scale, double epsilon) {
  Tensor out = at::empty(x.sizes(), x.options());
  const std::int64_t size = scale.value.numel();
  kernels::normalize(data_of(x), data_of(scale.value), x.numel() / size, size, epsilon, data_of(out));
  return out;
}

/// One step through all layers.
class CpuStep {
 public:
  CpuStep(const Model& model, const BlockCache& cache, const StepRows& rows)
      : model_(model), cache_(cache), rows_(rows), shape_(model.weights.shape) {
    DOVETAIL_ASSERT(cache.block_tokens() == kernels::attention_block);
    for (std::size_t part = 0; part < rows.parts.size(); ++part)
      for (std::int64_t i = 0; i < rows.parts[part].rows; ++i) {
        part_of_.push_back(part);
        positions_.push_back(rows.parts[part].position + i);
      }
    angles_ = angles_of(model.weights.computation, shape_.head_size, positions_, model.embedding->value.options());
  }

  Tensor logits() const {
    Tensor x = embedded();
    for (std::int64_t index = 0; index < shape_.layers; ++index) x = through_layer(index, x);
    Tensor asked = at::empty({static_cast<std::int64_t>(rows_.asked.size()), shape_.hidden}, x.options());
    copy_rows(x, rows_.asked, asked);
    return project(model_.head, normalize_rows(asked, *model_.final_norm, epsilon()));
  }

 private:
  double epsilon() const { return model_.weights.computation.norm_epsilon; }
  std::int64_t count() const { return static_cast<std::int64_t>(positions_.size()); }

  static void copy_rows(const Tensor& from, const std::vector<std::int64_t>& rows, const Tensor& to) {
    const std::int64_t size = from.size(1);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(data_of(to) + static_cast<std::int64_t>(i) * size, data_of(from) + rows[i] * size,
                  static_cast<std::size_t>(size) * sizeof(float));
  }

  Tensor embedded() const {
    Tensor x = at::empty({count(), shape_.hidden}, model_.embedding->value.options());
    copy_rows(model_.embedding->value, rows_.tokens, x);
    return x;
  }

  Tensor heads_of(const Linear& linear, const Parameter* norm, const Tensor& normal) const {
    Tensor heads = project(linear, normal);
    if (norm != nullptr) heads = normalize_rows(heads, *norm, epsilon());
    const std::int64_t of_row = heads.size(1) / shape_.head_size;
    const std::int64_t half = shape_.head_size / 2;
    for (std::int64_t row = 0; row < count(); ++row)
      kernels::rotate(data_of(heads) + row * heads.size(1), of_row, shape_.head_size,
                      data_of(angles_.cosines) + row * half, data_of(angles_.sines) + row * half);
    return heads;
  }

  /// Puts the rows' keys and values into the layer's blocks.
  void put(std::int64_t layer, const Tensor& keys, const Tensor& values) const {
    const std::int64_t size = shape_.head_size;
    const std::int64_t tokens = cache_.block_tokens();
    const std::int64_t heads = shape_.key_value_heads;
    float* const key_pool = data_of(cache_.keys(layer));
    float* const value_pool = data_of(cache_.values(layer));
    for (std::int64_t row = 0; row < count(); ++row) {
      const StepPart& part = rows_.parts[part_of_[static_cast<std::size_t>(row)]];
      if (part.is_cached) continue;
      const BlockTable::Place place = part.blocks->place_of(positions_[static_cast<std::size_t>(row)], tokens);
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t block = (place.block * heads + head) * size * tokens;
        const std::int64_t from = (row * heads + head) * size;
        for (std::int64_t i = 0; i < size; ++i) key_pool[block + i * tokens + place.token] = data_of(keys)[from + i];
        std::memcpy(value_pool + block + place.token * size, data_of(values) + from,
                    static_cast<std::size_t>(size) * sizeof(float));
      }
    }
  }

  /// The blocks of a sequence for one head of a layer.
  void list_blocks(std::int64_t layer, const BlockTable& table, std::int64_t head,
                   std::vector<kernels::AttentionBlock>& blocks) const {
    const std::int64_t tokens = cache_.block_tokens();
    const float* const key_pool = data_of(cache_.keys(layer));
    const float* const value_pool = data_of(cache_.values(layer));
    blocks.clear();
    const auto add = [&](std::int64_t block, std::int64_t count) {
      const std::int64_t at = (block * shape_.key_value_heads + head) * shape_.head_size * tokens;
      blocks.push_back({key_pool + at, value_pool + at, count});
    };
    for (std::size_t i = 0; i < table.prompt.size(); ++i)
      add(table.prompt[i], std::min(tokens, table.prompt_tokens - static_cast<std::int64_t>(i) * tokens));
    for (const std::int64_t block : table.own) add(block, tokens);
  }

  Tensor attend(std::int64_t layer, const Tensor& query) const {
    Tensor out = at::empty(query.sizes(), query.options());
    const std::int64_t heads = shape_.key_value_heads;
    const std::int64_t group = shape_.heads / heads;
    const std::int64_t size = shape_.head_size;
    std::int64_t seen = 0;
    for (const std::int64_t position : positions_) seen += position + 1;
    share_out(count() * heads, 2 * seen * shape_.heads * size, [&](std::int64_t begin, std::int64_t end) {
      std::vector<kernels::AttentionBlock> blocks;
      std::vector<float> scratch;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::size_t>(i / heads);
        list_blocks(layer, *rows_.parts[part_of_[row]].blocks, i % heads, blocks);
        kernels::attend(data_of(query) + i * group * size, group, size, blocks, positions_[row] + 1, scratch,
                        data_of(out) + i * group * size);
      }
    });
    return out;
  }

  Tensor through_layer(std::int64_t index, const Tensor& x) const {
    const Layer& layer = model_.layers[static_cast<std::size_t>(index)];
    const Tensor normal = normalize_rows(x, *layer.input_norm, epsilon());
    const Tensor query = heads_of(layer.query, layer.query_norm, normal);
    put(index, heads_of(layer.key, layer.key_norm, normal), project(layer.value, normal));
    const Tensor middle = project(layer.output, attend(index, query)).add_(x);
    const Tensor middle_normal = normalize_rows(middle, *layer.middle_norm, epsilon());
    const Tensor gates = project(layer.gate, middle_normal);
    kernels::gate(data_of(gates), data_of(project(layer.up, middle_normal)), gates.numel());
    return project(layer.down, gates).add_(middle);
  }

  const Model& model_;
  const BlockCache& cache_;
  const StepRows& rows_;
  const llm::Transformer& shape_;
  std::vector<std::size_t> part_of_;     // [row]
  std::vector<std::int64_t> positions_;  // [row]
  Angles angles_;
};

}  // namespace

Tensor forward_step_on_cpu(const Model& model, const BlockCache& cache, const StepRows& rows) {
  return CpuStep(model, cache, rows).logits();
}

}  // namespace dovetail::runtime
