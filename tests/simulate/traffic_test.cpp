#include "simulate/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

TEST(FairShares, ASingleTransferHasItsWholeLinks) { EXPECT_THAT(shares({{{0, 1}, Ticks(5), 0}}), ElementsAre(1.0)); }

TEST(FairShares, OthersGetTheShareThatALimitedTransferLeaves) {
  // Three share link 1. The one that is also on link 0 leaves two thirds of it to the only other transfer there.
  const std::vector<Transfer> transfers{
      {{0}, Ticks(5), 0}, {{0, 1}, Ticks(5), 0}, {{1}, Ticks(5), 0}, {{1}, Ticks(5), 0}};
  const double third = 1.0 / 3;
  EXPECT_THAT(shares(transfers), ElementsAre(DoubleNear(2 * third, 1e-12), DoubleNear(third, 1e-12),
                                             DoubleNear(third, 1e-12), DoubleNear(third, 1e-12)));
}

RC_GTEST_PROP(FairShares, AreMaxMinFair, ()) {
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
  // Each has a full link on which no other transfer has more.
  for (std::size_t index = 0; index < transfers.size(); ++index)
    RC_ASSERT(std::any_of(transfers[index].links.begin(), transfers[index].links.end(), [&](int link) {
      const auto at = static_cast<std::size_t>(link);
      return used[at] >= 1 - 1e-9 && most[at] <= share[index] + 1e-9;
    }));
}

}  // namespace

namespace {

using base::Ticks;
using testing::ElementsAre;

/// Returns [name] the arrival of each transfer, all beginning at 0.
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

TEST(Traffic, SharingALinkTakesLonger) {
  // Until 20 each has half of the link, then the longer one has all of it.
  EXPECT_THAT(arrivals_of({{{0}, Ticks(10), 0}, {{0}, Ticks(30), 0}}, 1), ElementsAre(Ticks(20), Ticks(40)));
}

TEST(Traffic, ALaterTransferGetsItsShareFromThenOn) {
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
  const std::vector<Transfer> transfers = test::random_transfers(links, 12);
  const std::vector<Ticks> arrivals = arrivals_of(transfers, links);
  for (std::size_t index = 0; index < transfers.size(); ++index)
    RC_ASSERT(arrivals[index] >= transfers[index].uncontended);
  std::int64_t all = 0;
  for (int link = 0; link < links; ++link) {
    std::int64_t work = 0;
    Ticks last;
    for (std::size_t index = 0; index < transfers.size(); ++index) {
      if (!std::count(transfers[index].links.begin(), transfers[index].links.end(), link)) continue;
      work += transfers[index].uncontended.count();
      last = std::max(last, arrivals[index]);
    }
    RC_ASSERT(last.count() >= work);
    all += work;
  }
  RC_ASSERT(std::max_element(arrivals.begin(), arrivals.end())->count() <=
            all + static_cast<std::int64_t>(transfers.size()));
}

RC_GTEST_PROP(Traffic, OneLinkIsNeverIdleBeforeItsLastArrival, ()) {
  std::vector<Transfer> transfers = test::random_transfers(1, 12);
  const std::vector<Ticks> arrivals = arrivals_of(transfers, 1);
  const std::int64_t work =
      std::accumulate(transfers.begin(), transfers.end(), std::int64_t{0},
                      [](std::int64_t sum, const Transfer& transfer) { return sum + transfer.uncontended.count(); });
  const std::int64_t last = std::max_element(arrivals.begin(), arrivals.end())->count();
  // Each arrival is rounded up to a ns.
  RC_ASSERT(last >= work && last <= work + static_cast<std::int64_t>(transfers.size()));
}

/// Returns [transfer] the exact arrival of each transfer that begins at `begins`. All shares are recomputed at every
/// change.
std::vector<double> arrivals_sharing_all(const std::vector<Transfer>& transfers, const std::vector<double>& begins) {
  std::vector<double> left;
  for (const Transfer& transfer : transfers) left.push_back(static_cast<double>(transfer.uncontended.count()));
  std::vector<double> arrivals(transfers.size(), -1);
  double now = 0;
  while (std::count(arrivals.begin(), arrivals.end(), -1) > 0) {
    std::vector<const Transfer*> in_progress;
    std::vector<std::size_t> numbers;
    double next = 1e18;
    for (std::size_t index = 0; index < transfers.size(); ++index) {
      if (begins[index] > now) next = std::min(next, begins[index]);
      if (begins[index] > now || arrivals[index] >= 0) continue;
      in_progress.push_back(&transfers[index]);
      numbers.push_back(index);
    }
    const std::vector<double> share = fair_shares(in_progress);
    for (std::size_t index = 0; index < numbers.size(); ++index)
      next = std::min(next, now + left[numbers[index]] / share[index]);
    for (std::size_t index = 0; index < numbers.size(); ++index) {
      left[numbers[index]] -= share[index] * (next - now);
      if (left[numbers[index]] < 1e-6) arrivals[numbers[index]] = next;
    }
    now = next;
  }
  return arrivals;
}

RC_GTEST_PROP(Traffic, MatchesRecomputingAllShares, ()) {
  const int links = *rc::gen::inRange(1, 8);
  const std::vector<Transfer> transfers = test::random_transfers(links, 12);
  std::vector<double> begins(transfers.size());
  for (double& begin : begins) begin = static_cast<double>(*rc::gen::inRange(0, 500));
  std::vector<std::size_t> order(transfers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return begins[a] < begins[b]; });
  Traffic traffic(links);
  std::vector<double> arrivals(transfers.size());
  const auto go_to = [&](Ticks time) {
    for (const std::size_t name : traffic.advance(time)) arrivals[name] = static_cast<double>(time.count());
  };
  for (const std::size_t index : order) {
    const Ticks begin(static_cast<std::int64_t>(begins[index]));
    while (!traffic.empty() && traffic.next_arrival() <= begin) go_to(traffic.next_arrival());
    go_to(begin);
    traffic.begin(transfers[index], index);
  }
  while (!traffic.empty()) go_to(traffic.next_arrival());
  const std::vector<double> expected = arrivals_sharing_all(transfers, begins);
  // Each arrival is rounded up to a ns. No other transfer gets its share until then.
  for (std::size_t index = 0; index < transfers.size(); ++index)
    RC_ASSERT(std::abs(arrivals[index] - expected[index]) <= 2.0 * static_cast<double>(transfers.size()));
}

