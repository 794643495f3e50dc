#include "control/ranks/rank_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "control/fake_run.h"
#include "transport/threads.h"

namespace dovetail::control {
namespace {

TEST(RankMessages, RoundTrip) {
  const base::Error error{base::Failure::lost, "store", 3, 4, "rank 2 is gone"};
  const base::Error decoded = decode_error(encode(error));
  EXPECT_EQ(decoded.failure, error.failure);
  EXPECT_EQ(base::to_text(decoded), base::to_text(error));
  EXPECT_EQ(*decode_numbers(encode(base::Result<std::vector<double>>({1.5, -2}))), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(decode_numbers(encode(base::Result<std::vector<double>>(error))).error().message, error.message);
  const RankUsage usage = decode_usage(encode(RankUsage{2.5, 1 << 30}));
  EXPECT_EQ(usage.processor_seconds, 2.5);
  EXPECT_EQ(usage.live, 1 << 30);
  const execute::OpMedians medians{{{base::ModelId(1), base::StageId(3), pipeline::OpKind::B}, base::Ticks(77)},
                                   {{base::ModelId(0), base::StageId(0), pipeline::OpKind::S}, base::Ticks(5)}};
  EXPECT_EQ(decode_medians(encode(medians)), medians);
}

TEST(RankMessages, KeepIndexes) {
  GeneratedResponse response;
  response.tokens = {4, 5};
  response.log_probabilities = {-0.5, -0.25};
  response.ended = true;
  response.text_bytes = 3;
  const auto responses = decode_responses(encode(IndexedResults<GeneratedResponse>{{7, response}}));
  ASSERT_EQ(responses.size(), 1U);
  EXPECT_EQ(responses[0].first, 7U);
  EXPECT_EQ(responses[0].second.tokens, response.tokens);
  EXPECT_EQ(responses[0].second.log_probabilities, response.log_probabilities);
  EXPECT_TRUE(responses[0].second.ended);
  EXPECT_EQ(responses[0].second.text_bytes, response.text_bytes);
  Scores scores;
  scores.values = {1, 2};
  scores.entropies = {0.5, 0.25};
  const auto placed = decode_scores(encode(IndexedResults<Scores>{{2, scores}, {0, {}}}));
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_EQ(placed[0].first, 2U);
  EXPECT_EQ(placed[0].second.values, scores.values);
  EXPECT_EQ(placed[0].second.entropies, scores.entropies);
}

using namespace std::chrono_literals;
using base::Status;

constexpr int ranks = 3;

/// Runs `work` on ranks that are threads. `local` may stop rank 1.
std::vector<Status> on_ranks(const std::function<Status(RankExchange&)>& work,
                             const parallel::Cancellation* local = nullptr) {
  const auto ends = transport::connect_threads(ranks);
  std::vector<Status> ended(ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ended.size(); ++rank)
    threads.emplace_back([&, rank] {
      RankExchange rank_exchange(*ends[rank], rank == 1 ? local : nullptr, 60s);
      ended[rank] = work(rank_exchange);
      if (!ended[rank].ok() && ended[rank].error().failure != base::Failure::interrupted)
        ends[rank]->fail(ended[rank].error());
    });
  for (std::thread& thread : threads) thread.join();
  return ended;
}

void expect_all_well(const std::vector<Status>& ended) {
  for (const Status& status : ended) EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(RankExchange, ExchangesTextsOfAllRanks) {
  expect_all_well(on_ranks([](RankExchange& rank_exchange) -> Status {
    for (int i = 0; i < 20; ++i) {
      DOVETAIL_TRY(const auto gathered, rank_exchange.all_gather(std::to_string(100 * i + rank_exchange.rank())));
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(gathered[static_cast<std::size_t>(rank)], std::to_string(100 * i + rank));
      DOVETAIL_TRY(const std::string first, rank_exchange.broadcast("of " + std::to_string(rank_exchange.rank())));
      EXPECT_EQ(first, "of 0");
    }
    return {};
  }));
}

TEST(RankExchange, AgreesOnTheFirstRanksError) {
  const auto ended = on_ranks([](RankExchange& rank_exchange) {
    const base::Error own{base::Failure::io, "", 0, 0, "rank " + std::to_string(rank_exchange.rank())};
    return rank_exchange.agree(rank_exchange.rank() == 0 ? Status() : Status(own));
  });
  for (const Status& status : ended) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "rank 1");
  }
}

/// Run whose prompts and responses are letters, judged by a rule.
struct LetterRun : FakeRun {
  explicit LetterRun(RankExchange& rank_exchange)
      : FakeRun("{name: ppo, reward: rule}",
                "{prompts: 12, prompt_length: 1, response_length: 4, mini_batches: 2, epochs: 2}", 4) {
    prompt_with(3);
    inputs.ends = {3};
    settings.iterations = 5;
    judge = shared_reward_function(
        [&rank_exchange](std::span<const Response> responses,
                         const parallel::Cancellation*) -> base::Result<std::vector<double>> {
          EXPECT_EQ(rank_exchange.rank(), 0) << "one rank asks";
          std::vector<double> judged;
          for (const Response& response : responses)
            judged.push_back(static_cast<double>(std::count(response.response.begin(), response.response.end(), 'b')));
          return judged;
        },
        rank_exchange);
  }
};

TEST(RankRuns, RanksWithTheSameWorkReportTheSame) {
  std::vector<RunTale> tales(ranks);
  expect_all_well(on_ranks([&](RankExchange& rank_exchange) -> Status {
    LetterRun run(rank_exchange);
    RunState state = initial_state(run.settings);
    return run.continue_run(state, tales[static_cast<std::size_t>(rank_exchange.rank())], &rank_exchange.agreed());
  }));
  for (const RunTale& tale : tales) {
    ASSERT_EQ(tale.metrics.size(), 5U);
    ASSERT_EQ(tale.kept.size(), 1U);
    EXPECT_TRUE(tale.kept[0].at("actor").weights == tales[0].kept[0].at("actor").weights);
    for (std::size_t i = 0; i < tale.metrics.size(); ++i)
      EXPECT_EQ(tale.metric(i, "reward"), tales[0].metric(i, "reward"));
  }
}

TEST(RankRuns, StopTogetherWhenOneIsRequestedTo) {
  parallel::Cancellation stop;
  std::vector<RunTale> tales(ranks);
  const auto ended = on_ranks(
      [&](RankExchange& rank_exchange) -> Status {
        LetterRun run(rank_exchange);
        run.settings.iterations = 200;
        int calls = 0;
        // At some point within an iteration, and on only one rank.
        if (rank_exchange.rank() == 1)
          run.models.on_work = [&] {
            if (++calls == 300) stop.request();
          };
        RunState state = initial_state(run.settings);
        return run.continue_run(state, tales[static_cast<std::size_t>(rank_exchange.rank())], &rank_exchange.agreed());
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

TEST(RankRuns, EndWithTheErrorOfTheJudgingRank) {
  const auto ended = on_ranks([&](RankExchange& rank_exchange) {
    LetterRun run(rank_exchange);
    run.judge = shared_reward_function(
        [](std::span<const Response>, const parallel::Cancellation*) -> base::Result<std::vector<double>> {
          return base::Error{base::Failure::io, "", 0, 0, "the judge is out"};
        },
        rank_exchange);
    RunState state = initial_state(run.settings);
    RunTale tale;
    return run.continue_run(state, tale, &rank_exchange.agreed());
  });
  for (const Status& status : ended) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("the judge is out"), std::string::npos);
  }
}

}  // namespace

}  // namespace dovetail::control
