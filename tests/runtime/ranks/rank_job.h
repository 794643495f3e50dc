// Tests with ranks as processes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/launcher.h"
#include "runtime/ranks/job_monitor.h"
#include "runtime/ranks/job_store.h"
#include "runtime/ranks/rank_place.h"

namespace dovetail::runtime {

/// Environment variable with the part of a process.
inline constexpr const char* rank_part_variable = "DOVETAIL_TEST_PART";

/// Prints a rank's result.
inline void print_status(const base::Status& status) {
  std::printf("SAID %s\n", status.ok() ? "ok" : base::to_text(status.error()).c_str());
  std::fflush(stdout);
}

/// Rank that has connected to its job.
struct FoundRank {
  RankPlace place;
  std::unique_ptr<JobStore> store;
  std::unique_ptr<JobMonitor> monitor;
};

/// Connects the rank of this process, found in its environment.
inline base::Result<FoundRank> find_rank() {
  DOVETAIL_TRY(const std::optional<RankPlace> place, find_rank_place(environment_variables()));
  const auto connect = [&] {
    return JobStore::connect(place->store_host, place->store_port, place->attempt, std::chrono::seconds(60));
  };
  FoundRank rank{*place, nullptr, nullptr};
  DOVETAIL_TRY(rank.store, connect());
  DOVETAIL_TRY(std::unique_ptr<JobStore> monitor_store, connect());
  rank.monitor = std::make_unique<JobMonitor>(std::move(monitor_store), place->rank, place->ranks);
  return rank;
}

/// Ranks of a test, and their store. Each rank is a process that runs the test `test` of this program, with its part in
/// the environment.
class RankJob {
 public:
  RankJob(const std::string& test, const std::string& part, int ranks, int started) {
    auto held = JobStore::hold(0, 0);
    EXPECT_TRUE(held.ok());
    store_ = std::move(*held);
    for (int rank = 0; rank < started; ++rank) {
      Variables variables = environment_variables();
      // A rank runs its one test, whichever shard of the tests this is.
      variables.erase("GTEST_TOTAL_SHARDS");
      variables.erase("GTEST_SHARD_INDEX");
      variables[rank_part_variable] = part;
      variables["RANK"] = std::to_string(rank);
      variables["WORLD_SIZE"] = std::to_string(ranks);
      variables["MASTER_ADDR"] = "127.0.0.1";
      variables["MASTER_PORT"] = std::to_string(store_->port());
      variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
      variables["OMP_NUM_THREADS"] = "1";
      auto child = start_child({path_of_this_program(), "--gtest_also_run_disabled_tests", "--gtest_filter=" + test},
                               variables, ChildErrors::piped);
      EXPECT_TRUE(child.ok());
      ranks_.push_back({*child, "", ""});
    }
  }
  RankJob(const RankJob&) = delete;
  RankJob& operator=(const RankJob&) = delete;
  ~RankJob() {
    for (Rank& rank : ranks_) {
      ::kill(rank.child.pid, SIGKILL);
      ::waitpid(rank.child.pid, nullptr, 0);
    }
  }

  void drop_store() { store_.reset(); }

  /// Waits for a line of the rank that begins with `word` and returns the rest of it; "" if the rank ends without one.
  std::string read_line(std::size_t index, const std::string& word) {
    Rank& rank = ranks_[index];
    bool continues = true;
    while (true) {
      const std::size_t begin = rank.output.find(word);
      const std::size_t end = rank.output.find('\n', begin);
      if (begin != std::string::npos && end != std::string::npos)
        return rank.output.substr(begin + word.size(), end - begin - word.size());
      if (!continues) return "";
      pollfd wait{rank.child.output, POLLIN, 0};
      if (::poll(&wait, 1, 120'000) == 0) return "no output within 120 s";
      continues = read_pipe(rank.child.output, rank.output);
    }
  }

  /// Returns all output and errors of a rank, up to its end.
  std::string read_output(std::size_t index) {
    Rank& rank = ranks_[index];
    const auto read_all = [](int& pipe, std::string& text) {
      pollfd wait{pipe, POLLIN, 0};
      while (::poll(&wait, 1, 120'000) != 0 && read_pipe(pipe, text)) {
      }
    };
    read_all(rank.child.output, rank.output);
    read_all(rank.child.errors, rank.errors);
    return rank.output + rank.errors;
  }

  std::vector<std::string> read_results() {
    std::vector<std::string> results;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) results.push_back(read_line(rank, "SAID "));
    return results;
  }

 private:
  struct Rank {
    Child child;
    std::string output;
    std::string errors;
  };
  std::unique_ptr<JobStore> store_;
  std::vector<Rank> ranks_;
};

}  // namespace dovetail::runtime
