// Compares the closed form of generation with the simulation, with chunked prefill and preemption.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cost/generation.h"
#include "simulate/generation.h"
#include "simulate/generations.h"
#include "workflow/log_normal.h"

namespace dovetail::simulate {
namespace {

using test::layout_of;
using test::Scenario;

struct Both {
  cost::GenerationSeconds closed;
  double seconds = 0;     // simulated
  double recomputed = 0;  // tokens
};

/// 512 samples on two instances, four per prompt, with a KV cache of this many tokens on each.
Both both(Scenario& scenario, double tokens, std::int64_t prompt, double sigma) {
  constexpr int draws = 4;
  workflow::Workload workload{workflow::LengthDistribution::fixed(prompt),
                              workflow::log_normal_lengths({.mean = 600, .sigma = sigma, .cap = 2400})};
  workload.samples_per_prompt = 4;
  workload.prompts = 128;
  scenario.task.key_value_capacity = scenario.token_bytes() * tokens;
  const cost::GenerationWork work{512, 4, &workload.prompt_length, &workload.response_length};
  const cost::EngineLimits limits{
      static_cast<double>(scenario.task.engine.max_num_seqs), scenario.task.key_value_capacity,
      static_cast<double>(scenario.task.engine.max_num_batched_tokens), scenario.task.engine.chunked_prefill};
  Both both;
  both.closed = cost::generation_seconds(scenario.facts, scenario.task.layout, work, limits, scenario.machine(),
                                         scenario.task.efficiency);
  for (int draw = 0; draw < draws; ++draw) {
    const Generation generation =
        simulate_generation(scenario.task, draw_samples(workload, {}, 3, static_cast<std::uint64_t>(draw)));
    both.seconds += 1e-9 * static_cast<double>(generation.end.count()) / draws;
    both.recomputed += static_cast<double>(generation.counts.recomputed) / draws;
  }
  return both;
}

TEST(ClosedForm, RecomputationMatchesTheSimulation) {
  double errors = 0;
  int cases = 0;
  for (const double sigma : {0.3, 0.6, 1.0})
    for (const double tokens : {20e3, 40e3, 60e3}) {
      Scenario scenario("llama-3.1-8b", layout_of(2, 1, 1));
      const Both of = both(scenario, tokens, 200, sigma);
      // As fractions of all decoded tokens.
      const double decoded = 512 * 600.0;
      EXPECT_NEAR(2 * of.closed.recomputed / decoded, of.recomputed / decoded, 0.12) << sigma << " " << tokens;
      EXPECT_GT(of.recomputed, 0.1 * decoded) << sigma << " " << tokens;
      EXPECT_NEAR(of.closed.sum() / of.seconds, 1, 0.07) << sigma << " " << tokens;
      errors += std::abs(of.closed.sum() / of.seconds - 1);
      ++cases;
    }
  EXPECT_LT(errors / cases, 0.03);
}

TEST(ClosedForm, NothingIsRecomputedWithALargeCache) {
  Scenario scenario("llama-3.1-8b", layout_of(2, 1, 1));
  const Both of = both(scenario, 1e6, 200, 0.6);
  EXPECT_EQ(of.closed.recomputed, 0);
  EXPECT_EQ(of.closed.recompute, 0);
  EXPECT_EQ(of.recomputed, 0);
}

TEST(ClosedForm, EqualLengthsMatchTheSimulation) {
  for (const bool chunked : {false, true})
    for (const int places : {16, 64, 256})
      for (const std::int64_t prompt : {100, 1000}) {
        Scenario scenario("llama-3.1-8b", layout_of(2, 1, 1));
        scenario.task.engine.chunked_prefill = chunked;
        scenario.task.engine.max_num_seqs = places;
        const Both of = both(scenario, 1e6, prompt, 0);
        EXPECT_NEAR(of.closed.sum() / of.seconds, 1, chunked ? 0.005 : 0.0005)
            << chunked << " " << places << " " << prompt;
      }
}

TEST(ClosedForm, PrefillMatchesTheSimulation) {
  for (const bool chunked : {false, true})
    for (const std::int64_t prompt : {500, 4000})
      for (const std::int64_t budget : {2048, 16'384}) {
        Scenario scenario("llama-3.1-8b", layout_of(2, 1, 1));
        scenario.task.engine.chunked_prefill = chunked;
        scenario.task.engine.max_num_batched_tokens = budget;
        scenario.task.engine.max_num_seqs = 128;
        const Both of = both(scenario, 1e6, prompt, 0.6);
        EXPECT_NEAR(of.closed.sum() / of.seconds, 1, 0.08) << chunked << " " << prompt << " " << budget;
      }
}

}  // namespace
}  // namespace dovetail::simulate
