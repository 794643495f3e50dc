// Causal attention over whole sequences, forward and backward: for training, and for the log-probabilities of given
// tokens.
#pragma once

#include <cstdint>
#include <vector>

namespace dovetail::kernels {

/// Heads of tokens: number i of head h of token t is data[t * stride + h * size + i].
template <class Number>
struct Heads {
  Number* data = nullptr;
  std::int64_t stride = 0;
};

/// One number for each head and token: data[h * stride + t].
template <class Number>
struct HeadNumbers {
  Number* data = nullptr;
  std::int64_t stride = 0;
};

/// Queries, keys and values of one sequence. Key-value head g belongs to the query heads [g * group, (g + 1) * group)
/// (grouped-query attention: Ainslie et al. 2023, arXiv 2305.13245).
template <class Number>
struct Sequence {
  Heads<const Number> query;
  Heads<const Number> key;
  Heads<const Number> value;
  std::int64_t tokens = 0;
  std::int64_t group = 0;
  std::int64_t size = 0;
};

/// Computes out = softmax(q k / sqrt(size)) v and the log-sum-exp of the scores, for the query heads of the key-value
/// heads [begin, end). A query attends to all tokens up to and including its own. Only a tile of scores exists at a
/// time, with a running softmax (Milakov and Gimelshein 2018, arXiv 1805.02867; Dao 2023, arXiv 2307.08691). Grows
/// `scratch` to about 2 * tokens * size numbers. Instantiated for float and double.
template <class Number>
void attend(const Sequence<Number>& sequence, std::int64_t begin, std::int64_t end, const Heads<Number>& out,
            const HeadNumbers<Number>& log_sum_exps, std::vector<Number>& scratch);

/// Results of the forward pass, and the derivative of the loss with respect to `out`.
template <class Number>
struct AttentionResult {
  Heads<const Number> out;
  HeadNumbers<const Number> log_sum_exps;
  Heads<const Number> d_out;
};

/// Derivatives of the loss with respect to queries, keys and values.
template <class Number>
struct AttentionSlopes {
  Heads<Number> query;
  Heads<Number> key;
  Heads<Number> value;
};

/// Computes the derivatives with respect to the key-value heads [begin, end) and their query heads. With the
/// probabilities P, recomputed from log_sum_exps:
///
/// - dv = P^T do
/// - dP = do v^T
/// - dS = P (dP - sum of do * out)
/// - dq = dS k / sqrt(size)
/// - dk = dS^T q / sqrt(size)
///
/// Derivatives of keys and values are summed over the query heads of the group in order and, within each head, over
/// tiles of queries. Grows `scratch` to about 5 * tokens * size numbers. Instantiated for float and double.
template <class Number>
void attend_backward(const Sequence<Number>& sequence, const AttentionResult<Number>& result, std::int64_t begin,
                     std::int64_t end, const AttentionSlopes<Number>& slopes, std::vector<Number>& scratch);

}  // namespace dovetail::kernels
