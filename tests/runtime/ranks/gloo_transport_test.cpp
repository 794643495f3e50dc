#include "runtime/ranks/gloo_transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ranks/rank_job.h"
#include "runtime/ranks/run_rank.h"
#include "transport/collectives.h"

namespace dovetail::runtime {
namespace {

using base::Status;
using transport::Buffer;
using transport::Clock;
using transport::Deadline;
using transport::Lane;
using transport::Transport;
using namespace std::chrono_literals;

/// Long enough for a few processes to start on a busy machine.
constexpr auto start_limit = 60s;

Deadline soon() { return Clock::now() + start_limit; }

Buffer text_buffer(const std::string& text) {
  Buffer buffer = transport::make_buffer(text.size());
  if (!text.empty()) std::memcpy(buffer.data, text.data(), text.size());
  return buffer;
}

std::string text_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data), buffer.size}; }

Status unexpected(const std::string& what) { return base::Error{base::Failure::invalid, "", 0, 0, what}; }

/// Returns a text whose length depends on its number; the first is empty.
std::string text_of_number(std::uint32_t number) {
  return std::string(number % 5, static_cast<char>('a' + number % 7));
}

/// Sends `count` messages to the peer, and receives the same number in the opposite order.
Status exchange_backwards(Transport& end, std::uint32_t count) {
  const int peer = 1 - end.rank();
  std::vector<Buffer> buffers;
  for (std::uint32_t number = 0; number < count; ++number)
    end.send({peer, Lane::programs, number}, text_buffer(text_of_number(number)));
  for (std::uint32_t number = 0; number < count; ++number) {
    buffers.push_back(transport::make_buffer(number % 5));
    end.receive({peer, Lane::programs, number}, buffers.back());
  }
  for (std::uint32_t number = count; number-- > 0;) {
    DOVETAIL_CHECK(end.wait({peer, Lane::programs, number}, soon()));
    if (text_of(buffers[number]) != text_of_number(number)) return unexpected(fmt::format("message {}", number));
  }
  return end.flush(Lane::programs, soon());
}

/// Sums on a second thread, while the first exchanges messages with the same numbers.
Status sum_with_messages(Transport& end) {
  std::vector<double> values(1000, end.rank() + 1.0);
  Status summed;
  std::thread sums([&] {
    const std::vector<int> ranks{0, 1};
    for (std::uint32_t round = 0; round < 20 && summed.ok(); ++round)
      summed = transport::all_reduce(end, {ranks, round}, std::span(values), soon());
  });
  const Status exchanged = exchange_backwards(end, 100);
  sums.join();
  DOVETAIL_CHECK(exchanged);
  DOVETAIL_CHECK(summed);
  // Each round doubles the values, which the first round made equal.
  for (const double value : values)
    if (value != 3.0 * (1 << 19)) return unexpected("a sum");
  return {};
}

/// Waits for a message that no rank sends.
Status wait_in_vain(Transport& end, int peer, Clock::duration limit) {
  end.receive({peer, Lane::programs, 7}, transport::make_buffer(8));
  return end.wait({peer, Lane::programs, 7}, Clock::now() + limit);
}

Status fail_on_rank_2(Transport& end) {
  if (end.rank() != 2) return wait_in_vain(end, 2, start_limit);
  end.fail(base::Error{base::Failure::io, "disk", 3, 0, "the disk is full"});
  end.fail(base::Error{base::Failure::io, "", 0, 0, "later"});
  return wait_in_vain(end, 0, start_limit);
}

Status end_rank_1(Transport& end, int signal, Clock::duration limit) {
  if (end.rank() == 1) ::raise(signal);
  return wait_in_vain(end, 1, limit);
}

Status sleep_on_rank_1(Transport& end) {
  if (end.rank() == 0) return wait_in_vain(end, 1, 300ms);
  std::this_thread::sleep_for(1500ms);
  return wait_in_vain(end, 0, start_limit);
}

/// Flushes a message that the peer does not receive.
Status flush_in_vain(Transport& end) {
  if (end.rank() == 1) return wait_in_vain(end, 0, start_limit);
  end.send({1, Lane::reductions, 3}, text_buffer("sum"));
  return end.flush(Lane::reductions, Clock::now() + 300ms);
}

Status wait_without_store(Transport& end) {
  DOVETAIL_CHECK(transport::barrier(end, 0, soon()));
  std::printf("READY\n");
  std::fflush(stdout);
  return wait_in_vain(end, 1 - end.rank(), start_limit);
}

/// Work of a rank once it is connected, by part.
const std::map<std::string, std::function<Status(Transport&)>>& parts() {
  static const std::map<std::string, std::function<Status(Transport&)>> all{
      {"backwards", [](Transport& end) { return exchange_backwards(end, 100); }},
      {"many", [](Transport& end) { return exchange_backwards(end, 20000); }},
      {"sums", sum_with_messages},
      {"fails", fail_on_rank_2},
      {"killed", [](Transport& end) { return end_rank_1(end, SIGKILL, start_limit); }},
      {"stopped", [](Transport& end) { return end_rank_1(end, SIGSTOP, 500ms); }},
      {"late", sleep_on_rank_1},
      {"untaken", flush_in_vain},
      {"storeless", wait_without_store},
      {"waits", [](Transport&) { return Status(); }},
      {"missing", [](Transport&) { return Status(); }},
  };
  return all;
}

