#include "kernels/sequence_attention.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/numbers.h"

namespace dovetail::kernels {
namespace {

struct Shape {
  std::int64_t tokens = 1;
  std::int64_t heads = 1;  // number of key-value heads
  std::int64_t group = 1;
  std::int64_t size = 8;
  std::int64_t gap = 0;  // numbers between rows

  std::int64_t query_stride() const { return heads * group * size + gap; }
  std::int64_t key_stride() const { return heads * size + gap; }
};

/// Numbers of all tensors of a forward and a backward.
template <class Number>
struct Tensors {
  explicit Tensors(const Shape& of, double range = 1) : shape(of) {
    const std::int64_t queries = shape.tokens * shape.query_stride();
    const std::int64_t keys = shape.tokens * shape.key_stride();
    query = random_numbers<Number>(queries, 1, range);
    key = random_numbers<Number>(keys, 2, range);
    value = random_numbers<Number>(keys, 3);
    d_out = random_numbers<Number>(queries, 4);
    out.assign(query.size(), 0);
    d_query = out;
    d_key.assign(key.size(), 0);
    d_value = d_key;
    log_sum_exps.assign(static_cast<std::size_t>(shape.heads * shape.group * (shape.tokens + 1)), 0);
  }

  Sequence<Number> sequence() const {
    return {{query.data(), shape.query_stride()},
            {key.data(), shape.key_stride()},
            {value.data(), shape.key_stride()},
            shape.tokens,
            shape.group,
            shape.size};
  }
  void forward(std::int64_t begin, std::int64_t end) {
    attend<Number>(sequence(), begin, end, {out.data(), shape.query_stride()}, {log_sum_exps.data(), shape.tokens + 1},
                   scratch);
  }
  void backward(std::int64_t begin, std::int64_t end) {
    attend_backward<Number>(sequence(),
                            {{out.data(), shape.query_stride()},
                             {log_sum_exps.data(), shape.tokens + 1},
                             {d_out.data(), shape.query_stride()}},
                            begin, end,
                            {{d_query.data(), shape.query_stride()},
                             {d_key.data(), shape.key_stride()},
                             {d_value.data(), shape.key_stride()}},
                            scratch);
  }

