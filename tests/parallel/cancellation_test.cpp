#include "parallel/cancellation.h"

#include <gtest/gtest.h>

#include <thread>

namespace dovetail::parallel {
namespace {

TEST(Cancellation, IsRequestedDirectlyOrByAnOuterOne) {
  Cancellation outer;
  const Cancellation inner(&outer);
  const Cancellation innermost(&inner, 1e300);
  EXPECT_FALSE(innermost.requested());
  EXPECT_FALSE(inner.seconds_left());
  outer.request();
  for (const Cancellation* one : {&static_cast<const Cancellation&>(outer), &inner, &innermost})
    EXPECT_EQ(one->ended_by(), EndedBy::interrupt);
  Cancellation own(nullptr);
  own.request();
  EXPECT_TRUE(is_requested(&own));
  EXPECT_FALSE(is_requested(nullptr));
}

TEST(Cancellation, IsRequestedAtTheFirstDeadline) {
  Cancellation interrupted;
  const Cancellation soon(&interrupted, 0.01);
  const Cancellation later(&soon, 1000);
  EXPECT_LE(later.seconds_left().value(), 0.01);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(later.ended_by(), EndedBy::time);
  EXPECT_EQ(later.seconds_left(), 0);
  interrupted.request();
  EXPECT_EQ(later.ended_by(), EndedBy::interrupt) << "an interrupt goes before";
  EXPECT_EQ(Cancellation(nullptr, -1).ended_by(), EndedBy::time);
}

TEST(Cancellation, NamesTheStoppedWork) {
  EXPECT_EQ(stopped_before("a plan was found", EndedBy::time).failure, base::Failure::infeasible);
  const base::Error error = stopped_before("a plan was found", EndedBy::interrupt);
  EXPECT_EQ(error.failure, base::Failure::interrupted);
  EXPECT_EQ(error.message, "interrupted before a plan was found");
}

}  // namespace
}  // namespace dovetail::parallel
