#include "runtime/model/ops.h"

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <vector>

namespace dovetail::runtime {
namespace {

/// Expects all numbers to be within `tolerance` of each other.
void expect_near(const Tensor& found, const Tensor& expected, double tolerance) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LT(found.sub(expected).abs().max().item<double>(), tolerance);
}

Parameter scale_of(std::int64_t size, at::ScalarType type) {
  Parameter scale;
  scale.value = at::randn({size}, type);
  scale.gradient = at::randn({size}, type);
  return scale;
}

/// Compares the kernels with ATen's operators, in both precisions.
class Ops : public testing::TestWithParam<at::ScalarType> {
 protected:
  double tolerance() const { return GetParam() == at::kDouble ? 1e-12 : 2e-4; }
};

TEST_P(Ops, Project) {
  Parameter weight = scale_of(1, GetParam());
  Parameter bias = scale_of(7, GetParam());
  weight.value = at::randn({7, 24}, GetParam());
  const Tensor x = at::randn({5, 24}, GetParam());
  for (const Linear& linear : {Linear{&weight}, Linear{&weight, &bias}})
    expect_near(cpu_operators().project(linear, x), tensor_operators().project(linear, x), tolerance());
}

TEST_P(Ops, Normalize) {
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{37, 24}, {5, 3, 6}}) {
    const Tensor x = at::randn(sizes, GetParam());
    const Tensor dy = at::randn(sizes, GetParam());
    const Parameter scale = scale_of(sizes.back(), GetParam());
    expect_near(cpu_operators().normalize(x, scale, 1e-5), tensor_operators().normalize(x, scale, 1e-5), tolerance());
    const NormalizeBackward found = cpu_operators().normalize_backward(x, scale, 1e-5, dy);
    const NormalizeBackward expected = tensor_operators().normalize_backward(x, scale, 1e-5, dy);
    expect_near(found.input, expected.input, tolerance());
    expect_near(found.scale, expected.scale, tolerance());
  }
}

TEST_P(Ops, Rotate) {
  const Tensor x = at::randn({9, 3, 10}, GetParam());
  const std::vector<std::int64_t> positions{0, 1, 2, 0, 1, 2, 3, 4, 500};
  const Angles angles = angles_of({}, 10, positions, x.options());
  expect_near(cpu_operators().rotate(x, angles), tensor_operators().rotate(x, angles), tolerance());
  expect_near(cpu_operators().rotate_backward(x, angles), tensor_operators().rotate_backward(x, angles), tolerance());
  expect_near(cpu_operators().rotate_backward(cpu_operators().rotate(x, angles), angles), x, tolerance());
}

TEST_P(Ops, Gated) {
  const Tensor gate = at::randn({13, 7}, GetParam());
  const Tensor up = at::randn({13, 7}, GetParam());
  const Tensor dy = at::randn({13, 7}, GetParam());
  expect_near(cpu_operators().gated(gate, up), tensor_operators().gated(gate, up), tolerance());
  const GatedBackward found = cpu_operators().gated_backward(gate, up, dy);
  const GatedBackward expected = tensor_operators().gated_backward(gate, up, dy);
  expect_near(found.gate, expected.gate, tolerance());
  expect_near(found.up, expected.up, tolerance());
}

TEST_P(Ops, Attend) {
  const std::vector<std::int64_t> offsets{0, 1, 18, 90, 95};
  const Tensor query = at::randn({95, 6, 8}, GetParam());
  const Tensor key = at::randn({95, 2, 8}, GetParam());
  const Tensor value = at::randn({95, 2, 8}, GetParam());
  const Tensor dy = at::randn({95, 6, 8}, GetParam());
  const Attention found = cpu_operators().attend(query, key, value, offsets);
  const Attention expected = tensor_operators().attend(query, key, value, offsets);
  expect_near(found.out, expected.out, tolerance());
  expect_near(found.log_sum_exps, expected.log_sum_exps, tolerance());
  const AttentionBackward slopes = cpu_operators().attend_backward(query, key, value, found, offsets, dy);
  const AttentionBackward others = tensor_operators().attend_backward(query, key, value, expected, offsets, dy);
  expect_near(slopes.query, others.query, tolerance());
  expect_near(slopes.key, others.key, tolerance());
  expect_near(slopes.value, others.value, tolerance());
}

TEST_P(Ops, ScoresOfTokens) {
  const Tensor logits = at::randn({7, 33}, GetParam()).mul(3);
  const std::vector<std::int64_t> targets{0, 32, 5, 5, 17, 1, 9};
  const std::vector<double> by_log{1, -2, 0.5, 0, 3, 0.25, -1};
  for (const std::vector<double>& by_entropy : {std::vector<double>{}, {0, 1, -1, 2, 0.5, 0, 0.1}}) {
    const TokenScores found = cpu_operators().score_tokens(logits, targets, 1.7);
    const TokenScores expected = tensor_operators().score_tokens(logits, targets, 1.7);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      EXPECT_NEAR(found.log_probabilities[i], expected.log_probabilities[i], tolerance());
      EXPECT_NEAR(found.entropies[i], expected.entropies[i], tolerance());
      EXPECT_NEAR(found.log_sum_exps[i], expected.log_sum_exps[i], tolerance());
    }
    const TokenSlopes slopes{targets, expected.entropies, expected.log_sum_exps, by_log, by_entropy};
    const Tensor by_kernels = logits.clone();
    const Tensor by_tensors = logits.clone();
    cpu_operators().score_backward(by_kernels, 1.7, slopes);
    tensor_operators().score_backward(by_tensors, 1.7, slopes);
    expect_near(by_kernels, by_tensors, tolerance());
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Ops, testing::Values(at::kFloat, at::kDouble));

}  // namespace
}  // namespace dovetail::runtime
