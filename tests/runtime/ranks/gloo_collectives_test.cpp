#include "runtime/ranks/gloo_collectives.h"

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/ranks/collectives_like_ordered.h"
#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/rank_job.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Clock;
using transport::Collectives;
using transport::Deadline;
using transport::Transport;
using namespace std::chrono_literals;

constexpr const char* rank_test = "GlooCollectives.DISABLED_IsARank";
/// Long enough for a few processes to start on a busy machine.
constexpr auto start_limit = 60s;

Deadline soon() { return Clock::now() + start_limit; }

/// Sum that rank 1 does not join.
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

/// Work of a rank once it is connected, by part.
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

Status run_part(const std::string& part) {
  DOVETAIL_TRY(const FoundRank rank, find_rank());
  DOVETAIL_TRY(const std::unique_ptr<Transport> end, connect_gloo(rank.place, *rank.store, *rank.monitor, soon()));
  // As in a run.
  const c10::InferenceMode no_autograd;
  const std::unique_ptr<Collectives> native = make_gloo_collectives(rank.place, *rank.store, *end);
  return parts().at(part)(*end, *native);
}

/// Runs the part of a process that another test started as a rank.
TEST(GlooCollectives, DISABLED_IsARank) {
  const char* const part = std::getenv(rank_part_variable);
  if (part == nullptr) GTEST_SKIP() << "for processes that other tests start";
  print_status(run_part(part));
}

std::vector<std::string> results_of(const std::string& part) { return RankJob(rank_test, part, 3, 3).read_results(); }

TEST(GlooCollectives, MatchOrderedCollectives) { EXPECT_THAT(results_of("sums"), testing::Each("ok")); }

TEST(GlooCollectives, AnErrorElsewhereEndsASum) {
  EXPECT_THAT(results_of("fails"), testing::Each("disk:3: the disk is full"));
}

TEST(GlooCollectives, AKilledRankEndsASum) {
  const auto results = results_of("killed");
  EXPECT_EQ(results[1], "");
  EXPECT_THAT(results[0], testing::HasSubstr("is lost: rank "));
  EXPECT_EQ(results[2], results[0]);
}

TEST(GlooCollectives, AStoppedRankEndsASumAtItsDeadline) {
  RankJob job(rank_test, "stopped", 3, 3);
  const auto begin = Clock::now();
  EXPECT_THAT(job.read_line(0, "SAID "), testing::HasSubstr("is lost: rank "));
  EXPECT_THAT(job.read_line(2, "SAID "), testing::HasSubstr("is lost: rank "));
  EXPECT_LT(Clock::now() - begin, start_limit);
}

}  // namespace
}  // namespace dovetail::runtime
