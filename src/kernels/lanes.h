// Sixteen numbers that are computed together. A processor without such registers takes several of its own: the result
// is the same.
#pragma once

#include <cstdint>
#include <cstring>

// In front of a function: it is compiled for several instruction sets, of which the processor's best is taken when the
// program starts. Not under sanitizers, which begin too late for that choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOVETAIL_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef DOVETAIL_CLONES
#endif
#endif
#ifndef DOVETAIL_CLONES
#define DOVETAIL_CLONES
#endif

namespace dovetail::kernels {

inline constexpr std::int64_t lane_count = 16;

typedef float Lanes __attribute__((vector_size(lane_count * sizeof(float))));

/// Of sixteen numbers anywhere in memory.
[[gnu::always_inline]] inline void load(const float* from, Lanes& lanes) { std::memcpy(&lanes, from, sizeof lanes); }
[[gnu::always_inline]] inline void store(const Lanes& lanes, float* to) { std::memcpy(to, &lanes, sizeof lanes); }

/// Of the first `count` numbers, the others 0.
[[gnu::always_inline]] inline void load_some(const float* from, std::int64_t count, Lanes& lanes) {
  lanes = Lanes{};
  std::memcpy(&lanes, from, static_cast<std::size_t>(count) * sizeof(float));
}

/// The sum, neighbours by halves: always in the same order.
[[gnu::always_inline]] inline float sum_of(const Lanes& lanes) {
  float sums[lane_count];
  store(lanes, sums);
  for (std::int64_t half = lane_count / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

}  // namespace dovetail::kernels
