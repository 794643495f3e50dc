#include "runtime/generation/forward.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/assert.h"
#include "kernels/cached_attention.h"
#include "kernels/rows.h"
#include "runtime/model/device.h"
#include "runtime/model/ops.h"

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
    Tensor selected = at::empty({static_cast<std::int64_t>(rows_.logit_rows.size()), shape_.hidden}, x.options());
    copy_rows(x, rows_.logit_rows, selected);
    return project(model_.head, normalize_rows(selected, *model_.final_norm, epsilon()));
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

  /// Writes the rows' keys and values to the layer's blocks.
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

  /// Lists the blocks of a sequence for one head of a layer.
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

/// Computes forward_step with src/kernels. REQUIRES: the model is in single precision on the CPU, and blocks hold
/// kernels::attention_block tokens.
Tensor forward_step_on_cpu(const Model& model, const BlockCache& cache, const StepRows& rows) {
  return CpuStep(model, cache, rows).logits();
}

/// Cache slots of the rows whose keys and values are not yet cached.
struct Destinations {
  Tensor rows;
  Tensor blocks;
  Tensor tokens;
};

Destinations destinations_of(const BlockCache& cache, const StepRows& rows, const at::Device& device) {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> tokens;
  std::int64_t row = 0;
  for (const StepPart& part : rows.parts)
    for (std::int64_t i = 0; i < part.rows; ++i, ++row) {
      if (part.is_cached) continue;
      const BlockTable::Place place = part.blocks->place_of(part.position + i, cache.block_tokens());
      from.push_back(row);
      blocks.push_back(place.block);
      tokens.push_back(place.token);
    }
  return {integer_tensor(from, device), integer_tensor(blocks, device), integer_tensor(tokens, device)};
}

/// Return a layer's pools as [block, token, head, size], to index them by row.
Tensor keys_by_row(const BlockCache& cache, std::int64_t layer) { return cache.keys(layer).permute({0, 3, 1, 2}); }
Tensor values_by_row(const BlockCache& cache, std::int64_t layer) { return cache.values(layer).permute({0, 2, 1, 3}); }

/// Writes rows [rows, key-value heads, size] to their slots in a layer's blocks.
void put(const Tensor& pool, const Destinations& to, const Tensor& rows) {
  if (to.rows.numel() > 0) pool.index_put_({to.blocks, to.tokens}, rows.index_select(0, to.rows));
}

/// Parts with equal numbers of rows, whose attention is computed together. Keys and values are padded to the longest
/// part.
struct AttentionBatch {
  std::int64_t rows = 0;  ///< per part
  Tensor places;          ///< step rows of all parts
  Tensor blocks;          ///< [parts, tokens]: block of each token
  Tensor tokens;          ///< [parts, tokens]: token within its block
  Tensor later;           ///< [parts, 1, 1, rows, tokens]: whether a token follows the row's position
};

/// Maximum number of key elements in a batch.
constexpr std::int64_t max_batch = std::int64_t{1} << 26;

/// Returns the parts that are computed together, longest first.
std::vector<std::vector<std::size_t>> batched_parts(const StepRows& rows, std::int64_t numbers_of_token) {
  std::vector<std::size_t> order(rows.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length = [&](std::size_t part) { return rows.parts[part].position + rows.parts[part].rows; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(rows.parts[a].rows, -length(a), a) < std::tuple(rows.parts[b].rows, -length(b), b);
  });
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t part : order) {
    const bool fits =
        !batches.empty() && rows.parts[batches.back().front()].rows == rows.parts[part].rows &&
        static_cast<std::int64_t>(batches.back().size() + 1) * length(batches.back().front()) * numbers_of_token <=
            max_batch;
    if (!fits) batches.emplace_back();
    batches.back().push_back(part);
  }
  return batches;
}

