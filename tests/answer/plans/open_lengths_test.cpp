// Jobs with unknown response lengths, at several shares of their cap.
#include "answer/plans/open_lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "answer/plans/job_input.h"
#include "answer/plans/prediction.h"
#include "trainers/verl/imported.h"

namespace dovetail::answer {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const Sections& sections) {
  std::string text;
  for (const Section& section : sections.all())
    if (const Text* const lines = std::get_if<Text>(&section)) text += lines->lines;
  return text;
}

OpenLengths lengths_with(double seconds, double first_seconds, bool fits = true) {
  return {.cap = 1000,
          .error = 0.1,
          .shares = {{.share = 0.25, .mean = 250, .seconds = 10, .placement = "co-located", .first_seconds = 10},
                     {.share = 0.9,
                      .mean = 900,
                      .seconds = seconds,
                      .fits = fits,
                      .placement = "disaggregated",
                      .first_seconds = first_seconds}}};
}

TEST(OpenLengths, DecideIfAnotherPlanIsClearlyFasterOrThisOneDoesNotFit) {
  EXPECT_FALSE(lengths_with(20, 18.5).affect_choice());
  EXPECT_TRUE(lengths_with(20, 16).affect_choice());
  EXPECT_TRUE(lengths_with(20, 21, false).affect_choice());
  EXPECT_THAT(text_of(open_lengths_sections(lengths_with(20, 18.5))), HasSubstr("does not depend on the lengths"));
  EXPECT_THAT(
      text_of(open_lengths_sections(lengths_with(20, 16))),
      HasSubstr("DEPENDS on the lengths: at 90% of the cap (900 tokens), placement disaggregated takes 20.0% less"));
  EXPECT_THAT(text_of(open_lengths_sections(lengths_with(20, 21, false))),
              HasSubstr("at 90% of the cap (900 tokens), this plan does not fit"));
}

TEST(OpenLengths, ShowOnlyTimesWithoutASearch) {
  OpenLengths lengths = lengths_with(20, 0);
  for (PlanAtShare& at : lengths.shares) at.placement.clear();
  EXPECT_FALSE(lengths.affect_choice());
  const std::string text = text_of(open_lengths_sections(lengths));
  EXPECT_THAT(text, Not(HasSubstr("The choice")));
  EXPECT_THAT(text, HasSubstr("--response-length mean=..., or --lengths"));
  EXPECT_FALSE(open_lengths_json(lengths).contains("decide"));
}

TEST(OpenLengths, KeepsTheCapAtEachShare) {
  const JobInput script{"run.sh", trainers::script_of(trainers::grpo_fsdp)};
  const predict::Scenario scenario = read_scenario(script, {}).value();
  for (const double part : assumed_shares) {
    const auto& lengths = at_share_of_cap(scenario, part).job.workload.response_length;
    EXPECT_NEAR(lengths.mean(), part * 2048, 1);
    EXPECT_EQ(lengths.longest(), 2048);
    EXPECT_LT(lengths.shortest(), part * 2048) << "lengths vary";
  }
}

TEST(OpenLengths, TakesLongerWithLongerResponses) {
  const JobInput script{"run.sh", trainers::script_of(trainers::grpo_fsdp)};
  const LoadedJob loaded = load_job(script, std::nullopt, {}).value();
  EXPECT_TRUE(loaded.has_open_lengths());
  const OpenLengths lengths = plan_at_shares(loaded.scenario, *loaded.plan);
  ASSERT_EQ(lengths.shares.size(), assumed_shares.size());
  EXPECT_LT(lengths.shares[0].seconds, lengths.shares[1].seconds);
  EXPECT_LT(lengths.shares[1].seconds, lengths.shares[2].seconds);
  JobInput with_lengths = script;
  with_lengths.import.response_length = "700";
  EXPECT_FALSE(load_job(with_lengths, std::nullopt, {})->has_open_lengths());
}

}  // namespace
}  // namespace dovetail::answer
