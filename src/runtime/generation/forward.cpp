#include "runtime/generation/forward.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <limits>

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

struct StepPass {
  const Operators& ops;
  const Model& model;
  const BlockCache& cache;
  const StepRows& rows;
  Angles angles;
  Destinations destinations;
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

/// The first `count` tokens of a sequence in a layer's pool: [key-value heads, count, size].
Tensor tokens_of(const Tensor& pool, const BlockTable& blocks, std::int64_t count, std::int64_t block_tokens) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> tokens;
  for (std::int64_t position = 0; position < count; ++position) {
    const BlockTable::Place place = blocks.place_of(position, block_tokens);
    ids.push_back(place.block);
    tokens.push_back(place.token);
  }
  return pool.index({whole_numbers(ids, pool.device()), whole_numbers(tokens, pool.device())}).permute({1, 0, 2});
}

/// [key-value heads, 1, count, size]: the same for all queries of a head.
Tensor for_queries(const Tensor& x) { return x.reshape({x.size(0), 1, x.size(1), x.size(2)}); }

Tensor attend_cached(const StepPass& pass, std::int64_t layer, const Tensor& query) {
  Tensor out = at::empty_like(query);
  const std::int64_t heads = pass.model.weights.shape.key_value_heads;
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(2)));
  std::int64_t row = 0;
  for (const StepPart& part : pass.rows.parts) {
    const std::int64_t count = part.position + part.rows;
    const std::int64_t block_tokens = pass.cache.block_tokens();
    const Tensor keys = tokens_of(keys_by_row(pass.cache, layer), *part.blocks, count, block_tokens);
    const Tensor values = tokens_of(values_by_row(pass.cache, layer), *part.blocks, count, block_tokens);
    const Tensor queries =
        query.narrow(0, row, part.rows).reshape({part.rows, heads, -1, query.size(2)}).permute({1, 2, 0, 3});
    Tensor scores = at::matmul(queries, for_queries(keys).transpose(-1, -2)).mul_(scale);
    const Tensor later = at::empty_like(scores[0][0]).fill_(1).triu_(part.position + 1).to(at::kBool);
    scores.masked_fill_(later, -std::numeric_limits<double>::infinity());
    const Tensor attended = at::matmul(at::softmax(scores, -1), for_queries(values)).permute({2, 0, 1, 3});
    out.narrow(0, row, part.rows).copy_(attended.reshape({part.rows, -1, query.size(2)}));
    row += part.rows;
  }
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
      rows,
      angles_of(model.weights.computation, model.weights.shape.head_size, positions_of(rows), embedding.options()),
      destinations_of(cache, rows, embedding.device())};
  Tensor x = embedding.index_select(0, whole_numbers(rows.tokens, embedding.device()));
  for (std::int64_t index = 0; index < model.weights.shape.layers; ++index) x = through_layer(pass, index, x);
  const Tensor asked = x.index_select(0, whole_numbers(rows.asked, embedding.device()));
  return project(model.head, pass.ops.normalize(asked, *model.final_norm, model.weights.computation.norm_epsilon))
      .to(at::kCPU, at::kFloat)
      .contiguous();
}

}  // namespace dovetail::runtime