AttentionBatch batch_of(const StepRows& rows, const std::vector<std::size_t>& parts,
                        const std::vector<std::int64_t>& first_rows, std::int64_t block_tokens,
                        const at::Device& device) {
  const auto count = static_cast<std::int64_t>(parts.size());
  const StepPart& longest = rows.parts[parts.front()];
  const std::int64_t tokens = longest.position + longest.rows;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> last_seen;
  std::vector<std::int64_t> block_ids;
  std::vector<std::int64_t> token_ids;
  for (const std::size_t id : parts) {
    const StepPart& part = rows.parts[id];
    for (std::int64_t i = 0; i < part.rows; ++i) {
      places.push_back(first_rows[id] + i);
      last_seen.push_back(part.position + i);
    }
    for (std::int64_t position = 0; position < tokens; ++position) {
      const BlockTable::Place place =
          part.blocks->place_of(std::min(position, part.position + part.rows - 1), block_tokens);
      block_ids.push_back(place.block);
      token_ids.push_back(place.token);
    }
  }
  const Tensor last = integer_tensor(last_seen, device).view({count, 1, 1, longest.rows, 1});
  return {longest.rows, integer_tensor(places, device), integer_tensor(block_ids, device).view({count, tokens}),
          integer_tensor(token_ids, device).view({count, tokens}), at::arange(tokens, last.options()).gt(last)};
}

std::vector<AttentionBatch> batches_of(const StepRows& rows, const BlockCache& cache, const llm::Transformer& shape,
                                       const at::Device& device) {
  std::vector<std::int64_t> first_rows;
  std::int64_t row = 0;
  for (const StepPart& part : rows.parts) {
    first_rows.push_back(row);
    row += part.rows;
  }
  std::vector<AttentionBatch> batches;
  for (const std::vector<std::size_t>& parts : batched_parts(rows, shape.key_value_heads * shape.head_size))
    batches.push_back(batch_of(rows, parts, first_rows, cache.block_tokens(), device));
  return batches;
}

/// Returns the attention of a batch's queries, [rows of all parts, heads, size].
Tensor attended(const AttentionBatch& batch, const Tensor& query, const Tensor& key_pool, const Tensor& value_pool) {
  const std::int64_t count = batch.blocks.size(0);
  const std::int64_t heads = key_pool.size(2);
  const std::int64_t size = query.size(2);
  const std::int64_t group = query.size(1) / heads;
  const auto by_head = [&](const Tensor& pool) {
    return pool.index({batch.blocks, batch.tokens}).permute({0, 2, 1, 3});
  };
  const Tensor queries = query.index_select(0, batch.places)
                             .view({count, batch.rows, heads, group, size})
                             .permute({0, 2, 3, 1, 4})
                             .reshape({count, heads, group * batch.rows, size});
  const Tensor scores =
      at::matmul(queries, by_head(key_pool).transpose(-1, -2)).mul_(1 / std::sqrt(static_cast<double>(size)));
  scores.view({count, heads, group, batch.rows, -1})
      .masked_fill_(batch.later, -std::numeric_limits<double>::infinity());
  return at::matmul(at::softmax(scores, -1), by_head(value_pool))
      .view({count, heads, group, batch.rows, size})
      .permute({0, 3, 1, 2, 4})
      .reshape({count * batch.rows, heads * group, size});
}

struct StepPass {
  const Operators& ops;
  const Model& model;
  const BlockCache& cache;
  Angles angles;
  Destinations destinations;
  std::vector<AttentionBatch> batches;
};

Tensor attend_cached(const StepPass& pass, std::int64_t layer, const Tensor& query) {
  Tensor out = at::empty_like(query);
  const Tensor keys = keys_by_row(pass.cache, layer);
  const Tensor values = values_by_row(pass.cache, layer);
  for (const AttentionBatch& batch : pass.batches)
    out.index_copy_(0, batch.places, attended(batch, query, keys, values));
  return out;
}