TEST(Traffic, ManyTransfersAreRecomputedInSteps) {
  // 400 different transfers over 20 links.
  std::vector<Transfer> transfers;
  for (int index = 0; index < 400; ++index)
    transfers.push_back(
        {{index % 20, (7 * index + index / 20) % 20}, Ticks(1'000'000 + 37'003 * (index * index % 83)), 0});
  for (Transfer& transfer : transfers)
    if (transfer.links[0] == transfer.links[1]) transfer.links.pop_back();
  const std::vector<Ticks> arrivals = arrivals_of(transfers, 20);
  const std::vector<double> exact = arrivals_sharing_all(transfers, std::vector<double>(transfers.size(), 0));
  const auto last = static_cast<double>(std::max_element(arrivals.begin(), arrivals.end())->count());
  const double least = *std::max_element(exact.begin(), exact.end());
  EXPECT_GE(last, 0.999 * least);
  EXPECT_LE(last, (1 + 2.0 / Traffic::exact_count) * least);
}

/// Returns the arrivals of the transfers after the first `from`, which begin at `begins`. Time also advances to each of
/// `stops`.
std::vector<Ticks> arrivals_by(Traffic traffic, const std::vector<Transfer>& transfers,
                               const std::vector<Ticks>& begins, const std::vector<Ticks>& stops,
                               std::size_t from = 0) {
  std::vector<Ticks> arrivals(transfers.size());
  const auto go_to = [&](Ticks time) {
    while (!traffic.empty() && traffic.next_arrival() < time) {
      const Ticks next = traffic.next_arrival();
      for (const std::size_t name : traffic.advance(next)) arrivals[name] = next;
    }
    for (const std::size_t name : traffic.advance(time)) arrivals[name] = time;
  };
  std::vector<Ticks> times = begins;
  times.insert(times.end(), stops.begin(), stops.end());
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (const Ticks time : times) {
    go_to(time);
    for (std::size_t index = from; index < transfers.size(); ++index)
      if (begins[index] == time) traffic.begin(transfers[index], index);
  }
  while (!traffic.empty()) go_to(traffic.next_arrival());
  return arrivals;
}

// The first transfers begin together and arrive alone, which makes their course known. The others then join them in
// progress, or begin after they have arrived.
RC_GTEST_PROP(TransferCache, DoNotChangeArrivals, ()) {
  const int links = *rc::gen::inRange(2, 8);
  std::vector<Transfer> transfers =
      *rc::gen::arbitrary<bool>() ? test::random_transfers(links, 12) : std::vector<Transfer>();
  const std::size_t late = transfers.size();
  while (transfers.size() < late + 2 * Traffic::exact_count)
    for (Transfer& transfer : test::random_transfers(links, 12)) transfers.push_back(std::move(transfer));
  std::vector<Ticks> together(transfers.size());
  std::vector<Ticks> begins = together;
  for (std::size_t index = 0; index < late; ++index) begins[index] = Ticks(*rc::gen::inRange(0, 100'000));
  std::vector<Ticks> stops(5);
  for (Ticks& stop : stops) stop = Ticks(*rc::gen::inRange(0, 100'000));
  TransferCache transfer_cache;
  for (const std::size_t from : {late, std::size_t(0), late})
    for (const std::vector<Ticks>& times : {together, begins, begins})
      RC_ASSERT(arrivals_by(Traffic(links, &transfer_cache), transfers, times, stops, from) ==
                arrivals_by(Traffic(links), transfers, times, {}, from));
}

TEST(TransferCache, RememberTransfersThatBeganTogether) {
  TransferCache transfer_cache;
  const std::vector<Transfer> transfers(2 * Traffic::exact_count, {{0, 1}, Ticks(7), 0});
  std::vector<const Transfer*> queried;
  for (const Transfer& transfer : transfers) queried.push_back(&transfer);
  EXPECT_EQ(transfer_cache.find(queried), nullptr);
  const std::vector<Ticks> at_once(transfers.size());
  arrivals_by(Traffic(2, &transfer_cache), transfers, at_once, {});
  ASSERT_NE(transfer_cache.find(queried), nullptr);
  EXPECT_EQ(transfer_cache.find(queried)->arrivals.size(), transfers.size());
  queried.pop_back();
  EXPECT_EQ(transfer_cache.find(queried), nullptr);
}

}  // namespace

}  // namespace dovetail::simulate
