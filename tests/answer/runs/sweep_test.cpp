#include "answer/runs/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "answer/texts.h"
#include "cli/job_files.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;
using study::SweepInput;
using testing::HasSubstr;

SweepRequest small_request(SweepInput over, const std::string& values) {
  return {.job = {"job.yaml", cli::small_job},
          .plan = Input{"plan.json", cli::small_plan},
          .over = over,
          .values = values,
          .cap = {},
          .search = {}};
}

std::string message_of(const SweepRequest& request) {
  const auto answer = answer_to(request, {});
  return answer.ok() ? "" : answer.error().message;
}

TEST(SweepAnswer, RejectsUselessOptions) {
  SweepRequest nodes = small_request(SweepInput::nodes, "1");
  EXPECT_THAT(message_of(nodes), HasSubstr("--over nodes and --plan cannot be combined"));
  SweepRequest batch = small_request(SweepInput::batch, "16");
  batch.cap = "keep";
  EXPECT_EQ(message_of(batch), "--cap needs --over length");
}

TEST(SweepAnswer, NamesNoBestAmongOneValue) {
  SweepAnswer answer = answer_to(small_request(SweepInput::mini_batch, "1,2"), {}).value();
  const auto compares = testing::AnyOf(HasSubstr("Highest throughput at"), HasSubstr("Throughput at every point"));
  EXPECT_THAT(texts(sections(answer)), compares);
  for (std::size_t point = 0; point < answer.sweep.points.size(); ++point)
    if (point != answer.sweep.fastest) answer.sweep.points[point].figures.reset();
  EXPECT_THAT(texts(sections(answer)), testing::Not(compares));
}

TEST(SweepAnswer, CapsGrownResponses) {
  SweepRequest request = small_request(SweepInput::length, "4");
  const double grown = answer_to(request, {}).value().sweep.points[0].figures->iteration_seconds;
  request.cap = "scale";
  EXPECT_EQ(answer_to(request, {}).value().sweep.points[0].figures->iteration_seconds, grown);
  request.cap = "keep";
  EXPECT_LT(answer_to(request, {}).value().sweep.points[0].figures->iteration_seconds, grown);
  request.cap = "0";
  EXPECT_THAT(message_of(request),
              HasSubstr("`0` is not a cap; accepted: keep, scale, or a number of tokens from 1 to "));
}

TEST(SweepAnswer, TableRowsHaveAllCells) {
  std::istringstream lines(to_csv(answer_to(small_request(SweepInput::mini_batch, "2,1000"), {}).value()));
  std::string header;
  ASSERT_TRUE(std::getline(lines, header));
  EXPECT_TRUE(header.ends_with(",verdict"));
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows)
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(header.begin(), header.end(), ',')) << line;
  EXPECT_EQ(rows, 2);
}

TEST(SweepAnswer, FindsAPlanPerNumberOfNodes) {
  SweepRequest request = small_request(SweepInput::nodes, "1,2");
  request.plan.reset();
  request.search.budget.chains = 1;
  request.search.budget.iterations = 500;
  const SweepAnswer answer = answer_to(request, {}).value();
  EXPECT_FALSE(answer.plan);
  EXPECT_EQ(title_of(answer), "small, planned for each value: nodes");
  const json object = json::parse(to_json(answer));
  EXPECT_FALSE(object.contains("plan"));
  for (const json& point : object["points"]) {
    EXPECT_EQ(point["plan"]["placement"], point["placement"]);
    EXPECT_EQ(point["words"].size(), 4U);
  }
}

}  // namespace
}  // namespace dovetail::answer
