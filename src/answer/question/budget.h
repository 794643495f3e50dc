// How long a search goes on, and on what: options that all searches have.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

#include "answer/question/option.h"

namespace dovetail::answer {

/// How long chains search, and on what.
struct SearchBudget {
  int chains = 1;
  std::optional<std::int64_t> iterations = std::nullopt;  ///< of each chain
  std::optional<double> time_limit = std::nullopt;        ///< seconds
  std::optional<int> threads = std::nullopt;              ///< nothing: as many as the machine has
  std::uint64_t seed = 1;

  int thread_count() const;
};

template <std::same_as<SearchBudget> T>
auto options_of(const T*) {
  return options<T>(
      option("chains", &T::chains, Count{1, 4096},
             "independent chains of a search (default {}; not the machine's size)"),
      option("iterations", &T::iterations, Count{1, 1'000'000'000'000},
             "iterations of each chain (default: of plans 150000, of schedules what takes "
             "about ten seconds on two ordinary cores)"),
      option("time-limit", &T::time_limit, Seconds{},
             "time for all of it, in seconds or as 500ms, 30s, 2m, 1h; chooses the iterations of a "
             "search"),
      option("threads", &T::threads, Count{1, 1024}, "threads (default: all processors); never changes the answer"),
      option("seed", &T::seed, Count{}, "seed of the random numbers (default {})"));
}

}  // namespace dovetail::answer
