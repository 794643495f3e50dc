#include "cost/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cost/efficiency.h"

namespace dovetail::cost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A row of `work` FLOPs and `slots` passes.
CalibrationRow row_of(const char* group, double work, double slots, const Candidate& truth, double noise = 1) {
  const auto predicted = [work, slots](const Candidate& candidate) {
    return std::vector<double>{work / candidate.efficiency.matrix_products + slots * candidate.efficiency.slot,
                               work / candidate.efficiency.matrix_products};
  };
  const std::vector<double> seconds = predicted(truth);
  return {group, group, {{"total", noise * seconds[0]}, {"work", seconds[1], 0}}, predicted};
}

Candidate truth() {
  Candidate candidate;
  candidate.efficiency.matrix_products = 0.6;
  candidate.efficiency.slot = 4e-3;
  return candidate;
}

std::vector<CalibrationRow> rows() {
  return {row_of("a", 1, 100, truth()), row_of("a", 2, 10, truth()), row_of("b", 0.5, 300, truth()),
          row_of("c", 3, 50, truth())};
}

std::vector<Unknown> unknowns() { return {efficiency_unknown("matrix_products"), efficiency_unknown("slot")}; }

TEST(Calibration, RecoversTheConstantsBehindTheRows) {
  const Fit found = fit(rows(), unknowns(), {}, {.prior = 1e-6});
  EXPECT_NEAR(found.candidate.efficiency.matrix_products, 0.6, 0.006);
  EXPECT_NEAR(found.candidate.efficiency.slot, 4e-3, 8e-5);
  EXPECT_LT(found.error, 0.01);
  const Fit again = fit(rows(), unknowns(), {}, {.prior = 1e-6});
  EXPECT_EQ(again.candidate.efficiency.slot, found.candidate.efficiency.slot) << "identical to the last bit";
}

TEST(Calibration, UndeterminedConstantsStayAtTheStart) {
  std::vector<Unknown> more = unknowns();
  more.push_back(efficiency_unknown("decode_layer"));
  const Candidate start;
  const Fit found = fit(rows(), more, start);
  EXPECT_NEAR(found.candidate.efficiency.decode_layer / start.efficiency.decode_layer, 1, 0.02);
}

TEST(Calibration, AStoppedFitReturnsTheBestSoFar) {
  int evaluations = 0;
  FitOptions options;
  options.prior = 1e-6;
  options.should_continue = [&](int more) { return (evaluations += more) < 60; };
  const Fit stopped = fit(rows(), unknowns(), {}, options);
  EXPECT_LT(evaluations, 80) << "restarts end immediately too";
  EXPECT_LT(stopped.error, mean_error(rows(), {}));
  EXPECT_GT(stopped.error, fit(rows(), unknowns(), {}, {.prior = 1e-6}).error);
}

TEST(Calibration, FitsWorkloadProperties) {
  Candidate start;
  start.workload = {1.0};
  const CalibrationRow row{
      "a", "a", {{"total", 5}}, [](const Candidate& one) { return std::vector<double>{2 * one.workload[0]}; }};
  const Fit found = fit({row}, {workload_unknown("factor", 0, 0.5, 4)}, start, {.prior = 1e-6});
  EXPECT_NEAR(found.candidate.workload[0], 2.5, 0.01);
}

TEST(Calibration, BoundsHold) {
  Candidate fast = truth();
  fast.efficiency.matrix_products = 5;
  const Fit found = fit({row_of("a", 1, 0, fast)}, unknowns(), {}, {.prior = 1e-6});
  EXPECT_NEAR(found.candidate.efficiency.matrix_products, 0.85, 1e-9);
}

TEST(Calibration, AnOutlierDoesNotDominate) {
  std::vector<CalibrationRow> with_outlier = rows();
  with_outlier.push_back(row_of("d", 1, 50, truth(), 3));
  const Fit found = fit(with_outlier, unknowns(), {}, {.prior = 1e-6});
  EXPECT_NEAR(found.candidate.efficiency.matrix_products, 0.6, 0.03);
}

TEST(Calibration, LeaveOneOutPredictsAGroupFromTheOthers) {
  std::vector<CalibrationRow> with_outlier = rows();
  with_outlier.push_back(row_of("d", 1, 50, truth(), 3));
  const std::vector<LeftOut> left_out = leave_one_out(with_outlier, unknowns(), {}, {.prior = 1e-6});
  ASSERT_EQ(left_out.size(), 4U);
  EXPECT_EQ(left_out[3].group, "d");
  EXPECT_LT(left_out[3].fit.error, 0.01) << "its rows exclude the outlier";
  EXPECT_NEAR(left_out[3].fit.candidate.efficiency.slot, 4e-3, 1e-4);
}

TEST(Calibration, ErrorsAreWeightedLogarithms) {
  Candidate slow = truth();
  std::vector<CalibrationRow> two = {row_of("a", 1, 0, slow, 2), row_of("b", 1, 0, slow)};
  EXPECT_NEAR(mean_error(two, slow), std::log(2) / 2, 1e-12);
  two[0].measured[0].weight = 3;
  EXPECT_NEAR(mean_error(two, slow), std::log(2) * 3 / 4, 1e-12);
  EXPECT_NEAR(mean_error(two, slow, 0.05), (std::hypot(std::log(2), 0.05) - 0.05) * 3 / 4, 1e-12);
}

TEST(BundledEfficiencies, AreFoundByName) {
  EXPECT_THAT(efficiency_names(), ElementsAre("assumed", "a100/realhf", "h100/megatron-vllm", "cpu/dovetail"));
  for (const std::string_view name : efficiency_names()) EXPECT_EQ(find_efficiency(name).value().name, name);
  EXPECT_THAT(find_efficiency("h100/megatron-vlm").error().message, HasSubstr("did you mean 'h100/megatron-vllm'?"));
}

TEST(BundledEfficiencies, AreWithinTheBounds) {
  for (const std::string_view name : efficiency_names()) {
    Efficiency efficiency = find_efficiency(name).value();
    for (const EfficiencyConstant& constant : efficiency_constants()) {
      const double value = constant.of(efficiency);
      const bool left_out = value == 0 && constant.may_be_zero;
      EXPECT_TRUE(left_out || (value >= constant.low && value <= constant.high)) << name << " " << constant.name;
    }
  }
}

}  // namespace
}  // namespace dovetail::cost
