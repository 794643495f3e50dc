// Measures generation and training of the runtime on one thread, compared with the machine's memory bandwidth and
// multiplication speed in the same run.
#include <c10/core/InferenceMode.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/stopwatch.h"
#include "report/text/table.h"
#include "runtime/generation/generator.h"
#include "runtime/model/device.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/profile/measured_times.h"
#include "runtime/training/optimizer.h"

namespace {

using namespace dovetail;

/// Shape of SmolLM2-135M.
llm::Transformer shape_of(std::int64_t layers) {
  llm::Transformer shape;
  shape.layers = layers;
  shape.hidden = 576;
  shape.heads = 9;
  shape.key_value_heads = 3;
  shape.head_size = 64;
  shape.width = 1536;
  shape.vocabulary = 49'152;
  shape.tied_embeddings = true;
  return shape;
}

/// Returns the minimum of `repetitions` times, in seconds.
double least_time(int repetitions, const std::function<void()>& work) {
  double least = 1e300;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, base::seconds_since(begin));
  }
  return least;
}

std::int64_t parameters_of(const runtime::Model& model) {
  std::int64_t count = 0;
  for (const runtime::Parameter& parameter : model.weights.parameters)
    if (!parameter.is.tied) count += parameter.value.numel();
  return count;
}

/// Returns seconds of a decode step of `batch` sequences, without prompts.
double decode_step(const runtime::Model& model, std::int64_t batch, std::int64_t steps) {
  std::vector<control::GenerationRequest> requests;
  for (std::int64_t i = 0; i < batch; ++i)
    requests.push_back({std::vector<control::TokenId>(128, 7), i, {1, 0, static_cast<std::uint64_t>(i), 0, 0}});
  control::GenerationSettings settings;
  settings.max_tokens = steps;
  settings.engine.max_num_seqs = batch;
  runtime::Generator generator(model, requests, settings, std::int64_t{1} << 32);
  std::vector<double> times;
  while (!generator.is_done()) {
    const auto begin = std::chrono::steady_clock::now();
    generator.advance({});
    times.push_back(base::seconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 4];
}

struct TrainingTimes {
  double pass = 0;
  double step = 0;
};

TrainingTimes train(runtime::Model& model, std::int64_t sequences, std::int64_t tokens) {
  runtime::make_gradients(model.weights);
  runtime::Optimizer optimizer = runtime::make_optimizer(model.weights, runtime::all_parts(model.weights));
  const std::vector<control::TokenSequence> batch(
      static_cast<std::size_t>(sequences), {std::vector<control::TokenId>(static_cast<std::size_t>(tokens), 7), 1});
  std::vector<std::size_t> ids(batch.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  const auto loss = [](std::span<const std::size_t> some, std::span<const control::Scores> scores) {
    std::vector<control::ScoreSlopes> slopes(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) slopes[i].values.assign(scores[i].values.size(), -1e-3);
    return slopes;
  };
  TrainingTimes times;
  times.pass = least_time(3, [&] { add_gradients(model, {batch, ids}, 1, llm::Recomputation::none, loss); });
  times.step = least_time(3, [&] { step(optimizer, model.weights, {}); });
  return times;
}

std::string percent(double part) { return fmt::format("{:.0f}%", 100 * part); }

}  // namespace

int main(int count, char** arguments) {
  std::int64_t layers = 30;
  std::int64_t steps = 24;
  bench::Arguments parser("Measures the runtime on one thread, compared with the machine's limits.");
  parser.number("--layers", layers, "layers of SmolLM2-135M's 30", 1, 30);
  parser.number("--steps", steps, "decode steps per measurement", 4, 1000);
  if (const auto code = parser.parse(count, arguments)) return *code;
  const c10::InferenceMode no_autograd;
  runtime::use_threads(1);
  runtime::Weights weights = runtime::empty_weights(shape_of(layers), {}, at::kFloat);
  runtime::fill_randomly(weights, 1);
  runtime::Model model(std::move(weights));
  const auto parameters = static_cast<double>(parameters_of(model));
  const runtime::RankSpeed roofs = runtime::measure_speed();
  fmt::print("reads {:.1f} GB/s, multiplies {:.0f} GFLOP/s, {:.1f}M parameters\n", roofs.bytes_per_second / 1e9,
             roofs.flops_per_second / 1e9, parameters / 1e6);
  std::vector<std::vector<std::string>> rows;
  for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{16}}) {
    const double seconds = decode_step(model, batch, steps);
    const double roof = std::max(parameters * sizeof(float) / roofs.bytes_per_second,
                                 2 * parameters * static_cast<double>(batch) / roofs.flops_per_second);
    rows.push_back({fmt::format("decode step of {}", batch), fmt::format("{:.4f}", seconds),
                    fmt::format("{:.0f}", static_cast<double>(batch) / seconds), fmt::format("{:.4f}", roof),
                    percent(roof / seconds)});
  }
  constexpr std::int64_t sequences = 4;
  constexpr std::int64_t tokens = 128;
  const TrainingTimes times = train(model, sequences, tokens);
  const double roof = 6 * parameters * sequences * tokens / roofs.flops_per_second;
  rows.push_back({fmt::format("forward and backward of {} x {}", sequences, tokens), fmt::format("{:.4f}", times.pass),
                  fmt::format("{:.0f}", sequences * tokens / times.pass), fmt::format("{:.4f}", roof),
                  percent(roof / times.pass)});
  rows.push_back({"step of AdamW", fmt::format("{:.4f}", times.step), "", "", ""});
  using report::Align;
  fmt::print("{}", report::render_table({{"work", Align::left},
                                         {"seconds", Align::right},
                                         {"tokens/s", Align::right},
                                         {"roof, seconds", Align::right},
                                         {"reached", Align::right}},
                                        rows));
  return 0;
}
