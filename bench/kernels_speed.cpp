// Measures the kernels on one thread, compared with plain loops over the same numbers in the same run.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "kernels/cached_attention.h"
#include "kernels/optimizer.h"
#include "kernels/rows.h"
#include "kernels/sequence_attention.h"
#include "report/text/table.h"

namespace {

using namespace dovetail;
using Numbers = std::vector<float>;

Numbers random_numbers(std::int64_t count) {
  base::Random random(1, 0);
  Numbers numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(2 * random.unit() - 1);
  return numbers;
}

double least_time(std::int64_t repetitions, const std::function<void()>& work) {
  double least = 1e300;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, base::seconds_since(begin));
  }
  return least;
}

/// A measurement: `bytes` that must be read or written at least, and floating-point `operations`.
struct Row {
  std::string name;
  double seconds = 0;
  double bytes = 0;
  double operations = 0;
  double plain_seconds = 0;
};

[[gnu::noinline]] void plain_product(const kernels::Linear& linear) {
  for (std::int64_t r = 0; r < linear.rows; ++r)
    for (std::int64_t o = 0; o < linear.outputs; ++o) {
      float sum = 0;
      for (std::int64_t i = 0; i < linear.inputs; ++i)
        sum += linear.x[r * linear.inputs + i] * linear.weight[o * linear.inputs + i];
      linear.out[r * linear.outputs + o] = sum;
    }
}

Row measure_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, std::int64_t repetitions) {
  const Numbers x = random_numbers(rows * inputs);
  const Numbers weight = random_numbers(outputs * inputs);
  Numbers out(static_cast<std::size_t>(rows * outputs));
  const kernels::Linear linear{x.data(), weight.data(), nullptr, out.data(), rows, inputs, outputs};
  return {fmt::format("{} x {} by {}", rows, inputs, outputs),
          least_time(repetitions, [&] { kernels::multiply(linear, 0, outputs); }),
          static_cast<double>(inputs * outputs) * sizeof(float), 2.0 * static_cast<double>(rows * inputs * outputs),
          least_time(1, [&] { plain_product(linear); })};
}

/// Forward pass of one head, one query at a time.
[[gnu::noinline]] void plain_attention(const Numbers& query, const Numbers& key, const Numbers& value, Numbers& out,
                                       std::size_t tokens, std::size_t size) {
  Numbers shares(tokens);
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  for (std::size_t t = 0; t < tokens; ++t) {
    float sum = 0;
    for (std::size_t k = 0; k <= t; ++k) {
      float score = 0;
      for (std::size_t i = 0; i < size; ++i) score += query[t * size + i] * key[k * size + i];
      shares[k] = std::exp(score * scale);
      sum += shares[k];
    }
    for (std::size_t i = 0; i < size; ++i) out[t * size + i] = 0;
    for (std::size_t k = 0; k <= t; ++k)
      for (std::size_t i = 0; i < size; ++i) out[t * size + i] += shares[k] / sum * value[k * size + i];
  }
}

std::vector<Row> measure_attention(std::int64_t tokens, std::int64_t size, std::int64_t repetitions) {
  const std::int64_t count = tokens * size;
  const Numbers query = random_numbers(count);
  Numbers out = query;
  Numbers log_sum_exps(static_cast<std::size_t>(tokens));
  Numbers d_query = query;
  Numbers d_key = query;
  Numbers d_value = query;
  Numbers scratch;
  const kernels::Heads<const float> in{query.data(), size};
  const kernels::Sequence<float> sequence{in, in, in, tokens, 1, size};
  const auto forward = [&] {
    kernels::attend<float>(sequence, 0, 1, {out.data(), size}, {log_sum_exps.data(), tokens}, scratch);
  };
  const auto backward = [&] {
    kernels::attend_backward<float>(sequence, {{out.data(), size}, {log_sum_exps.data(), tokens}, in}, 0, 1,
                                    {{d_query.data(), size}, {d_key.data(), size}, {d_value.data(), size}}, scratch);
  };
  const double bytes = 4.0 * static_cast<double>(count) * sizeof(float);
  const double operations = 2.0 * static_cast<double>(tokens) * static_cast<double>(count);
  const double plain = least_time(1, [&] {
    plain_attention(query, query, query, out, static_cast<std::size_t>(tokens), static_cast<std::size_t>(size));
  });
  const double seconds = least_time(repetitions, forward);
  return {{fmt::format("attention of {} tokens", tokens), seconds, bytes, operations, plain},
          {"  its backward", least_time(repetitions, backward), 2 * bytes, 2.5 * operations}};
}

