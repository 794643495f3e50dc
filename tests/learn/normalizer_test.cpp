#include "learn/normalizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace dovetail::learn {
namespace {

TEST(RunningMoments, ChangeNothingBeforeAnythingIsSeen) {
  const RunningMoments moments;
  EXPECT_EQ(moments.normalized(3), 3);
  EXPECT_EQ(moments.denormalized(3), 3);
}

TEST(RunningMoments, OfOneBatchAreItsOwnWhateverTheDecay) {
  for (const double decay : {0.0, 0.9, 0.99995}) {
    RunningMoments moments{.decay = decay};
    update(moments, std::vector<double>{1, 2, 3, 6});
    EXPECT_NEAR(moments.mean(), 3, 1e-9) << decay;
    EXPECT_NEAR(moments.deviation(), std::sqrt(3.5), 1e-6) << decay;
  }
}

TEST(RunningMoments, ForgetByTheirDecay) {
  RunningMoments moments{.decay = 0.5};
  update(moments, std::vector<double>{0});
  update(moments, std::vector<double>{});
  update(moments, std::vector<double>{3});
  EXPECT_NEAR(moments.mean(), 2, 1e-12) << "weights of a quarter and a half";
}

TEST(RunningMoments, DoNotBlowUpWhatDoesNotDiffer) {
  RunningMoments moments;
  update(moments, std::vector<double>{1, 1});
  EXPECT_DOUBLE_EQ(moments.deviation(), 1e-2);
}

RC_GTEST_PROP(RunningMoments, GoThereAndBack, ()) {
  RunningMoments moments;
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<double> values;
    for (const int each : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000))) values.push_back(each);
    update(moments, values);
  }
  const double value = *rc::gen::inRange(-1000, 1000);
  RC_ASSERT(std::abs(moments.denormalized(moments.normalized(value)) - value) < 1e-8);
}

}  // namespace
}  // namespace dovetail::learn
