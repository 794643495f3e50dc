#include "runtime/generation/forward.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "runtime/generation/forward_cpu.h"
#include "runtime/model/ops.h"

namespace dovetail::runtime {
namespace {

/// Where the rows go in the cache; those that are there already go nowhere.
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
  return {whole_numbers(from, device), whole_numbers(blocks, device), whole_numbers(tokens, device)};
}

/// A layer's pools as [block, token, head, size]: one index a row.
Tensor keys_by_row(const BlockCache& cache, std::int64_t layer) { return cache.keys(layer).permute({0, 3, 1, 2}); }
Tensor values_by_row(const BlockCache& cache, std::int64_t layer) { return cache.values(layer).permute({0, 2, 1, 3}); }

/// Puts rows [rows, key-value heads, size] where they belong in a layer's blocks.
void put(const Tensor& pool, const Destinations& to, const Tensor& rows) {
  if (to.rows.numel() > 0) pool.index_put_({to.blocks, to.tokens}, rows.index_select(0, to.rows));
}

/// Parts of as many rows each, whose attention is computed at once: keys and values of all are filled up to the
/// longest.
struct AttentionBatch {
  std::int64_t rows = 0;  ///< of a part
  Tensor places;          ///< of all their rows in the step
  Tensor blocks;          ///< [parts, tokens], of the sequences' first tokens
  Tensor tokens;          ///< likewise, in the blocks
  Tensor later;           ///< [parts, 1, 1, rows, tokens]: whether a token is behind a row
};

/// Numbers that the keys of a batch may have.
constexpr std::int64_t max_batch = std::int64_t{1} << 26;

/// The parts of the step that are computed at once, the longest first.
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
  const Tensor last = whole_numbers(last_seen, device).view({count, 1, 1, longest.rows, 1});
  return {longest.rows, whole_numbers(places, device), whole_numbers(block_ids, device).view({count, tokens}),
          whole_numbers(token_ids, device).view({count, tokens}), at::arange(tokens, last.options()).gt(last)};
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

/// Attention of a batch's queries, [rows of all parts, heads, size].
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
  Tensor x = embedding.index_select(0, whole_numbers(rows.tokens, embedding.device()));
  for (std::int64_t index = 0; index < model.weights.shape.layers; ++index) x = through_layer(pass, index, x);
  const Tensor asked = x.index_select(0, whole_numbers(rows.asked, embedding.device()));
  return project(model.head, pass.ops.normalize(asked, *model.final_norm, model.weights.computation.norm_epsilon))
      .to(at::kCPU, at::kFloat)
      .contiguous();
}

}  // namespace dovetail::runtime
