// One layer of a transformer, forward and backward.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/model/gradient_sink.h"
#include "runtime/model/ops.h"
#include "runtime/model/tensor.h"
#include "runtime/model/weights.h"

namespace dovetail::runtime {

/// The weights of one layer.
struct Layer {
  Parameter* input_norm = nullptr;
  Linear query;
  Linear key;
  Linear value;
  Parameter* query_norm = nullptr;  ///< of each head; null: there is none
  Parameter* key_norm = nullptr;
  Linear output;
  Parameter* middle_norm = nullptr;
  Linear gate;
  Linear up;
  Linear down;
};

/// Those of layer `index`. They point into `weights`, whose parameters must stay where they are.
Layer layer_of(Weights& weights, std::int64_t index);

/// What all layers of a pass share.
struct PassRows {
  const Operators* ops = nullptr;
  std::vector<std::int64_t> offsets;  ///< of the sequences' first tokens, and the number of tokens
  Angles angles;
  std::int64_t head_size = 0;
  double norm_epsilon = 0;
};

/// What a layer's backward needs of its forward. Where a layer is recomputed only `input` is kept.
struct LayerKept {
  Tensor input;
  Tensor normal;     ///< the normalized input
  Tensor raw_query;  ///< before the norms of heads; undefined without them
  Tensor raw_key;
  Tensor query;  ///< rotated, [tokens, heads, size]
  Tensor key;
  Tensor value;
  Attention attention;
  Tensor middle;  ///< the input and what attention adds
  Tensor middle_normal;
  Tensor gate;
  Tensor up;
  Tensor product;  ///< gated(gate, up)
};

/// The layer's output of rows [tokens, hidden]; keeps all in `kept` where it is given.
Tensor forward(const Layer& layer, const PassRows& rows, const Tensor& x, LayerKept* kept);

/// The derivative by the layer's input, given that by its output; those by the weights go to `sink`. Where `kept` has
/// the input alone, the forward is computed again first.
Tensor backward(const Layer& layer, const PassRows& rows, LayerKept& kept, const Tensor& dy, GradientSink& sink);

}  // namespace dovetail::runtime
