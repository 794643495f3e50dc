// Fits to measured runs.
#include "measure/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "measure/measurement_file.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/software.h"
#include "support/measurements.h"

namespace dovetail::measure {
namespace {

using testing::ElementsAre;

Measurements small() { return parse_measurements(test::measurement_text(), "runs.yaml").value(); }

/// Rows with different loads, measured with the efficiencies `truth`.
Measurements measured_by(const cost::Efficiency& truth) {
  Measurements measurements = small();
  measurements.rows[1].responses.reset();
  measurements.rows.pop_back();
  measurements.rows[1].weight = 1;
  measurements.rows[1].job.workload.prompts = 256;
  measurements.rows.push_back(measurements.rows[1]);
  measurements.rows[2].name = "three";
  measurements.rows[2].job.workload.mini_batches = 8;
  for (Measurement& row : measurements.rows) {
    const predict::Estimate estimate = predict::estimate(
        predict::scenario_of(row.job, {predict::conventions_of(row.job.software).value(), truth}), row.plan);
    row.seconds = estimate.iteration_seconds;
    row.phases = {{PhaseKind::training, 0}, {PhaseKind::generation, 0}};
    for (std::size_t step = 0; step < estimate.activities.size(); ++step)
      for (MeasuredPhase& phase : row.phases)
        phase.seconds +=
            seconds_in_phase(phase.phase, row.job, estimate.graph.activities[step], estimate.activities[step]);
  }
  return measurements;
}

TEST(Calibrate, RowPredictionEqualsPlanPrediction) {
  const Measurements measurements = small();
  const cost::CalibrationRow row = calibration_row(measurements.rows[0]);
  const cost::Candidate candidate{measurements.start, {0.8}};
  const std::vector<double> predicted = row.predicted(candidate);
  const plan::Job& job = measurements.rows[0].job;
  const predict::Estimate estimate =
      predict::estimate(predict::scenario_of(job, {predict::conventions_of(job.software).value(), measurements.start}),
                        measurements.rows[0].plan);
  ASSERT_EQ(predicted.size(), 7U);  // the iteration, five kinds, and actor_train
  EXPECT_EQ(predicted[0], estimate.iteration_seconds);
  const auto train = workflow::find_task(job.workflow, "actor_train")->index();
  EXPECT_EQ(predicted[6], estimate.activities[train].seconds);
  EXPECT_EQ(predicted[3], predicted[6]) << "all training is the actor's, and nothing leaves the devices";
  double kinds = 0;
  for (std::size_t i = 1; i <= 5; ++i) kinds += predicted[i];
  EXPECT_NEAR(predicted[0], kinds + measurements.start.iteration, 1e-6) << "one after the other";
}

/// Job of examples/jobs with its plan.
struct Example {
  std::string name;  ///< of the plan: JOB.plan.json
  bool inter = true;
  bool intra = true;
};

/// The example with measured times equal to the output of `dovetail plan --plan`.
Measurements measured_example(const Example& example) {
  const std::string folder = DOVETAIL_SOURCE_DIR "/examples/jobs/";
  const std::string job_path = folder + example.name.substr(0, example.name.find('.')) + ".yaml";
  plan::Job job = plan::parse_job(base::read_file(job_path).value(), job_path).value();
  plan::Plan plan = plan::parse_plan(base::read_file(folder + example.name).value(), example.name, job).value();
  Measurement row{.name = example.name, .group = example.name, .job = std::move(job), .plan = std::move(plan)};
  if (!example.inter) row.plan.fusion.threshold.reset();
  if (!example.intra) row.plan.fusion.training.reset();
  const predict::Software software = predict::software_of(row.job).value();
  const predict::Estimate estimate = predict::estimate(predict::scenario_of(row.job, software), row.plan);
  row.seconds = estimate.iteration_seconds;
  for (const PhaseKind kind : phase_kinds) {
    MeasuredPhase& phase = row.phases.emplace_back(MeasuredPhase{kind, 0});
    for (std::size_t step = 0; step < estimate.activities.size(); ++step)
      phase.seconds += seconds_in_phase(kind, row.job, estimate.graph.activities[step], estimate.activities[step]);
  }
  std::erase_if(row.phases, [](const MeasuredPhase& phase) { return phase.seconds == 0; });
  Measurements measurements{
      .name = "as predicted", .source = "itself", .start = software.efficiency, .fitted = {}, .spread = {}, .rows = {}};
  measurements.rows.push_back(std::move(row));
  return measurements;
}

TEST(Calibrate, ExactMeasurementsKeepConstants) {
  for (const Example& example :
       {Example{"rlhfuse-33b-13b.plan.json"}, Example{"rlhfuse-33b-13b.plan.json", true, false},
        Example{"rlhfuse-33b-13b.plan.json", false, true}, Example{"rlhfuse-33b-13b.plan.json", false, false},
        Example{"ppo-7b.plan.yaml"}, Example{"grpo-8b-async.plan.json"}}) {
    CalibrateOptions options;
    options.fit.restarts = 0;
    options.fit.evaluations = 120;
    const Calibration calibration = calibrate(measured_example(example), options);
    EXPECT_GE(calibration.values.size(), 5U);
    for (const FittedValue& value : calibration.values)
      EXPECT_NEAR(value.value / value.start, 1, 1e-6) << example.name << ", " << value.name;
    EXPECT_LT(calibration.fitted.mean, 1e-6) << example.name;
  }
}

TEST(Calibrate, OffloadIsNotTraining) {
  Measurement row = small().rows[0];
  const std::size_t train = workflow::find_task(row.job.workflow, "actor_train")->index();
  row.plan.tasks[train].offload.optimizer = true;
  const std::vector<double> predicted = calibration_row(row).predicted({small().start, {0.8}});
  EXPECT_GT(predicted[4], 0.01);
  EXPECT_NEAR(predicted[3] + predicted[4], predicted[6], 1e-9);
}

TEST(Calibrate, PhaseWeightDependsOnItsShare) {
  const Measurements measurements = small();
  const cost::CalibrationRow row = calibration_row(measurements.rows[0]);
  std::vector<double> weights;
  for (const cost::MeasuredSeconds& measured : row.measured) weights.push_back(measured.weight);
  EXPECT_THAT(weights, ElementsAre(1, 0.5, 0, 0, 0, 0, 0.5));
  EXPECT_EQ(phase_weight(measurements.rows[0], 2.9), 0.1);
  EXPECT_EQ(phase_weight(measurements.rows[1], 40), 1) << "half of the row's weight of 2";
}

TEST(Calibrate, RecoversTheTrueEfficiencies) {
  cost::Efficiency truth = small().start;
  truth.matrix_products = 0.55;
  truth.decode_step = 2.5e-3;
  CalibrateOptions options;
  options.fit.prior = 1e-6;
  const Calibration calibration = calibrate(measured_by(truth), options);
  ASSERT_EQ(calibration.values.size(), 2U);
  EXPECT_NEAR(calibration.values[0].value, 0.55, 0.01);
  EXPECT_NEAR(calibration.values[1].value, 2.5e-3, 5e-5);
  EXPECT_EQ(calibration.values[0].start, 0.45);
  EXPECT_LT(calibration.fitted.mean, 0.005);
  ASSERT_TRUE(calibration.left_out.has_value());
  EXPECT_LT(calibration.left_out->mean, 0.02);
  EXPECT_EQ(calibration.fit.candidate.efficiency.error, calibration.left_out->mean);
  EXPECT_EQ(calibration.fit.candidate.efficiency.task, 0.5) << "constants that are not fitted stay";
  EXPECT_EQ(calibration.fitted.rank_correlation, 1);
}

TEST(Calibrate, ReportsTheErrorOfEachRow) {
  Measurements measurements = measured_by(small().start);
  measurements.fitted = {"decode_step"};
  measurements.rows[2].weight = 0;
  measurements.rows[2].caveat = "twice what it should take";
  measurements.rows[2].seconds *= 2;
  const Calibration calibration = calibrate(measurements);
  const PredictedRow& uncertain = calibration.rows[2];
  EXPECT_NEAR(uncertain.iteration.fitted / uncertain.iteration.measured, 0.5, 0.02);
  EXPECT_EQ(uncertain.caveat, "twice what it should take");
  EXPECT_LT(calibration.fitted.mean, 0.01) << "doubtful rows do not count";
  EXPECT_EQ(calibration.rows[0].phases[0].name, "generation");
  EXPECT_GT(calibration.rows[0].phases[0].measured, 0);
  EXPECT_EQ(calibration.rows[0].phases[1].measured, 0) << "inference was not measured";
  EXPECT_TRUE(calibration.rows[0].iteration.left_out.has_value());
}

TEST(Calibrate, OneGroupHasNoCrossValidation) {
  Measurements measurements = measured_by(small().start);
  for (Measurement& row : measurements.rows) row.group = "same";
  const Calibration calibration = calibrate(measurements);
  EXPECT_FALSE(calibration.left_out.has_value());
  EXPECT_FALSE(calibration.rows[0].iteration.left_out.has_value());
  EXPECT_LT(calibration.fitted.mean, 0.01);
  EXPECT_EQ(calibration.fit.candidate.efficiency.error, measurements.start.error)
      << "a good fit does not predict other runs";
}

TEST(Calibrate, ErrorIsAtLeastTheFitError) {
  Measurements measurements = measured_by(small().start);
  measurements.start.error = 0.05;
  measurements.fitted = {"decode_step"};
  for (Measurement& row : measurements.rows) {
    row.group = "same";
    row.seconds *= 3;
  }
  const Calibration calibration = calibrate(measurements);
  EXPECT_GT(calibration.fitted.mean, 0.1);
  EXPECT_EQ(calibration.fit.candidate.efficiency.error, calibration.fitted.mean);
}

TEST(Calibrate, FitsConstantsThatTheRowsDetermine) {
  Measurements measurements = small();
  measurements.fitted.clear();
  std::vector<std::string> names;
  for (const cost::Unknown& unknown : unknowns_of(measurements)) names.push_back(unknown.name);
  EXPECT_THAT(names, testing::Contains("decode_layer"));
  EXPECT_THAT(names, testing::Contains("spread"));
  EXPECT_THAT(names, testing::Not(testing::Contains("expert_products"))) << "the model has no experts";
  EXPECT_THAT(names, testing::Not(testing::Contains("decode_launch"))) << "it starts at 0";
}

TEST(Calibrate, StopsWithTheBestSoFar) {
  const Measurements measurements = measured_by(small().start);
  CalibrateOptions options;
  std::vector<double> shares;
  options.should_continue = [&](double share) {
    shares.push_back(share);
    return shares.size() < 5;
  };
  const Calibration calibration = calibrate(measurements, options);
  EXPECT_TRUE(calibration.stopped);
  EXPECT_FALSE(calibration.left_out.has_value());
  EXPECT_GE(calibration.fit.candidate.efficiency.error, measurements.start.error);
  EXPECT_EQ(shares.size(), 5U);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_LE(shares.back(), 1);
}

}  // namespace
}  // namespace dovetail::measure
