#include "simulate/fair_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "simulate/transfers.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using testing::DoubleNear;
using testing::ElementsAre;

std::vector<double> shares(const std::vector<Transfer>& transfers) {
  std::vector<const Transfer*> pointers;
  for (const Transfer& transfer : transfers) pointers.push_back(&transfer);
  return fair_shares(pointers);
}

TEST(FairShares, OneAloneHasAllOfItsLinks) { EXPECT_THAT(shares({{{0, 1}, Ticks(5), 0}}), ElementsAre(1.0)); }

TEST(FairShares, WhatAnotherLinkHoldsBackIsTheOthers) {
  // Three share link 1; the one of them that is on link 0 as well leaves two thirds of that to its only other.
  const std::vector<Transfer> transfers{
      {{0}, Ticks(5), 0}, {{0, 1}, Ticks(5), 0}, {{1}, Ticks(5), 0}, {{1}, Ticks(5), 0}};
  const double third = 1.0 / 3;
  EXPECT_THAT(shares(transfers), ElementsAre(DoubleNear(2 * third, 1e-12), DoubleNear(third, 1e-12),
                                             DoubleNear(third, 1e-12), DoubleNear(third, 1e-12)));
}

RC_GTEST_PROP(FairShares, NobodyCouldHaveMoreWithoutOneThatHasNoMoreHavingLess, ()) {
  const int links = *rc::gen::inRange(1, 6);
  const std::vector<Transfer> transfers = test::random_transfers(links, 12);
  const std::vector<double> share = shares(transfers);
  std::vector<double> used(static_cast<std::size_t>(links));
  std::vector<double> most(static_cast<std::size_t>(links));
  for (std::size_t index = 0; index < transfers.size(); ++index)
    for (const int link : transfers[index].links) {
      used[static_cast<std::size_t>(link)] += share[index];
      most[static_cast<std::size_t>(link)] = std::max(most[static_cast<std::size_t>(link)], share[index]);
    }
  for (const double sum : used) RC_ASSERT(sum <= 1 + 1e-9);
  // Each has a link that is full, and on which nobody has more.
  for (std::size_t index = 0; index < transfers.size(); ++index)
    RC_ASSERT(std::any_of(transfers[index].links.begin(), transfers[index].links.end(), [&](int link) {
      const auto at = static_cast<std::size_t>(link);
      return used[at] >= 1 - 1e-9 && most[at] <= share[index] + 1e-9;
    }));
}

}  // namespace
}  // namespace dovetail::simulate
