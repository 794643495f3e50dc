#include "runtime/ranks/gloo_collectives.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/rank_job.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Clock;
using transport::Collectives;
using transport::Deadline;
using transport::Lane;
using transport::OrderedCollectives;
using transport::Transport;
using namespace std::chrono_literals;

constexpr const char* rank_test = "GlooCollectives.DISABLED_IsARank";
/// Enough for the start of a few processes on a busy machine.
constexpr auto start_limit = 60s;

Deadline soon() { return Clock::now() + start_limit; }

Status unexpected(const std::string& what) { return base::Error{base::Failure::invalid, "", 0, 0, what}; }

/// Whole numbers, of which every order of adding gives the same sums.
template <class Value>
std::vector<Value> values_of(int rank, std::size_t count) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<Value>(rank + 1) * static_cast<Value>(i % 97 + 1));
  return values;
}

/// Does the same by both, and compares.
template <class Value>
Status compare(Collectives& native, Collectives& ordered, int rank, const transport::Group& group, std::size_t count) {
  using Collective = Status (Collectives::*)(const transport::Group&, transport::Numbers, Deadline);
  transport::Group numbered = group;
  for (const Collective collective :
       {&Collectives::all_reduce, &Collectives::reduce_scatter, &Collectives::all_gather}) {
    std::vector<Value> mine = values_of<Value>(rank, count);
    std::vector<Value> expected = mine;
    DOVETAIL_CHECK((native.*collective)(numbered, std::span(mine), soon()));
    DOVETAIL_CHECK((ordered.*collective)(numbered, std::span(expected), soon()));
    if (mine != expected) return unexpected(fmt::format("{} numbers of {} ranks", count, group.ranks.size()));
    ++numbered.number;
  }
  return {};
}

/// In all groups of the ranks of which this one is, and alone.
Status sum_like_ordered(Transport& end, Collectives& native) {
  const std::vector<std::vector<int>> all{{0, 1}, {0, 1, 2}, {0, 2}, {1, 2}, {end.rank()}};
  const auto has_this = [&](const std::vector<int>& ranks) {
    return std::find(ranks.begin(), ranks.end(), end.rank()) != ranks.end();
  };
  std::vector<std::vector<int>> own;
  std::copy_if(all.begin(), all.end(), std::back_inserter(own), has_this);
  DOVETAIL_CHECK(native.open(own, soon()));
  OrderedCollectives ordered(end);
  std::uint32_t number = 0;
  for (const std::size_t count : {0U, 1U, 2U, 3U, 1000U, 100'003U})
    for (const std::vector<int>& ranks : all) {
      number += 6;
      if (!has_this(ranks)) continue;
      DOVETAIL_CHECK(compare<float>(native, ordered, end.rank(), {ranks, number}, count));
      DOVETAIL_CHECK(compare<double>(native, ordered, end.rank(), {ranks, number + 3}, count));
    }
  return {};
}

/// A sum that rank 1 does not come to.
Status sum_without_rank_1(Transport& end, Collectives& native, const std::function<void()>& instead,
                          Deadline deadline) {
  const std::vector<int> all{0, 1, 2};
  DOVETAIL_CHECK(native.open({all}, soon()));
  std::vector<float> values(1000, 1);
  DOVETAIL_CHECK(native.all_reduce({all, 0}, std::span(values), soon()));
  if (end.rank() == 1) instead();
  return native.all_reduce({all, 1}, std::span(values), deadline);
}

Status fail_on_rank_1(Transport& end, Collectives& native) {
  return sum_without_rank_1(
      end, native, [&] { end.fail(base::Error{base::Failure::io, "disk", 3, 0, "the disk is full"}); }, soon());
}

/// What a rank does once it is connected.
const std::map<std::string, std::function<Status(Transport&, Collectives&)>>& parts() {
  static const std::map<std::string, std::function<Status(Transport&, Collectives&)>> all{
      {"sums", sum_like_ordered},
      {"fails", fail_on_rank_1},
      {"killed", [](Transport& end,
                    Collectives& native) { return sum_without_rank_1(end, native, [] { ::raise(SIGKILL); }, soon()); }},
      {"stopped",
       [](Transport& end, Collectives& native) {
         return sum_without_rank_1(end, native, [] { ::raise(SIGSTOP); }, Clock::now() + start_limit / 10);
       }},
  };
  return all;
}

Status play(const std::string& part) {
  DOVETAIL_TRY(const FoundRank rank, find_rank());
  DOVETAIL_TRY(const std::unique_ptr<Transport> end, connect_gloo(rank.place, *rank.store, *rank.watch, soon()));
  // As a run is.
  const c10::InferenceMode no_autograd;
  const std::unique_ptr<Collectives> native = make_gloo_collectives(rank.place, *rank.store, *end);
  return parts().at(part)(*end, *native);
}

/// What a process that a test has started does; the tests' program is that of their ranks.
TEST(GlooCollectives, DISABLED_IsARank) {
  const char* const part = std::getenv(rank_part_variable);
  if (part == nullptr) GTEST_SKIP() << "for processes that other tests start";
  say_status(play(part));
}

std::vector<std::string> said_in(const std::string& part) { return RankJob(rank_test, part, 3, 3).hear_all(); }

TEST(GlooCollectives, SumAndGatherAsThoseInOrderDo) { EXPECT_THAT(said_in("sums"), testing::Each("ok")); }

TEST(GlooCollectives, AnErrorElsewhereEndsASum) {
  EXPECT_THAT(said_in("fails"), testing::Each("disk:3: the disk is full"));
}

TEST(GlooCollectives, AKilledRankEndsASum) {
  const auto said = said_in("killed");
  EXPECT_EQ(said[1], "");
  EXPECT_THAT(said[0], testing::HasSubstr("is lost: rank "));
  EXPECT_EQ(said[2], said[0]);
}

TEST(GlooCollectives, AStoppedRankEndsASumAtItsDeadline) {
  RankJob job(rank_test, "stopped", 3, 3);
  const auto begin = Clock::now();
  EXPECT_THAT(job.hear(0, "SAID "), testing::HasSubstr("is lost: rank "));
  EXPECT_THAT(job.hear(2, "SAID "), testing::HasSubstr("is lost: rank "));
  EXPECT_LT(Clock::now() - begin, start_limit);
}

}  // namespace
}  // namespace dovetail::runtime