Status run_part(const std::string& part) {
  DOVETAIL_TRY(const FoundRank rank, find_rank());
  rank.monitor->note({.phase = "the test"});
  report_lost_store(rank.place.rank, rank.monitor->phase());
  if (part == "waits") {
    std::printf("READY\n");
    std::fflush(stdout);
  }
  // On a busy machine, a rank that is not missing may take seconds to start.
  const Clock::time_point deadline = part == "missing" ? Clock::now() + 5s : soon();
  DOVETAIL_TRY(const std::unique_ptr<Transport> end, connect_gloo(rank.place, *rank.store, *rank.monitor, deadline));
  return parts().at(part)(*end);
}

/// Runs the part of a process that another test started as a rank.
TEST(GlooTransport, DISABLED_IsARank) {
  const char* const part = std::getenv(rank_part_variable);
  if (part == nullptr) GTEST_SKIP() << "for processes that other tests start";
  print_status(run_part(part));
}

constexpr const char* rank_test = "GlooTransport.DISABLED_IsARank";

std::vector<std::string> results_of(const std::string& part, int ranks) {
  return RankJob(rank_test, part, ranks, ranks).read_results();
}

TEST(GlooTransport, DeliversByNumberWhateverTheOrder) { EXPECT_THAT(results_of("backwards", 2), testing::Each("ok")); }
TEST(GlooTransport, TakesTwentyThousandMessagesAtOnce) { EXPECT_THAT(results_of("many", 2), testing::Each("ok")); }
TEST(GlooTransport, ServesTwoThreads) { EXPECT_THAT(results_of("sums", 2), testing::Each("ok")); }

TEST(GlooTransport, TheFirstErrorIsReportedWithItsPosition) {
  EXPECT_THAT(results_of("fails", 3), testing::Each("disk:3: the disk is full"));
}

TEST(GlooTransport, AKilledRankIsNamed) {
  const auto results = results_of("killed", 3);
  EXPECT_EQ(results[1], "");
  EXPECT_THAT(results[0], testing::StartsWith("in the test: rank 1 is lost: rank "));
  EXPECT_EQ(results[2], results[0]);
}

TEST(GlooTransport, AStoppedRankIsNamed) {
  RankJob job(rank_test, "stopped", 3, 3);
  const std::string results = job.read_line(0, "SAID ");
  EXPECT_THAT(
      results,
      testing::AllOf(testing::StartsWith("in the test: rank "),
                     testing::HasSubstr("waiting for message 7 (programs) from rank 1; no heartbeat from rank 1")));
  EXPECT_EQ(job.read_line(2, "SAID "), results);
}

TEST(GlooTransport, ADeadlineNamesRankAndMessage) {
  const auto results = results_of("late", 2);
  EXPECT_THAT(results[0],
              testing::MatchesRegex(
                  "in the test: rank 0 timed out after 0\\.[3-9] s waiting for message 7 \\(programs\\) from rank 1"));
  EXPECT_EQ(results[1], results[0]);
}

TEST(GlooTransport, AMessageThatIsNotReceivedIsNotDelivered) {
  const auto results = results_of("untaken", 2);
  EXPECT_THAT(results[0], testing::MatchesRegex("in the test: rank 0 timed out after 0\\.[3-9] s waiting for rank 1 to "
                                                "receive its messages \\(reductions\\)"));
  EXPECT_EQ(results[1], results[0]);
}

TEST(GlooTransport, ALostStoreEndsAllWaits) {
  RankJob job(rank_test, "storeless", 2, 2);
  for (std::size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(job.read_line(rank, "READY"), "");
  const auto begin = Clock::now();
  job.drop_store();
  // One of them may receive the other's error first.
  EXPECT_THAT(job.read_results(),
              testing::Each(testing::AllOf(testing::StartsWith("in the test: rank "),
                                           testing::AnyOf(testing::HasSubstr("ends: the job's store at 127.0.0.1:"),
                                                          testing::HasSubstr("is lost")))));
  EXPECT_LT(Clock::now() - begin, start_limit / 2);
}

TEST(GlooTransport, AStoreLostDuringStartupEndsRanksByName) {
  RankJob job(rank_test, "waits", 2, 1);
  EXPECT_EQ(job.read_line(0, "READY"), "");
  job.drop_store();
  EXPECT_THAT(job.read_output(0), testing::HasSubstr("rank 0 ends: the job's store"));
}

TEST(GlooTransport, AMissingRankIsNamed) {
  EXPECT_EQ(RankJob(rank_test, "missing", 3, 2).read_line(0, "SAID "), "rank 2 of 3 did not connect");
}

}  // namespace
}  // namespace dovetail::runtime
