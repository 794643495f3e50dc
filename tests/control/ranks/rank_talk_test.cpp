#include "control/ranks/rank_talk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "control/fake_run.h"
#include "control/ranks/shared_judge.h"
#include "transport/threads.h"

namespace dovetail::control {
namespace {

using namespace std::chrono_literals;
using base::Status;

constexpr int ranks = 3;

/// Does `work` on ranks that are threads. `local` may stop rank 1.
std::vector<Status> on_ranks(const std::function<Status(RankTalk&)>& work,
                             const parallel::Cancellation* local = nullptr) {
  const auto ends = transport::connect_threads(ranks);
  std::vector<Status> ended(ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ended.size(); ++rank)
    threads.emplace_back([&, rank] {
      RankTalk talk(*ends[rank], rank == 1 ? local : nullptr, 60s);
      ended[rank] = work(talk);
      if (!ended[rank].ok() && ended[rank].error().failure != base::Failure::interrupted)
        ends[rank]->fail(ended[rank].error());
    });
  for (std::thread& thread : threads) thread.join();
  return ended;
}

void expect_all_well(const std::vector<Status>& ended) {
  for (const Status& status : ended) EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(RankTalk, GivesAllRanksWhatAllSay) {
  expect_all_well(on_ranks([](RankTalk& talk) -> Status {
    for (int i = 0; i < 20; ++i) {
      DOVETAIL_TRY(const auto said, talk.exchange(std::to_string(100 * i + talk.rank())));
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(said[static_cast<std::size_t>(rank)], std::to_string(100 * i + rank));
      DOVETAIL_TRY(const std::string first, talk.hear_first("of " + std::to_string(talk.rank())));
      EXPECT_EQ(first, "of 0");
    }
    return {};
  }));
}

TEST(RankTalk, AgreesOnTheFirstRanksError) {
  const auto ended = on_ranks([](RankTalk& talk) {
    const base::Error own{base::Failure::io, "", 0, 0, "rank " + std::to_string(talk.rank())};
    return talk.agree(talk.rank() == 0 ? Status() : Status(own));
  });
  for (const Status& status : ended) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "rank 1");
  }
}

/// A run whose prompts and responses are letters, which a rule judges.
struct LetterRun : FakeRun {
  explicit LetterRun(RankTalk& talk)
      : FakeRun("{name: ppo, reward: rule}",
                "{prompts: 12, prompt_length: 1, response_length: 4, mini_batches: 2, epochs: 2}", 4) {
    prompt_with(3);
    inputs.ends = {3};
    settings.iterations = 5;
    judge = shared_judge(
        [&talk](std::span<const Response> responses,
                const parallel::Cancellation*) -> base::Result<std::vector<double>> {
          EXPECT_EQ(talk.rank(), 0) << "one rank asks";
          std::vector<double> judged;
          for (const Response& response : responses)
            judged.push_back(static_cast<double>(std::count(response.response.begin(), response.response.end(), 'b')));
          return judged;
        },
        talk);
  }
};

TEST(RankRuns, OfRanksThatComputeTheSameTellTheSame) {
  std::vector<RunTale> tales(ranks);
  expect_all_well(on_ranks([&](RankTalk& talk) -> Status {
    LetterRun run(talk);
    RunState state = initial_state(run.settings);
    return run.go_on(state, tales[static_cast<std::size_t>(talk.rank())], &talk.agreed());
  }));
  for (const RunTale& tale : tales) {
    ASSERT_EQ(tale.metrics.size(), 5U);
    ASSERT_EQ(tale.kept.size(), 1U);
    EXPECT_TRUE(tale.kept[0].at("actor").weights == tales[0].kept[0].at("actor").weights);
    for (std::size_t i = 0; i < tale.metrics.size(); ++i)
      EXPECT_EQ(tale.metric(i, "reward"), tales[0].metric(i, "reward"));
  }
}

TEST(RankRuns, StopTogetherWhereOneIsAskedTo) {
  parallel::Cancellation stop;
  std::vector<RunTale> tales(ranks);
  const auto ended = on_ranks(
      [&](RankTalk& talk) -> Status {
        LetterRun run(talk);
        run.settings.iterations = 200;
        int calls = 0;
        // Somewhere within an iteration, and on one rank alone.
        if (talk.rank() == 1)
          run.models.on_work = [&] {
            if (++calls == 300) stop.request();
          };
        RunState state = initial_state(run.settings);
        return run.go_on(state, tales[static_cast<std::size_t>(talk.rank())], &talk.agreed());
      },
      &stop);
  for (std::size_t rank = 0; rank < ended.size(); ++rank) {
    ASSERT_FALSE(ended[rank].ok());
    EXPECT_EQ(ended[rank].error().failure, base::Failure::interrupted) << ended[rank].error().message;
    EXPECT_LT(tales[rank].metrics.size(), 200U);
    ASSERT_EQ(tales[rank].kept.size(), 1U);
    EXPECT_EQ(tales[rank].metrics.size(), tales[0].metrics.size());
    for (const auto& [role, kept] : tales[rank].kept[0])
      EXPECT_TRUE(kept.weights == tales[0].kept[0][role].weights && kept.steps == tales[0].kept[0][role].steps)
          << "all keep the same checkpoint";
  }
}

TEST(RankRuns, EndWithTheErrorOfTheOneThatJudges) {
  const auto ended = on_ranks([&](RankTalk& talk) {
    LetterRun run(talk);
    run.judge = shared_judge(
        [](std::span<const Response>, const parallel::Cancellation*) -> base::Result<std::vector<double>> {
          return base::Error{base::Failure::io, "", 0, 0, "the judge is out"};
        },
        talk);
    RunState state = initial_state(run.settings);
    RunTale tale;
    return run.go_on(state, tale, &talk.agreed());
  });
  for (const Status& status : ended) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("the judge is out"), std::string::npos);
  }
}

}  // namespace
}  // namespace dovetail::control
