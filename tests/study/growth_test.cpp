#include "study/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "workflow/lengths.h"

namespace dovetail::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using workflow::LengthDistribution;

LengthDistribution lengths() { return LengthDistribution::of({{100, 4}, {200, 3}, {1000, 3}}).value(); }

LengthGrowth growth_of(const std::string& text, GrowthFigure figure = GrowthFigure::factor,
                       std::optional<std::int64_t> cap = {}) {
  return LengthGrowth::of(lengths(), parse_growth(text, figure).value(), cap).value();
}

std::string fault_of(const std::string& text) {
  const auto growth = parse_growth(text, GrowthFigure::factor);
  return growth.ok() ? "" : growth.error().message;
}

std::string table_fault(const std::string& content) {
  const auto growth = parse_growth_table(content, "growth.csv");
  return growth.ok() ? "" : base::to_text(growth.error());
}

TEST(Growth, ParsesTextAndTable) {
  EXPECT_THAT(parse_growth("0:1,500:2.5", GrowthFigure::factor)->points,
              ElementsAre(GrowthPoint{0, 1}, GrowthPoint{500, 2.5}));
  const Growth table = parse_growth_table("step,loss,mean\n0,0.5,300\n\n100,0.4,450.5\n", "growth.csv").value();
  EXPECT_EQ(table.figure, GrowthFigure::mean);
  EXPECT_THAT(table.points, ElementsAre(GrowthPoint{0, 300}, GrowthPoint{100, 450.5}));
}

TEST(Growth, ErrorsNameAcceptedValues) {
  EXPECT_THAT(fault_of("500"),
              HasSubstr("expected STEP:VALUE pairs separated by commas, such as 0:1,500:2.5, got `500`"));
  EXPECT_THAT(fault_of("0:1,x:2"), HasSubstr("a step must be an integer from 0 to 100000000, got `x`"));
  EXPECT_THAT(fault_of("10:1,10:2"), HasSubstr("step 10 follows step 10; steps must increase"));
  EXPECT_THAT(fault_of("0:-1"), HasSubstr("must be a number above 0"));
  EXPECT_THAT(fault_of("0:1,"), HasSubstr("expected STEP:VALUE"));
}

TEST(Growth, TableErrorsHaveTheirLocation) {
  EXPECT_THAT(table_fault(""), HasSubstr("growth.csv:1:1: the table must begin with a header"));
  EXPECT_THAT(table_fault("step,tokens\n0,1\n"), HasSubstr("growth.csv:1:1: the header must have the column `step`"));
  EXPECT_THAT(table_fault("step,mean,p50\n0,1,1\n"), HasSubstr("growth.csv:1:11: duplicate length column"));
  EXPECT_THAT(table_fault("step,factor\n0,1\n5\n"), HasSubstr("growth.csv:3:1: the row has 1 cells"));
  EXPECT_THAT(table_fault("step,factor\n0,1\n5,none\n"),
              HasSubstr("growth.csv:3:1: the value at step 5 must be a number above 0, got `none`"));
  EXPECT_THAT(table_fault("step,factor\n"),
              HasSubstr("growth.csv:1:1: the table has no steps; add a row for each known step"));
}

TEST(Growth, PartHasMeanAndMaximumOfItsSteps) {
  const LengthGrowth growth = growth_of("0:1,10:3,12:1,20:2");
  for (const auto& [first, last] : {std::pair(0, 0), {0, 10}, {3, 11}, {5, 25}, {10, 12}, {30, 40}}) {
    double sum = 0;
    double most = 0;
    for (int step = first; step <= last; ++step) {
      sum += growth.factor_at(step);
      most = std::max(most, growth.factor_at(step));
    }
    EXPECT_EQ(growth.mean_of(first, last), workflow::scaled(lengths(), sum / (last - first + 1), workflow::max_length));
    const std::int64_t longest = growth.step_of_max_length(first, last);
    EXPECT_EQ(growth.factor_at(static_cast<double>(longest)), most);
    EXPECT_TRUE(longest == first || growth.factor_at(static_cast<double>(longest) - 1) < most);
  }
}

TEST(Growth, IsLinearBetweenStepsAndConstantAfterTheLast) {
  const LengthGrowth growth = growth_of("100:2,200:4");
  EXPECT_DOUBLE_EQ(growth.factor_at(0), 1);
  EXPECT_DOUBLE_EQ(growth.factor_at(50), 1.5);
  EXPECT_DOUBLE_EQ(growth.factor_at(100), 2);
  EXPECT_DOUBLE_EQ(growth.factor_at(150), 3);
  EXPECT_DOUBLE_EQ(growth.factor_at(5000), 4);
  EXPECT_EQ(growth.at(150), workflow::scaled(lengths(), 3));
  EXPECT_DOUBLE_EQ(growth_of("0:2,100:4").factor_at(0), 2);
}

TEST(Growth, EmptyGrowthKeepsLengths) {
  const LengthGrowth growth = LengthGrowth::of(lengths(), {}, std::nullopt).value();
  EXPECT_EQ(growth.at(0), lengths());
  EXPECT_EQ(growth.at(1e6), lengths());
}

TEST(Growth, CapIsFixedAndShareAtCapGrows) {
  const LengthGrowth growth = growth_of("100:6", GrowthFigure::factor, 1000);
  EXPECT_DOUBLE_EQ(growth.at_cap(0), 0.3);
  EXPECT_DOUBLE_EQ(growth.at_cap(100), 0.6);
  EXPECT_EQ(growth.at(100).longest(), 1000);
  EXPECT_EQ(growth_of("100:6").at_cap(100), 0);
}

TEST(Growth, MeanAndMedianAreMetUnderACap) {
  const LengthGrowth mean = growth_of("100:700", GrowthFigure::mean, 1000);
  EXPECT_NEAR(mean.at(0).mean(), 400, 1);
  EXPECT_NEAR(mean.at(50).mean(), 550, 1);
  EXPECT_NEAR(mean.at(100).mean(), 700, 1);
  const LengthGrowth median = growth_of("100:500", GrowthFigure::median, 1000);
  EXPECT_EQ(median.at(0).quantile(0.5), 200);
  EXPECT_EQ(median.at(100).quantile(0.5), 500);
}

TEST(Growth, FigureAboveTheCapIsAnError) {
  const auto growth = LengthGrowth::of(lengths(), parse_growth("100:1500", GrowthFigure::mean).value(), 1000);
  ASSERT_FALSE(growth.ok());
  EXPECT_EQ(growth.error().message,
            "a mean of 1500 tokens at step 100 is out of reach, because responses end at 1000 tokens; use a smaller "
            "value or a larger cap");
}

}  // namespace
}  // namespace dovetail::study
