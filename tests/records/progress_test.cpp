#include "records/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dovetail::records {
namespace {

using testing::HasSubstr;
using testing::Not;

const control::Metrics ppo{
    {"iteration", 12},     {"reward", 0.8301},   {"kl_token", 0.01234},   {"actor_loss", -0.0123},
    {"critic_loss", 0.31}, {"actor_entropy", 2}, {"seconds", 2.06, true}, {"tokens_per_second", 1234.4, true}};

control::RunProgress progress() { return {13, 60, "actor_train", 3, 4}; }

TEST(Summary, DescribesAnIteration) {
  EXPECT_EQ(summary_of(ppo, 60),
            "12/60  reward 0.8301  KL 0.01234  actor loss -0.0123  critic loss 0.31  1234 tokens/s  2.1 s");
}

TEST(Summary, DescribesOtherAlgorithms) {
  EXPECT_EQ(summary_of({{"iteration", 1}, {"actor_loss", 1.5}, {"actor_cross_entropy", 1.25}}, 2),
            "1/2  actor loss 1.5  cross entropy 1.25");
  EXPECT_EQ(summary_of({{"iteration", 1}, {"reward_loss", 0.5}, {"reward_accuracy", 0.75}}, 2),
            "1/2  accuracy 0.75  reward loss 0.5");
  EXPECT_EQ(summary_of({{"iteration", 20}, {"loss", 0.5}, {"accuracy", 0.9}}, 20), "20/20  accuracy 0.9  loss 0.5");
  EXPECT_EQ(summary_of({{"iteration", 20}, {"loss", 0.5}, {"perplexity", 1.6}}, 20), "20/20  loss 0.5  perplexity 1.6");
}

TEST(Summary, ShowsNonNumbers) {
  EXPECT_EQ(summary_of({{"iteration", 1}, {"reward", std::nan("")}}, 2), "1/2  reward nan");
}

TEST(Progress, ShowsTheCurrentState) {
  EXPECT_EQ(progress_of(progress(), ppo, 240, 200),
            "13/60  actor_train 3/4  reward 0.8301  KL 0.01234  actor loss -0.0123  critic loss 0.31  1234 tokens/s  4 "
            "min left");
  EXPECT_EQ(progress_of(progress(), {}, -1, 200), "13/60  actor_train 3/4");
}

TEST(Progress, ShowsTimeInASuitableUnit) {
  const auto left = [](double seconds) { return progress_of(progress(), {}, seconds, 200).substr(24); };
  EXPECT_EQ(left(0), "0 s left");
  EXPECT_EQ(left(119), "119 s left");
  EXPECT_EQ(left(7'100), "118 min left");
  EXPECT_EQ(left(9'000), "2.5 h left");
}

TEST(Progress, FitsTheWidth) {
  const std::string whole = progress_of(progress(), ppo, 240, 1'000);
  EXPECT_EQ(progress_of(progress(), ppo, 240, whole.size()), whole);
  std::size_t before = 0;
  for (std::size_t columns = 0; columns <= whole.size(); ++columns) {
    const std::string line = progress_of(progress(), ppo, 240, columns);
    EXPECT_LE(line.size(), columns);
    EXPECT_GE(line.size(), before) << "a wider line shows less";
    before = line.size();
  }
  EXPECT_EQ(progress_of(progress(), ppo, 240, 73), "13/60  actor_train 3/4  reward 0.8301  KL 0.01234  4 min left");
  EXPECT_EQ(progress_of(progress(), ppo, 240, 33), "13/60  actor_train 3/4");
  EXPECT_EQ(progress_of(progress(), ppo, 240, 5), "13/60");
  EXPECT_EQ(progress_of(progress(), ppo, 240, 4), "");
}

}  // namespace
}  // namespace dovetail::records