Tensor heads_of(const StepPass& pass, const Linear& linear, const Parameter* norm, const Tensor& normal) {
  Tensor heads = by_head(project(linear, normal), pass.model.weights.shape.head_size);
  if (norm != nullptr) heads = pass.ops.normalize(heads, *norm, pass.model.weights.computation.norm_epsilon);
  return pass.ops.rotate(heads, pass.angles);
}

Tensor through_layer(const StepPass& pass, std::int64_t index, const Tensor& x) {
  const Layer& layer = pass.model.layers[static_cast<std::size_t>(index)];
  const double epsilon = pass.model.weights.computation.norm_epsilon;
  const Tensor normal = pass.ops.normalize(x, *layer.input_norm, epsilon);
  const Tensor query = heads_of(pass, layer.query, layer.query_norm, normal);
  put(keys_by_row(pass.cache, index), pass.destinations, heads_of(pass, layer.key, layer.key_norm, normal));
  put(values_by_row(pass.cache, index), pass.destinations,
      by_head(project(layer.value, normal), pass.model.weights.shape.head_size));
  const Tensor attended = attend_cached(pass, index, query);
  const Tensor middle = project(layer.output, attended.reshape({x.size(0), -1})).add_(x);
  const Tensor middle_normal = pass.ops.normalize(middle, *layer.middle_norm, epsilon);
  const Tensor product = pass.ops.gated(project(layer.gate, middle_normal), project(layer.up, middle_normal));
  return project(layer.down, product).add_(middle);
}

std::vector<std::int64_t> positions_of(const StepRows& rows) {
  std::vector<std::int64_t> positions;
  for (const StepPart& part : rows.parts)
    for (std::int64_t i = 0; i < part.rows; ++i) positions.push_back(part.position + i);
  return positions;
}

}  // namespace

BlockCache::BlockCache(const llm::Transformer& shape, std::int64_t blocks, std::int64_t block_tokens,
                       at::TensorOptions options)
    : block_tokens_(block_tokens) {
  keys_ = at::empty({shape.layers, blocks, shape.key_value_heads, shape.head_size, block_tokens}, options);
  values_ = at::empty({shape.layers, blocks, shape.key_value_heads, block_tokens, shape.head_size}, options);
  for (std::int64_t block = blocks; block-- > 0;) free_.push_back(block);
}

std::int64_t BlockCache::block_bytes(const llm::Transformer& shape, std::int64_t block_tokens,
                                     std::int64_t number_bytes) {
  return 2 * shape.layers * shape.key_value_heads * block_tokens * shape.head_size * number_bytes;
}

std::int64_t BlockCache::take() {
  DOVETAIL_ASSERT(!free_.empty());
  const std::int64_t block = free_.back();
  free_.pop_back();
  return block;
}

void BlockCache::release(const std::vector<std::int64_t>& blocks) {
  free_.insert(free_.end(), blocks.rbegin(), blocks.rend());
}

Tensor forward_step(const Model& model, const BlockCache& cache, const StepRows& rows) {
  const Tensor& embedding = model.embedding->value;
  if (embedding.device().is_cpu() && embedding.scalar_type() == at::kFloat)
    return forward_step_on_cpu(model, cache, rows);
  const StepPass pass{
      operators_for(embedding),
      model,
      cache,
      angles_of(model.weights.computation, model.weights.shape.head_size, positions_of(rows), embedding.options()),
      destinations_of(cache, rows, embedding.device()),
      batches_of(rows, cache, model.weights.shape, embedding.device())};
  Tensor x = embedding.index_select(0, integer_tensor(rows.tokens, embedding.device()));
  for (std::int64_t index = 0; index < model.weights.shape.layers; ++index) x = through_layer(pass, index, x);
  const Tensor selected = x.index_select(0, integer_tensor(rows.logit_rows, embedding.device()));
  return project(model.head, pass.ops.normalize(selected, *model.final_norm, model.weights.computation.norm_epsilon))
      .to(at::kCPU, at::kFloat)
      .contiguous();
}

}  // namespace dovetail::runtime