Row measure_cached(std::int64_t tokens, std::int64_t size, std::int64_t group, std::int64_t repetitions) {
  const Numbers keys = random_numbers((tokens + kernels::attention_block) * size);
  const Numbers query = random_numbers(group * size);
  Numbers out = query;
  std::vector<kernels::AttentionBlock> blocks;
  for (std::int64_t t = 0; t < tokens; t += kernels::attention_block)
    blocks.push_back({keys.data() + t * size, keys.data() + t * size, kernels::attention_block});
  Numbers scratch;
  const double plain = static_cast<double>(tokens * size) * sizeof(float);
  return {fmt::format("{} queries, {} cached tokens", group, tokens),
          least_time(10 * repetitions,
                     [&] { kernels::attend(query.data(), group, size, blocks, tokens, scratch, out.data()); }),
          2 * plain, 4.0 * static_cast<double>(tokens * size * group)};
}

Row measure_distribution(std::int64_t count, std::int64_t repetitions) {
  const Numbers logits = random_numbers(count);
  volatile double sum = 0;
  const double seconds =
      least_time(repetitions, [&] { sum = kernels::distribution_of(logits.data(), count, 1).entropy; });
  const double plain = least_time(repetitions, [&] {
    double weights = 0;
    double weighted = 0;
    for (const float logit : logits) {
      const double weight = std::exp(static_cast<double>(logit) - 1);
      weights += weight;
      weighted += weight * static_cast<double>(logit);
    }
    sum = std::log(weights) - weighted / weights;
  });
  return {fmt::format("entropy of {} logits", count), seconds, static_cast<double>(count) * sizeof(float), 0, plain};
}

Row measure_adamw(std::int64_t count, std::int64_t repetitions) {
  Numbers weights = random_numbers(count);
  const Numbers gradients = weights;
  Numbers first(weights.size());
  Numbers second(weights.size());
  const kernels::AdamwNumbers<float> numbers{weights.data(), gradients.data(), first.data(), second.data()};
  const double seconds =
      least_time(repetitions, [&] { kernels::step_adamw<float>({.learning_rate = 1e-4}, numbers, 0, count); });
  return {fmt::format("AdamW of {} numbers", count), seconds, 7.0 * static_cast<double>(count) * sizeof(float)};
}

void print(const std::vector<Row>& measured) {
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : measured)
    rows.push_back({row.name, fmt::format("{:.1f}", 1e6 * row.seconds),
                    fmt::format("{:.1f}", row.bytes / row.seconds / 1e9),
                    row.operations > 0 ? fmt::format("{:.0f}", row.operations / row.seconds / 1e9) : "",
                    row.plain_seconds > 0 ? fmt::format("{:.1f}x", row.plain_seconds / row.seconds) : ""});
  using report::Align;
  fmt::print("{}", report::render_table({{"kernel", Align::left},
                                         {"microseconds", Align::right},
                                         {"GB/s", Align::right},
                                         {"GFLOP/s", Align::right},
                                         {"vs. plain loops", Align::right}},
                                        rows));
}

}  // namespace

int main(int count, char** arguments) {
  std::int64_t repetitions = 10;
  std::int64_t outputs = 49'152;
  bench::Arguments parser("Measures the kernels on one thread. Bytes are the minimum traffic.");
  parser.number("--repetitions", repetitions, "repetitions, of which the fastest counts", 1, 1000);
  parser.number("--outputs", outputs, "outputs of the large product (49152 x 576 numbers exceed the caches)", 16,
                1'000'000);
  if (const auto code = parser.parse(count, arguments)) return *code;
  std::vector<Row> rows;
  for (const std::int64_t batch : {1, 4, 16, 64}) {
    rows.push_back(measure_product(batch, 576, outputs, repetitions));
    rows.push_back(measure_product(batch, 576, std::min<std::int64_t>(outputs, 1536), repetitions));
  }
  for (const std::int64_t tokens : {128, 1024})
    for (Row& row : measure_attention(tokens, 64, repetitions)) rows.push_back(std::move(row));
  rows.push_back(measure_cached(1024, 64, 3, repetitions));
  rows.push_back(measure_distribution(outputs, repetitions));
  rows.push_back(measure_adamw(outputs * 64, repetitions));
  print(rows);
  return 0;
}
