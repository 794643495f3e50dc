#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/program/compile.h"
#include "pipeline/program/program.h"
#include "support/random_problem.h"
#include "support/random_schedule.h"

namespace dovetail::pipeline {
namespace {

TEST(ProgramFile, RoundTrips) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Schedule schedule = test::random_schedule(test::random_problem(seed), seed);
    std::vector<Exchanges> exchanges(schedule.problem.models.size());
    const auto programs = compile(schedule, rank_per_device(schedule.problem), exchanges);
    ASSERT_TRUE(programs.ok());
    for (const Program& program : *programs) {
      const auto read = parse_program(program_to_json(program), "rank.json");
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_EQ(read->program, program);
      EXPECT_EQ(read->places.size(), program.code.size());
    }
  }
}

std::string example() {
  Problem problem;
  problem.devices = 2;
  Model model;
  model.name = "actor";
  model.replicas = {device_list({0, 1})};
  model.forward = model.backward = {Ticks(1)};
  model.activation = {Memory(1)};
  problem.models = {model};
  problem = with_defaults(problem);
  return program_to_json(compile(test::random_schedule(problem, 1), rank_per_device(problem), {{}})->front());
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " in " << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

std::string error_of(const std::string& text) {
  const auto program = parse_program(text, "rank.json");
  return program.ok() ? "" : base::to_text(program.error());
}

TEST(ProgramFile, ReportsErrorsWithPosition) {
  const std::string sound = example();
  ASSERT_EQ(error_of(sound), "");
  using testing::HasSubstr;
  EXPECT_THAT(error_of(replaced(sound, "program@1", "program@2")), HasSubstr("rank.json:1:"));
  EXPECT_THAT(error_of(replaced(sound, "\"rank\": 0", "\"rank\": 2")), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error_of(replaced(sound, "\"problem\": \"", "\"problem\": \"x")), HasSubstr("SHA-256"));
  EXPECT_THAT(error_of(replaced(sound, "\"activation\", 0", "\"weight\", 0")), HasSubstr("activation, gradient"));
  EXPECT_THAT(error_of(replaced(sound, "[\"F\", 0, 0]", "[\"G\", 0, 0]")), HasSubstr("receive, wait, send"));
  EXPECT_THAT(error_of(replaced(sound, "[\"F\", 0, 0]", "[\"run\", 0, 0]")), HasSubstr("receive, wait, send"));
  EXPECT_THAT(error_of(replaced(sound, "[\"F\", 0, 0]", "[\"F\", 0]")), HasSubstr("a list of 2"));
  EXPECT_THAT(error_of(replaced(sound, "[\"F\", 0, 0]", "[\"F\", 1, 0]")), HasSubstr("the target"));
  EXPECT_THAT(error_of(replaced(sound, "\"stages\": 2", "\"stages\": 0")), HasSubstr("from 1 to"));
}

}  // namespace
}  // namespace dovetail::pipeline
