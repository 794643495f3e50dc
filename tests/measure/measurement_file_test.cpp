// Files of measured runs.
#include "measure/measurement_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "support/measurements.h"

namespace dovetail::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& content) {
  const auto read = parse_measurements(content, "runs.yaml");
  return read.ok() ? "" : base::to_text(read.error());
}

/// The error for the small file with `from` replaced by `to`.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = test::measurement_text();
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return error_of(text.replace(place, from.size(), to));
}

TEST(MeasurementFile, ReadsRows) {
  const Measurements read = parse_measurements(test::measurement_text(), "runs.yaml").value();
  EXPECT_EQ(read.name, "h100/small");
  EXPECT_EQ(read.source, "a test");
  EXPECT_EQ(read.start.name, "h100/small");
  EXPECT_EQ(read.start.task, 0.5);
  EXPECT_THAT(read.fitted, ElementsAre("matrix_products", "decode_step"));
  EXPECT_EQ(read.spread.high, 1.2);
  ASSERT_EQ(read.rows.size(), 3U);
  EXPECT_EQ(read.rows[0].name, "one");
  EXPECT_EQ(read.rows[0].group, "qwen3-0.6b") << "defaults to the first model's name";
  EXPECT_EQ(read.rows[0].seconds, 30);
  ASSERT_EQ(read.rows[0].phases.size(), 2U);
  EXPECT_EQ(name_of(read.rows[0].phases[1].phase, read.rows[0].job), "actor_train");
  EXPECT_EQ(read.rows[0].phases[1].seconds, 4);
  EXPECT_EQ(read.rows[1].group, "other");
  EXPECT_EQ(read.rows[1].weight, 2);
  ASSERT_TRUE(read.rows[1].responses.has_value());
  EXPECT_EQ(read.rows[1].responses->cap, 1000);
  EXPECT_EQ(read.rows[2].caveat, "a guess");
  EXPECT_EQ(read.rows[2].weight, 0);
  EXPECT_EQ(read.rows[2].job.name, "small");
}

TEST(Measurement, TitlesOfPhasesFollowTheGlossary) {
  EXPECT_EQ(phase_title("scoring"), "inference");
  EXPECT_EQ(phase_title("refit"), "weight sync");
  EXPECT_EQ(phase_title("generation"), "generation");
  EXPECT_EQ(phase_title("actor_train"), "actor_train");
}

TEST(MeasurementFile, FusedTasksMustMatchThePlan) {
  EXPECT_THAT(error_with("seconds: 30,", "seconds: 30, fused: [[actor_train, critic_train]],"),
              HasSubstr("`fused` is a list; it must be omitted, because the plan fuses no trainings"));
}

TEST(MeasurementFile, ReadsTheExample) {
  const std::string path = DOVETAIL_SOURCE_DIR "/examples/measurements/nemo-rl-dense.yaml";
  const Measurements read = parse_measurements(base::read_file(path).value(), path).value();
  EXPECT_EQ(read.rows.size(), 4U);
  EXPECT_EQ(read.rows[0].job.name, "grpo-8b") << "from its own file";
}

TEST(MeasurementFile, ErrorsHaveTheirLocation) {
  EXPECT_THAT(error_with("measurement@1", "measurement@2"), HasSubstr("runs.yaml:1:9: `format` is"));
  EXPECT_THAT(error_with("task: 0.5", "tsak: 0.5"),
              HasSubstr("runs.yaml:4:9: unknown key `tsak` in `start`; did you mean `task`?"));
  EXPECT_THAT(error_with("task: 0.5", "from: assmed"), HasSubstr("did you mean 'assumed'?"));
  EXPECT_THAT(error_with("decode_step]", "decode_stp]"), HasSubstr("did you mean 'decode_step'?"));
  EXPECT_THAT(error_with("decode_step]", "decode_launch]"),
              HasSubstr("`decode_launch` starts at 0; its `start` must be from 1e-06"));
  EXPECT_THAT(error_with("decode_step]", "matrix_products]"), HasSubstr("duplicate constant"));
  EXPECT_THAT(error_with("high: 1.2", "high: 0.2"), HasSubstr("must have low <= start <= high"));
  EXPECT_THAT(error_with("name: two", "name: one"), HasSubstr("duplicate row name `one`"));
  EXPECT_THAT(error_with("seconds: 30", "seconds: 0"), HasSubstr("`seconds` must be a number from 0.001"));
  EXPECT_THAT(error_with("actor_train: 4", "actor_trian: 4"),
              HasSubstr("unknown key `actor_trian` in `phases`; did you mean `actor_train`?"));
  EXPECT_THAT(error_with("actor_train: 4", "reward_rule: 4"), HasSubstr("unknown key `reward_rule`"));
  EXPECT_THAT(error_with("weight: 2", "weight: 2, doubtful: x"),
              HasSubstr("`weight` and `doubtful` cannot be combined"));
  EXPECT_THAT(error_with("cap: 1000", "cap: 300"), HasSubstr("with a spread of 0.3: "));
  EXPECT_THAT(error_with("*job", "nowhere.yaml"), HasSubstr("nowhere.yaml: "));
  EXPECT_THAT(error_with("dp: 8", "dp: 4"), HasSubstr("its layout dp4 tp1 pp1 uses 4 devices"));
}

TEST(MeasurementFile, NeedsACountedRowAndOneGpuType) {
  const std::string only_with_caveats = test::file_of("{name: one, job: *job, plan: *plan, seconds: 30, doubtful: x}");
  EXPECT_THAT(error_of(only_with_caveats), HasSubstr("no row counts in the fit"));
  std::string other_gpu = test::file_of("{name: one, job: *job, plan: *plan, seconds: 30}", "H200");
  EXPECT_EQ(error_of(other_gpu), "");
  other_gpu += "  - {name: two, plan: *plan, seconds: 30, job: " + test::job_text("H100") + "}\n";
  EXPECT_THAT(error_of(other_gpu), HasSubstr("all rows must have the same GPU type"));
}

}  // namespace
}  // namespace dovetail::measure
