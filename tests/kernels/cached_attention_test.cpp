#include "kernels/cached_attention.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "kernels/sequence_attention.h"

namespace dovetail::kernels {
namespace {

/// Keys and values of tokens, and the same in partly filled blocks.
struct Cache {
  std::vector<std::vector<float>> keys;    // [token]
  std::vector<std::vector<float>> values;  // [token]
  std::vector<std::vector<float>> stored;
  std::vector<AttentionBlock> blocks;
};

Cache cache_of(const std::vector<std::int64_t>& fills, std::int64_t size, base::Random& random) {
  Cache cache;
  const auto numbers = [&] {
    std::vector<float> row;
    for (std::int64_t i = 0; i < size; ++i) row.push_back(static_cast<float>(4 * random.unit() - 2));
    return row;
  };
  for (const std::int64_t fill : fills) {
    // Unused numbers may have any value.
    std::vector<float> keys(static_cast<std::size_t>(size * attention_block), NAN);
    std::vector<float> values(static_cast<std::size_t>(size * attention_block), NAN);
    for (std::int64_t t = 0; t < fill; ++t) {
      cache.keys.push_back(numbers());
      cache.values.push_back(numbers());
      for (std::int64_t i = 0; i < size; ++i) {
        keys[static_cast<std::size_t>(i * attention_block + t)] = cache.keys.back()[static_cast<std::size_t>(i)];
        values[static_cast<std::size_t>(t * size + i)] = cache.values.back()[static_cast<std::size_t>(i)];
      }
    }
    cache.stored.push_back(std::move(keys));
    cache.stored.push_back(std::move(values));
  }
  for (std::size_t b = 0; b < fills.size(); ++b)
    cache.blocks.push_back({cache.stored[2 * b].data(), cache.stored[2 * b + 1].data(), fills[b]});
  return cache;
}

std::vector<double> naive(const Cache& cache, const float* query, std::size_t size, std::size_t tokens) {
  std::vector<double> shares;
  double sum = 0;
  for (std::size_t t = 0; t < tokens; ++t) {
    double score = 0;
    for (std::size_t i = 0; i < size; ++i)
      score += static_cast<double>(query[i]) * static_cast<double>(cache.keys[t][i]);
    shares.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
    sum += shares.back();
  }
  std::vector<double> out(size);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < size; ++i) out[i] += shares[t] / sum * static_cast<double>(cache.values[t][i]);
  return out;
}

RC_GTEST_PROP(CachedAttention, IsSoftmaxOverTheFirstTokens, ()) {
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const auto size = *rc::gen::inRange<std::int64_t>(1, 70);
  const auto group = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto fills = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, attention_block + 1)));
  const Cache cache = cache_of(fills, size, random);
  const auto tokens = *rc::gen::inRange<std::int64_t>(1, static_cast<std::int64_t>(cache.keys.size()) + 1);
  std::vector<float> queries;
  for (std::int64_t i = 0; i < group * size; ++i) queries.push_back(static_cast<float>(2 * random.unit() - 1));
  std::vector<float> out(queries.size());
  std::vector<float> scratch;
  attend(queries.data(), group, size, cache.blocks, tokens, scratch, out.data());
  for (std::int64_t q = 0; q < group; ++q) {
    const std::vector<double> expected =
        naive(cache, queries.data() + q * size, static_cast<std::size_t>(size), static_cast<std::size_t>(tokens));
    std::vector<float> alone(static_cast<std::size_t>(size));
    attend(queries.data() + q * size, 1, size, cache.blocks, tokens, scratch, alone.data());
    for (std::int64_t i = 0; i < size; ++i) {
      const float number = out[static_cast<std::size_t>(q * size + i)];
      RC_ASSERT(std::abs(static_cast<double>(number) - expected[static_cast<std::size_t>(i)]) < 1e-5);
      RC_ASSERT(number == alone[static_cast<std::size_t>(i)]);
    }
  }
}

