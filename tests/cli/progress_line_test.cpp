#include "cli/progress_line.h"

#include <gtest/gtest.h>

namespace dovetail::cli {
namespace {

TEST(FitFields, LeavesOutWholeFieldsFromTheRight) {
  const std::vector<std::string> fields{"makespan 225", ", peak 15.6", ", 12.5% done"};
  EXPECT_EQ(fit_fields(fields, 80), "makespan 225, peak 15.6, 12.5% done");
  EXPECT_EQ(fit_fields(fields, 34), "makespan 225, peak 15.6");
  EXPECT_EQ(fit_fields(fields, 23), "makespan 225, peak 15.6");
  EXPECT_EQ(fit_fields(fields, 22), "makespan 225");
  EXPECT_EQ(fit_fields(fields, 11), "");
}

}  // namespace
}  // namespace dovetail::cli
