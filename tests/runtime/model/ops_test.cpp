#include "runtime/model/ops.h"

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/model/cpu_ops.h"
#include "runtime/model/tensor_ops.h"

namespace dovetail::runtime {
namespace {

/// Whether all numbers are within `tolerance` of each other.
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

/// The kernels against ATen's operators, in both precisions.
class Ops : public testing::TestWithParam<at::ScalarType> {
 protected:
  double tolerance() const { return GetParam() == at::kDouble ? 1e-12 : 2e-4; }
};

TEST_P(Ops, Normalize) {
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{37, 24}, {5, 3, 6}}) {
    const Tensor x = at::randn(sizes, GetParam());
    const Tensor dy = at::randn(sizes, GetParam());
    Parameter scale = scale_of(sizes.back(), GetParam());
    expect_near(cpu_ops::normalize(x, scale, 1e-5), tensor_ops::normalize(x, scale, 1e-5), tolerance());
    Parameter other{scale.is, scale.value, scale.gradient.clone()};
    expect_near(cpu_ops::normalize_backward(x, scale, 1e-5, dy), tensor_ops::normalize_backward(x, other, 1e-5, dy),
                tolerance());
    expect_near(scale.gradient, other.gradient, tolerance());
  }
}

TEST_P(Ops, Rotate) {
  const Tensor x = at::randn({9, 3, 10}, GetParam());
  const std::vector<std::int64_t> positions{0, 1, 2, 0, 1, 2, 3, 4, 500};
  const Angles angles = angles_of({}, 10, positions, x.options());
  expect_near(cpu_ops::rotate(x, angles), tensor_ops::rotate(x, angles), tolerance());
  expect_near(cpu_ops::rotate_backward(x, angles), tensor_ops::rotate_backward(x, angles), tolerance());
  expect_near(cpu_ops::rotate_backward(cpu_ops::rotate(x, angles), angles), x, tolerance());
}

TEST_P(Ops, Gated) {
  const Tensor gate = at::randn({13, 7}, GetParam());
  const Tensor up = at::randn({13, 7}, GetParam());
  const Tensor dy = at::randn({13, 7}, GetParam());
  expect_near(cpu_ops::gated(gate, up), tensor_ops::gated(gate, up), tolerance());
  const GatedBackward found = cpu_ops::gated_backward(gate, up, dy);
  const GatedBackward expected = tensor_ops::gated_backward(gate, up, dy);
  expect_near(found.gate, expected.gate, tolerance());
  expect_near(found.up, expected.up, tolerance());
}

TEST_P(Ops, Attend) {
  const std::vector<std::int64_t> offsets{0, 1, 18, 90, 95};
  const Tensor query = at::randn({95, 6, 8}, GetParam());
  const Tensor key = at::randn({95, 2, 8}, GetParam());
  const Tensor value = at::randn({95, 2, 8}, GetParam());
  const Tensor dy = at::randn({95, 6, 8}, GetParam());
  const Attention found = cpu_ops::attend(query, key, value, offsets);
  const Attention expected = tensor_ops::attend(query, key, value, offsets);
  expect_near(found.out, expected.out, tolerance());
  expect_near(found.log_sum_exps, expected.log_sum_exps, tolerance());
  const AttentionBackward slopes = cpu_ops::attend_backward(query, key, value, found, offsets, dy);
  const AttentionBackward others = tensor_ops::attend_backward(query, key, value, expected, offsets, dy);
  expect_near(slopes.query, others.query, tolerance());
  expect_near(slopes.key, others.key, tolerance());
  expect_near(slopes.value, others.value, tolerance());
}

INSTANTIATE_TEST_SUITE_P(Precisions, Ops, testing::Values(at::kFloat, at::kDouble));

}  // namespace
}  // namespace dovetail::runtime