/// Returns the same tokens in blocks that are filled differently.
Cache refilled(const Cache& cache, std::int64_t fill, std::int64_t size) {
  Cache other;
  const auto all = static_cast<std::int64_t>(cache.keys.size());
  for (std::int64_t begin = 0; begin < all; begin += fill) {
    const std::int64_t here = std::min(fill, all - begin);
    std::vector<float> keys(static_cast<std::size_t>(size * attention_block), NAN);
    std::vector<float> values(static_cast<std::size_t>(size * attention_block), NAN);
    for (std::int64_t t = 0; t < here; ++t)
      for (std::int64_t i = 0; i < size; ++i) {
        const auto token = static_cast<std::size_t>(begin + t);
        keys[static_cast<std::size_t>(i * attention_block + t)] = cache.keys[token][static_cast<std::size_t>(i)];
        values[static_cast<std::size_t>(t * size + i)] = cache.values[token][static_cast<std::size_t>(i)];
      }
    other.stored.push_back(std::move(keys));
    other.stored.push_back(std::move(values));
    other.blocks.push_back({nullptr, nullptr, here});
  }
  for (std::size_t b = 0; b < other.blocks.size(); ++b) {
    other.blocks[b].keys = other.stored[2 * b].data();
    other.blocks[b].values = other.stored[2 * b + 1].data();
  }
  return other;
}

RC_GTEST_PROP(CachedAttention, HasTheSameBitsForAnyBlocks, ()) {
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const auto size = *rc::gen::inRange<std::int64_t>(1, 70);
  const auto group = *rc::gen::inRange<std::int64_t>(1, 9);
  const Cache cache = cache_of(*rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
                                   rc::gen::inRange<std::int64_t>(1, attention_block + 1))),
                               size, random);
  const Cache other = refilled(cache, *rc::gen::inRange<std::int64_t>(1, attention_block + 1), size);
  const auto tokens = *rc::gen::inRange<std::int64_t>(1, static_cast<std::int64_t>(cache.keys.size()) + 1);
  std::vector<float> queries;
  for (std::int64_t i = 0; i < group * size; ++i) queries.push_back(static_cast<float>(40 * random.unit() - 20));
  std::vector<float> first(queries.size());
  std::vector<float> second(queries.size());
  std::vector<float> scratch(7, NAN);
  attend(queries.data(), group, size, cache.blocks, tokens, scratch, first.data());
  attend(queries.data(), group, size, other.blocks, tokens, scratch, second.data());
  RC_ASSERT(first == second);
  for (const float number : first) RC_ASSERT(std::isfinite(number));
}

RC_GTEST_PROP(CachedAttention, HasTheBitsOfTheWholeSequence, ()) {
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const auto size = *rc::gen::inRange<std::int64_t>(1, 70);
  const auto group = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto tokens = *rc::gen::inRange<std::int64_t>(1, 300);
  std::vector<std::int64_t> fills(static_cast<std::size_t>(tokens / attention_block), attention_block);
  if (tokens % attention_block > 0) fills.push_back(tokens % attention_block);
  const Cache cache = cache_of(fills, size, random);
  std::vector<float> keys;
  std::vector<float> values;
  for (const auto& row : cache.keys) keys.insert(keys.end(), row.begin(), row.end());
  for (const auto& row : cache.values) values.insert(values.end(), row.begin(), row.end());
  std::vector<float> queries;
  for (std::int64_t i = 0; i < tokens * group * size; ++i)
    queries.push_back(static_cast<float>(40 * random.unit() - 20));
  std::vector<float> whole(queries.size());
  std::vector<float> log_sum_exps(static_cast<std::size_t>(tokens * group));
  std::vector<float> scratch;
  attend<float>({{queries.data(), group * size}, {keys.data(), size}, {values.data(), size}, tokens, group, size}, 0, 1,
                {whole.data(), group * size}, {log_sum_exps.data(), tokens}, scratch);
  std::vector<float> one_by_one(queries.size());
  for (std::int64_t t = 0; t < tokens; ++t)
    attend(queries.data() + t * group * size, group, size, cache.blocks, t + 1, scratch,
           one_by_one.data() + t * group * size);
  RC_ASSERT(whole == one_by_one);
}

}  // namespace
}  // namespace dovetail::kernels
