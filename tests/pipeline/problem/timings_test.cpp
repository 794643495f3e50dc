#include "pipeline/problem/timings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "base/file.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {
namespace {

using testing::ElementsAre;

TimingsOptions microbatches(std::map<std::string, int> counts) { return {std::move(counts), {}}; }

TimedProblem timed(std::string_view content, const TimingsOptions& options) {
  auto result = problem_from_timings(content, "t.csv", options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : to_text(result.error()));
  return result.ok() ? std::move(result).value() : TimedProblem{};
}

std::string error_of(std::string_view content, const TimingsOptions& options = microbatches({{"a", 4}})) {
  const auto result = problem_from_timings(content, "t.csv", options);
  return result.ok() ? "no error" : to_text(result.error());
}

TEST(Timings, MakeAProblemOfTwoModels) {
  const TimedProblem result = timed(
      "model,stage,op,seconds\n"
      "actor,0,F,0.002\n"
      "actor,0,B,0.004\n"
      "actor,1,F,0.0025\n"
      "actor,1,B,0.005\n"
      "actor,2,F,0.002\n"
      "actor,2,B,0.004\n"
      "\n"
      "critic,0,F,1e-3\n"
      "critic,0,B,2e-3\n"
      "critic,1,F,1e-3\n"
      "critic,1,B,2e-3\n"
      "critic,1,S,5e-9\n",
      microbatches({{"actor", 8}, {"critic", 4}}));
  const Problem& problem = result.problem;
  EXPECT_EQ(find_fault(problem), std::nullopt);
  EXPECT_EQ(problem.time_unit, TimeUnit::ms);
  EXPECT_EQ(problem.devices, 3);
  ASSERT_EQ(problem.models.size(), 2U);
  const Model& actor = problem.models[0];
  EXPECT_EQ(actor.name, "actor");
  EXPECT_EQ(actor.microbatches, 8);
  EXPECT_EQ(actor.minibatches, 1);
  EXPECT_THAT(actor.forward, ElementsAre(Ticks(2'000'000), Ticks(2'500'000), Ticks(2'000'000)));
  EXPECT_THAT(actor.backward, ElementsAre(Ticks(4'000'000), Ticks(5'000'000), Ticks(4'000'000)));
  EXPECT_FALSE(actor.split());
  EXPECT_FALSE(actor.has_steps());
  EXPECT_THAT(actor.activation, ElementsAre(Memory(0), Memory(0), Memory(0)));
  EXPECT_THAT(actor.replicas, ElementsAre(ElementsAre(DeviceId(0), DeviceId(1), DeviceId(2))));
  const Model& critic = problem.models[1];
  EXPECT_EQ(critic.microbatches, 4);
  EXPECT_THAT(critic.replicas, ElementsAre(ElementsAre(DeviceId(2), DeviceId(1))));
  EXPECT_THAT(critic.step, ElementsAre(Ticks(0), Ticks(5)));
}

TEST(Timings, TakeTheMedianAndReportTheSpread) {
  const TimedProblem result = timed(
      "seconds , op,model,\"stage\"\r\n"
      "\"5e-9\",F,a,0\r\n"
      "3e-9,B,a,0\r\n"
      "2e-9,F,a,0\r\n"
      "9e-9,F,a,0\r\n"
      "6e-9,B,a,0\r\n",
      microbatches({{"a", 1}}));
  EXPECT_EQ(result.problem.models[0].forward[0], Ticks(5));
  EXPECT_EQ(result.problem.models[0].backward[0], Ticks(5)) << "the mean of 3 and 6, rounded half up";
  ASSERT_EQ(result.spread.size(), 2U);
  EXPECT_EQ(result.spread[0].model, "a");
  EXPECT_EQ(result.spread[0].stage, 0);
  EXPECT_EQ(result.spread[0].op, OpKind::F);
  EXPECT_EQ(result.spread[0].rows, 3);
  EXPECT_EQ(result.spread[0].median, Ticks(5));
  EXPECT_EQ(result.spread[0].min, Ticks(2));
  EXPECT_EQ(result.spread[0].max, Ticks(9));
  EXPECT_EQ(result.spread[1].op, OpKind::B);
  EXPECT_EQ(result.spread[1].rows, 2);
  EXPECT_EQ(result.spread[1].max, Ticks(6));
}

TEST(Timings, ReadASplitBackward) {
  const TimedProblem result = timed(
      "model,stage,op,seconds,activation_bytes\n"
      "a,0,F,1,2000\na,0,I,2,\na,0,W,3,\n",
      microbatches({{"a", 1}}));
  const Model& model = result.problem.models[0];
  ASSERT_TRUE(model.split());
  EXPECT_EQ(model.backward[0], Ticks(2'000'000'000));
  EXPECT_EQ(model.weight_gradient[0], Ticks(3'000'000'000));
  EXPECT_EQ(model.weight_activation, model.activation);
}

TEST(Timings, ReadActivationInGigabytes) {
  const TimedProblem result = timed(
      "model,stage,op,seconds,activation_bytes\n"
      "a,0,F,1,1234567500\n"  // rounded half up to a millionth of a GB
      "a,0,B,1,9\n"           // not needed: the forward has it
      "a,1,F,1,\n"
      "a,1,B,1,3000.0\n"
      "a,1,B,1,6e3\n"
      "a,1,B,1,\n",
      microbatches({{"a", 1}}));
  EXPECT_THAT(result.problem.models[0].activation, ElementsAre(Memory(1'234'568), Memory(5)));
}

TEST(Timings, PlaceStagesByMap) {
  const std::string content = "model,stage,op,seconds\na,0,F,1\na,0,B,1\na,1,F,1\na,1,B,1\nb,0,F,1\nb,0,B,1\n";
  TimingsOptions options = microbatches({{"a", 1}, {"b", 1}});
  EXPECT_THAT(timed(content, options).problem.models[1].replicas[0], ElementsAre(DeviceId(1)));
  options.devices["a"] = {DeviceId(3), DeviceId(3)};
  const Problem problem = timed(content, options).problem;
  EXPECT_EQ(problem.devices, 4);
  EXPECT_THAT(problem.models[0].replicas[0], ElementsAre(DeviceId(3), DeviceId(3)));
  EXPECT_THAT(problem.models[1].replicas[0], ElementsAre(DeviceId(1)));
}

TEST(Timings, DocumentedExampleGivesItsProblem) {
  const auto documentation = base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/docs/formats.md");
  ASSERT_TRUE(documentation.ok());
  const std::size_t section = documentation->find("## Timings CSV");
  const auto block = [&](const std::string& fence) {
    const std::size_t begin = documentation->find(fence, section) + fence.size();
    return documentation->substr(begin, documentation->find("```", begin) - begin);
  };
  const Problem problem = timed(block("```csv\n"), microbatches({{"actor", 8}, {"critic", 8}})).problem;
  EXPECT_EQ(problem_to_yaml(problem), block("```yaml\n"));
}

TEST(Timings, WrongHeadersAreRejected) {
  const std::string accepted =
      "; accepted: the columns model, stage, op, seconds and optionally activation_bytes, in any order";
  EXPECT_EQ(error_of(""), "t.csv:1:1: the file is empty" + accepted);
  EXPECT_EQ(error_of("model,stage,op\n"), "t.csv:1:1: the column seconds is missing" + accepted);
  EXPECT_EQ(error_of("model,stage,op,ms\n"), "t.csv:1:16: 'ms' is not a column" + accepted);
  EXPECT_EQ(error_of("model,stage,op,seconds,op\n"), "t.csv:1:24: the column op appears twice" + accepted);
  EXPECT_EQ(error_of("\nmodel,stage,op,seconds\n"),
            "t.csv:2:1: there are no rows after the header; add a row for each measured op");
  EXPECT_EQ(error_of("model,stage,\"op"),
            "t.csv:1:13: unterminated quote; a cell that begins with \" must end with \"");
}

TEST(Timings, WrongCellsAreRejected) {
  const std::string header = "model,stage,op,seconds,activation_bytes\n";
  EXPECT_EQ(error_of(header + "a,0,F,1\n"), "t.csv:2:1: the row has 4 cells; it must have 5, like the header");
  EXPECT_EQ(error_of(header + ",0,F,1,\n"), "t.csv:2:1: model must be a non-empty name without control characters");
  EXPECT_EQ(error_of(header + "a,x,F,1,\n"), "t.csv:2:3: stage is 'x'; it must be an integer from 0 to 65535");
  EXPECT_EQ(error_of(header + "a,65536,F,1,\n"), "t.csv:2:3: stage is '65536'; it must be an integer from 0 to 65535");
  EXPECT_EQ(error_of(header + "a,0,FW,1,\n"), "t.csv:2:5: op is 'FW'; it must be F, B, I, W or S");
  EXPECT_EQ(error_of(header + "a,0,F,fast,\n"),
            "t.csv:2:7: seconds 'fast' is not a number; accepted: a number from 0 to 1000000 s");
  EXPECT_EQ(error_of(header + "a,0,F,-1,\n"),
            "t.csv:2:7: seconds '-1' is negative; accepted: a number from 0 to 1000000 s");
  EXPECT_EQ(error_of(header + "a,0,F,0,\n"), "t.csv:2:7: seconds '0' is less than one ns; it must be at least 1e-9");
  EXPECT_EQ(error_of(header + "a,0,F,1e-10,\n"),
            "t.csv:2:7: seconds '1e-10' is less than one ns; it must be at least 1e-9");
  for (const char* bytes : {"-1", "1.5", "many", "1e16"})
    EXPECT_EQ(error_of(header + "a,0,F,1," + bytes + "\n"),
              "t.csv:2:9: activation_bytes is '" + std::string(bytes) +
                  "'; it must be an integer from 0 to 1000000000000000, or empty");
}

TEST(Timings, MissingRowsAreRejected) {
  const std::string header = "model,stage,op,seconds\n";
  EXPECT_EQ(error_of(header + "a,0,F,1\n"),
            "t.csv:2:3: stage 0 of model a has no row of op B; every stage needs F, and either B or both I and W");
  EXPECT_EQ(error_of(header + "a,0,F,1\na,0,B,1\na,1,B,1\n"),
            "t.csv:4:3: stage 1 of model a has no row of op F; every stage needs F, and either B or both I and W");
  EXPECT_EQ(error_of(header + "a,0,F,1\na,0,I,1\n"),
            "t.csv:2:3: stage 0 of model a has no row of op W; every stage needs F, and either B or both I and W");
  EXPECT_EQ(error_of(header + "a,0,F,1\na,0,B,1\na,2,F,1\na,2,B,1\n"),
            "t.csv:2:1: model a has a stage 2, but no rows of stage 1; every stage from 0 on needs rows");
  EXPECT_EQ(error_of(header + "a,0,F,1\na,0,B,1\na,1,F,1\na,1,I,1\na,1,W,1\n"),
            "t.csv:5:5: model a mixes B with I or W; use B, or I and W, on all of its stages");
  EXPECT_EQ(error_of("model,stage,op,seconds,activation_bytes\na,0,F,1,5\na,0,B,1,\na,1,F,1,\na,1,B,1,\n"),
            "t.csv:4:3: stage 1 of model a has no activation_bytes, but others have them; give them for all stages or "
            "for none");
}

TEST(Timings, UnsuitableOptionsAreRejected) {
  const std::string content = "model,stage,op,seconds\na,0,F,1\na,0,B,1\n";
  EXPECT_EQ(error_of(content, {}), "t.csv:2:1: model a has no number of micro-batches; add --microbatches a=N");
  EXPECT_EQ(error_of(content, microbatches({{"a", 0}})), "model a has 0 micro-batches; it must have at least 1");
  EXPECT_EQ(error_of(content, microbatches({{"a", 1}, {"c", 1}})),
            "--microbatches is given for model c, which is not in t.csv; accepted: a");
  EXPECT_EQ(error_of(content, {{{"a", 1}}, {{"c", {DeviceId(0)}}}}),
            "--map is given for model c, which is not in t.csv; accepted: a");
  EXPECT_EQ(error_of(content, {{{"a", 1}}, {{"a", {DeviceId(0), DeviceId(1)}}}}),
            "the map of model a has 2 devices; it must have one for each of its 1 stages");
  EXPECT_EQ(error_of(content, {{{"a", 1}}, {{"a", {DeviceId(-1)}}}}),
            "the map of model a has device -1; devices must be from 0 to 65535");
  EXPECT_EQ(error_of(content, microbatches({{"a", 1 << 30}})), "t.csv: with model a there are more than 1048576 ops");
}

}  // namespace
}  // namespace dovetail::pipeline