  Shape shape;
  std::vector<Number> query, key, value, d_out, out, log_sum_exps, d_query, d_key, d_value, scratch;
};

Shape random_shape(std::int64_t max_tokens) {
  Shape shape;
  shape.tokens = *rc::gen::inRange<std::int64_t>(1, max_tokens);
  shape.heads = *rc::gen::inRange<std::int64_t>(1, 4);
  shape.group = *rc::gen::inRange<std::int64_t>(1, 4);
  shape.size = *rc::gen::element<std::int64_t>(1, 8, 10, 16, 32, 50, 64, 80, 128);
  shape.gap = *rc::gen::inRange<std::int64_t>(0, 3);
  return shape;
}

struct Naive {
  std::vector<double> out;  // [size]
  double log_sum_exp = 0;
};

/// Computes one query of one head.
template <class Number>
Naive naive(const Tensors<Number>& tensors, std::int64_t token, std::int64_t head) {
  const Shape& shape = tensors.shape;
  const auto at = [](const std::vector<Number>& numbers, std::int64_t index) {
    return static_cast<double>(numbers[static_cast<std::size_t>(index)]);
  };
  std::vector<double> scores;
  for (std::int64_t k = 0; k <= token; ++k) {
    double score = 0;
    for (std::int64_t i = 0; i < shape.size; ++i)
      score += at(tensors.query, token * shape.query_stride() + head * shape.size + i) *
               at(tensors.key, k * shape.key_stride() + head / shape.group * shape.size + i);
    scores.push_back(score / std::sqrt(static_cast<double>(shape.size)));
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - max);
  Naive result{std::vector<double>(static_cast<std::size_t>(shape.size)), max + std::log(sum)};
  for (std::int64_t k = 0; k <= token; ++k)
    for (std::int64_t i = 0; i < shape.size; ++i)
      result.out[static_cast<std::size_t>(i)] +=
          std::exp(scores[static_cast<std::size_t>(k)] - result.log_sum_exp) *
          at(tensors.value, k * shape.key_stride() + head / shape.group * shape.size + i);
  return result;
}

template <class Number>
void expect_attention(Tensors<Number>& tensors, double tolerance) {
  const Shape& shape = tensors.shape;
  tensors.forward(0, shape.heads);
  for (std::int64_t token = 0; token < shape.tokens; ++token)
    for (std::int64_t head = 0; head < shape.heads * shape.group; ++head) {
      const Naive expected = naive(tensors, token, head);
      const auto got =
          static_cast<double>(tensors.log_sum_exps[static_cast<std::size_t>(head * (shape.tokens + 1) + token)]);
      ASSERT_NEAR(got, expected.log_sum_exp, tolerance * (1 + std::abs(expected.log_sum_exp)));
      for (std::int64_t i = 0; i < shape.size; ++i)
        ASSERT_NEAR(static_cast<double>(
                        tensors.out[static_cast<std::size_t>(token * shape.query_stride() + head * shape.size + i)]),
                    expected.out[static_cast<std::size_t>(i)], tolerance);
    }
}

RC_GTEST_PROP(SequenceAttention, IsCausalSoftmax, ()) {
  const Shape shape = random_shape(150);
  Tensors<float> tensors(shape);
  expect_attention(tensors, 3e-6);
}

RC_GTEST_PROP(SequenceAttention, IsCausalSoftmaxInDoublePrecision, ()) {
  const Shape shape = random_shape(150);
  Tensors<double> tensors(shape);
  expect_attention(tensors, 1e-13);
}

TEST(SequenceAttention, HandlesLargeScores) {
  Tensors<double> tensors({100, 1, 2, 16, 0}, 100);
  expect_attention(tensors, 1e-11);
  Tensors<float> single({100, 1, 2, 16, 0}, 30);
  expect_attention(single, 3e-3);
  single.backward(0, 1);
  for (const float slope : single.d_query) EXPECT_TRUE(std::isfinite(slope));
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
}

TEST(SequenceAttention, BackwardIsTheDerivative) {
  for (const Shape& shape : {Shape{1, 1, 1, 8, 0}, Shape{5, 2, 3, 4, 1}, Shape{40, 1, 2, 3, 0}, Shape{70, 1, 1, 2, 0},
                             Shape{9, 1, 1, 20, 0}}) {
    Tensors<double> tensors(shape);
    tensors.forward(0, shape.heads);
    tensors.backward(0, shape.heads);
    const auto loss = [&] {
      Tensors<double> moved = tensors;
      std::fill(moved.out.begin(), moved.out.end(), 0);
      moved.forward(0, shape.heads);
      return weighed(moved.out, moved.d_out);
    };
    expect_near(tensors.d_query, differences(tensors.query, loss), 1e-8);
    expect_near(tensors.d_key, differences(tensors.key, loss), 1e-8);
    expect_near(tensors.d_value, differences(tensors.value, loss), 1e-8);
  }
}

template <class Number>
std::vector<double> as_double(const std::vector<Number>& numbers) {
  return {numbers.begin(), numbers.end()};
}

RC_GTEST_PROP(SequenceAttention, BackwardIsTheSameInBothPrecisions, ()) {
  const Shape shape = random_shape(150);
  Tensors<float> single(shape);
  Tensors<double> tensors(shape);
  single.forward(0, shape.heads);
  single.backward(0, shape.heads);
  tensors.forward(0, shape.heads);
  tensors.backward(0, shape.heads);
  expect_near(as_double(single.d_query), tensors.d_query, 2e-5);
  expect_near(as_double(single.d_key), tensors.d_key, 5e-5);
  expect_near(as_double(single.d_value), tensors.d_value, 5e-5);
}

RC_GTEST_PROP(SequenceAttention, HeadsAreIndependent, ()) {
  const Shape shape = random_shape(100);
  Tensors<float> together(shape);
  Tensors<float> apart(shape);
  together.forward(0, shape.heads);
  together.backward(0, shape.heads);
  for (std::int64_t head = 0; head < shape.heads; ++head) apart.forward(head, head + 1);
  for (std::int64_t head = shape.heads; head-- > 0;) apart.backward(head, head + 1);
  RC_ASSERT(together.out == apart.out);
  RC_ASSERT(together.log_sum_exps == apart.log_sum_exps);
  RC_ASSERT(together.d_query == apart.d_query);
  RC_ASSERT(together.d_key == apart.d_key);
  RC_ASSERT(together.d_value == apart.d_value);
}

}  // namespace
}  // namespace dovetail::kernels
