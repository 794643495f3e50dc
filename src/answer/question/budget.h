// Search budget: options that all searches share.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

#include "answer/question/option.h"

namespace dovetail::answer {

/// Size, limits and random seed of a search.
struct SearchBudget {
  int chains = 1;
  std::optional<std::int64_t> iterations = std::nullopt;  ///< per chain
  std::optional<double> time_limit = std::nullopt;        ///< in seconds
  std::optional<int> threads = std::nullopt;              ///< nullopt: one per processor
  std::uint64_t seed = 1;

  int thread_count() const;
};

template <std::same_as<SearchBudget> T>
auto options_of(const T*) {
  return options<T>(
      option("chains", &T::chains, Count{1, 4096}, "number of independent search chains (default {})"),
      option("iterations", &T::iterations, Count{1, 1'000'000'000'000},
             "tries per chain (default: 150000 for plans, 10 s worth for schedules)"),
      option("time-limit", &T::time_limit, Seconds{}, "time limit of the command: seconds, or 500ms, 30s, 2m, 1h"),
      option("threads", &T::threads, Count{1, 1024},
             "number of threads; same result unless time is limited (default: all)"),
      option("seed", &T::seed, Count{}, "random seed (default {})"));
}

}  // namespace dovetail::answer
