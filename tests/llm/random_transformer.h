// Random small transformers of all kinds for property tests.
#pragma once

#include <rapidcheck.h>

#include "llm/transformer.h"

namespace dovetail::llm::test {

/// A random valid transformer with at most six layers: grouped, multi-head or latent attention, dense or with experts,
/// tied or not, with or without biases, head norms, learned positions and adapters.
inline rc::Gen<Transformer> random_transformer() {
  return rc::gen::exec([] {
    Transformer model;
    model.name = "random";
    model.layers = *rc::gen::inRange(1, 7);
    model.key_value_heads = 1 << *rc::gen::inRange(0, 4);
    model.heads = model.key_value_heads << *rc::gen::inRange(0, 3);
    model.head_size = 2 * *rc::gen::inRange(1, 9);
    model.hidden = 8 * *rc::gen::inRange(1, 9);
    model.width = 32 * *rc::gen::inRange(1, 5);
    model.vocabulary = *rc::gen::inRange(16, 200);
    model.positions = *rc::gen::element(0, 0, 64);
    model.feed_forward = *rc::gen::element(FeedForward::gated, FeedForward::plain);
    model.normalization = *rc::gen::element(Normalization::root_mean_square, Normalization::layer);
    model.head = *rc::gen::element(Head::language_model, Head::language_model, Head::scalar);
    model.tied_embeddings = model.head == Head::language_model && *rc::gen::arbitrary<bool>();
    model.query_key_norm = *rc::gen::arbitrary<bool>();
    model.query_key_value_bias = *rc::gen::arbitrary<bool>();
    model.attention_output_bias = *rc::gen::arbitrary<bool>();
    model.feed_forward_bias = *rc::gen::arbitrary<bool>();
    if (*rc::gen::inRange(0, 4) == 0) model.latent = LatentAttention{*rc::gen::element(0, 12), 8, 6, 2, 4};
    if (*rc::gen::inRange(0, 3) == 0) {
      const std::int64_t count = 1 << *rc::gen::inRange(0, 4);
      model.experts = Experts{count,
                              *rc::gen::inRange<std::int64_t>(1, count + 1),
                              16 * *rc::gen::inRange<std::int64_t>(1, 4),
                              *rc::gen::element<std::int64_t>(0, 32),
                              *rc::gen::arbitrary<bool>(),
                              *rc::gen::inRange<std::int64_t>(0, model.layers + 1),
                              *rc::gen::arbitrary<bool>()};
    }
    model.adapter_rank = *rc::gen::element(0, 0, 4);
    return model;
  });
}

}  // namespace dovetail::llm::test
