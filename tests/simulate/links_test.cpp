#include "simulate/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace dovetail::simulate {
namespace {

using base::Ticks;
using testing::DoubleNear;
using testing::ElementsAre;

std::vector<double> shares(const std::vector<Transfer>& transfers, int links) {
  std::vector<const Transfer*> pointers;
  for (const Transfer& transfer : transfers) pointers.push_back(&transfer);
  return fair_shares(pointers, links);
}

TEST(FairShares, OneAloneHasAllOfItsLinks) { EXPECT_THAT(shares({{{0, 1}, Ticks(5), 0}}, 2), ElementsAre(1.0)); }

TEST(FairShares, WhatAnotherLinkHoldsBackIsTheOthers) {
  // Three share link 1; the one of them that is on link 0 as well leaves two thirds of that to its only other.
  const std::vector<Transfer> transfers{{{0}, Ticks(5), 0}, {{0, 1}, Ticks(5), 0}, {{1}, Ticks(5), 0}, {{1}, Ticks(5), 0}};
  const double third = 1.0 / 3;
  EXPECT_THAT(shares(transfers, 2),
              ElementsAre(DoubleNear(2 * third, 1e-12), DoubleNear(third, 1e-12), DoubleNear(third, 1e-12), DoubleNear(third, 1e-12)));
}

std::vector<Transfer> random_transfers(int links) {
  std::vector<Transfer> transfers(static_cast<std::size_t>(*rc::gen::inRange(1, 12)));
  for (Transfer& transfer : transfers) {
    for (int link = 0; link < links; ++link)
      if (*rc::gen::arbitrary<bool>()) transfer.links.push_back(link);
    if (transfer.links.empty()) transfer.links.push_back(*rc::gen::inRange(0, links));
    transfer.alone = Ticks(*rc::gen::inRange(1, 1000));
  }
  return transfers;
}

RC_GTEST_PROP(FairShares, NobodyCouldHaveMoreWithoutOneThatHasNoMoreHavingLess, ()) {
  const int links = *rc::gen::inRange(1, 6);
  const std::vector<Transfer> transfers = random_transfers(links);
  const std::vector<double> share = shares(transfers, links);
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

/// [name] when each arrives, all having begun at 0.
std::vector<Ticks> arrivals_of(const std::vector<Transfer>& transfers, int links) {
  Traffic traffic(links);
  for (std::size_t index = 0; index < transfers.size(); ++index) traffic.begin(transfers[index], index);
  std::vector<Ticks> arrivals(transfers.size());
  while (!traffic.empty()) {
    const Ticks next = traffic.next_arrival();
    for (const std::size_t name : traffic.advance(next)) arrivals[name] = next;
  }
  return arrivals;
}

TEST(Traffic, WhoSharesALinkTakesLonger) {
  // Until 20 each has a half; then the longer one has all.
  EXPECT_THAT(arrivals_of({{{0}, Ticks(10), 0}, {{0}, Ticks(30), 0}}, 1), ElementsAre(Ticks(20), Ticks(40)));
}

TEST(Traffic, WhoComesLaterTakesItsPartFromThen) {
  const Transfer first{{0}, Ticks(30), 0};
  const Transfer second{{0}, Ticks(10), 0};
  Traffic traffic(1);
  traffic.begin(first, 0);
  EXPECT_THAT(traffic.advance(Ticks(20)), ElementsAre());
  traffic.begin(second, 1);
  // Both have 10 left.
  EXPECT_EQ(traffic.next_arrival(), Ticks(40));
  EXPECT_THAT(traffic.advance(Ticks(40)), ElementsAre(0, 1));
  EXPECT_TRUE(traffic.empty());
}

RC_GTEST_PROP(Traffic, NoLinkIsFasterThanItsWork, ()) {
  const int links = *rc::gen::inRange(1, 5);
  const std::vector<Transfer> transfers = random_transfers(links);
  const std::vector<Ticks> arrivals = arrivals_of(transfers, links);
  for (std::size_t index = 0; index < transfers.size(); ++index) RC_ASSERT(arrivals[index] >= transfers[index].alone);
  std::int64_t all = 0;
  for (int link = 0; link < links; ++link) {
    std::int64_t work = 0;
    Ticks last;
    for (std::size_t index = 0; index < transfers.size(); ++index) {
      if (!std::count(transfers[index].links.begin(), transfers[index].links.end(), link)) continue;
      work += transfers[index].alone.count();
      last = std::max(last, arrivals[index]);
    }
    RC_ASSERT(last.count() >= work);
    all += work;
  }
  RC_ASSERT(std::max_element(arrivals.begin(), arrivals.end())->count() <= all + static_cast<std::int64_t>(transfers.size()));
}

RC_GTEST_PROP(Traffic, OneLinkIsNeverIdleBeforeItsLastArrival, ()) {
  std::vector<Transfer> transfers = random_transfers(1);
  const std::vector<Ticks> arrivals = arrivals_of(transfers, 1);
  const std::int64_t work = std::accumulate(transfers.begin(), transfers.end(), std::int64_t{0},
                                            [](std::int64_t sum, const Transfer& transfer) { return sum + transfer.alone.count(); });
  const std::int64_t last = std::max_element(arrivals.begin(), arrivals.end())->count();
  // Each arrival is rounded up to a whole ns.
  RC_ASSERT(last >= work && last <= work + static_cast<std::int64_t>(transfers.size()));
}

}  // namespace
}  // namespace dovetail::simulate
