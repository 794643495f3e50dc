#include "runtime/profile/measured_times.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "base/stopwatch.h"
#include "runtime/generation/generator.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/training/optimizer.h"
#include "transport/collectives.h"

namespace dovetail::runtime {
namespace {

using base::Result;
using base::Status;
using cost::LinkProfile;
using cost::LinkWork;
using transport::Clock;
using transport::Transport;

constexpr std::array<std::size_t, 5> sizes{1 << 10, 1 << 14, 1 << 18, 1 << 21, 1 << 24};
constexpr int repetitions = 9;

/// Calls work(number, deadline) several times on each rank. Returns the median duration, without the first call.
template <class Work>
Result<double> seconds_of(std::uint32_t& number, Clock::duration timeout, Work work) {
  std::vector<double> times;
  for (int i = 0; i <= repetitions; ++i) {
    const auto begin = Clock::now();
    DOVETAIL_CHECK(work(number++, begin + timeout));
    if (i > 0) times.push_back(base::seconds_since(begin));
  }
  return median(std::move(times));
}

/// Sends a message from rank 0 to rank 1 and one back.
Status time_round_trip(Transport& transport, std::uint32_t number, std::size_t bytes, transport::Deadline deadline) {
  if (transport.rank() > 1) return {};
  const int other = 1 - transport.rank();
  const transport::Address there = transport::control_address(other, number, 0);
  const transport::Address back = transport::control_address(other, number, 1);
  const bool is_first = transport.rank() == 0;
  transport.receive(is_first ? back : there, transport::make_buffer(bytes));
  if (is_first) transport.send(there, transport::make_buffer(bytes));
  DOVETAIL_CHECK(transport.wait(is_first ? back : there, deadline));
  if (!is_first) transport.send(back, transport::make_buffer(bytes));
  return transport.flush(transport::Lane::control, deadline);
}

using cost::ProfileCurve;

/// Below the resolution of clocks.
constexpr double min_seconds = 1e-9;

Model model_of(llm::Transformer shape, const llm::Computation& computation, std::int64_t layers) {
  shape.layers = layers;
  Weights weights = empty_weights(shape, computation, at::kFloat);
  fill_randomly(weights, 1);
  make_gradients(weights);
  return Model(std::move(weights));
}

std::vector<control::TokenSequence> sequences_of(std::int64_t count, std::int64_t length, double scored) {
  const std::int64_t first =
      std::clamp<std::int64_t>(static_cast<std::int64_t>((1 - scored) * static_cast<double>(length)), 1, length - 1);
  return {static_cast<std::size_t>(count),
          {std::vector<control::TokenId>(static_cast<std::size_t>(length), 1), static_cast<std::size_t>(first)}};
}

/// Times of one micro-batch's forward and backward pass.
struct PassTimes {
  double forward = 0;  ///< embedding and layers
  double head = 0;
  double head_backward = 0;
  double backward = 0;
};

PassTimes time_pass(const Model& model, const std::vector<control::TokenSequence>& sequences) {
  std::vector<std::size_t> ids(sequences.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  const auto begin = std::chrono::steady_clock::now();
  PassTimes times;
  double before = 0;
  const auto lap = [&] {
    const double now = base::seconds_since(begin);
    return now - std::exchange(before, now);
  };
  MicroBatchPass pass(model, {sequences, ids}, 1);
  const Tensor last = pass.forward({}, MicroBatchPass::KeptActivations::everything);
  times.forward = lap();
  const std::vector<control::Scores> scores = pass.score(last);
  times.head = lap();
  std::vector<control::ScoreSlopes> slopes(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) slopes[i].values.assign(scores[i].values.size(), -1e-3);
  lap();
  GradientSink sink;
  Tensor slope = pass.score_backward(slopes, sink);
  times.head_backward = lap();
  (void)pass.backward(std::move(slope), sink);
  times.backward = lap();
  return times;
}

/// Returns the median duration of steps in which all sequences decode.
double decode_seconds(const Model& model, std::int64_t batch, std::int64_t context) {
  std::vector<control::GenerationRequest> requests;
  for (std::int64_t i = 0; i < batch; ++i)
    requests.push_back({std::vector<control::TokenId>(static_cast<std::size_t>(context), 1),
                        i,
                        {1, 0, static_cast<std::uint64_t>(i), 0, 0}});
  control::GenerationSettings settings;
  settings.max_tokens = decode_steps;
  settings.engine.max_num_seqs = batch;
  // All prompts are computed in the first step.
  settings.engine.max_num_batched_tokens = batch * context;
  constexpr std::int64_t cache_bytes = std::int64_t{1} << 32;
  Generator generator(model, requests, settings, cache_bytes);
  generator.advance({});
  std::vector<double> times;
  while (!generator.is_done()) {
    const auto begin = std::chrono::steady_clock::now();
    generator.advance({});
    times.push_back(base::seconds_since(begin));
  }
  return median(std::move(times));
}

/// The model with one layer and with two layers.
struct TwoModels {
  Model one;
  Model two;
};

/// Measures both models repeatedly, alternating between them so that other load affects both.
template <class Times>
std::vector<std::pair<Times, Times>> measure_in_turn(const TwoModels& models,
                                                     const std::function<Times(const Model&)>& measure) {
  std::vector<std::pair<Times, Times>> pairs;
  median_seconds([&] {
    Times one = measure(models.one);
    pairs.emplace_back(std::move(one), measure(models.two));
  });
  pairs.erase(pairs.begin());
  return pairs;
}

/// Returns the median of `seconds` over all pairs.
template <class Times>
double median_of(const std::vector<std::pair<Times, Times>>& pairs,
                 const std::function<double(const Times& one, const Times& two)>& seconds) {
  std::vector<double> values;
  for (const auto& [one, two] : pairs) values.push_back(seconds(one, two));
  return median(std::move(values));
}

/// Repeats a measurement until two layers take longer than one.
Status until_longer(const std::function<bool()>& measure) {
  constexpr int tries = 20;
  for (int i = 0; i < tries; ++i)
    if (measure()) return {};
  return base::Error{
      base::Failure::invalid, "", 0, 0,
      "in twenty measurements, two layers never took longer than one layer; use a machine that is less busy"};
}

/// Median times of a layer (the difference between the two models) and of the rest of the model.
struct LayerTimes {
  double forward = 0;
  double backward = 0;
  double embedding_forward = 0;
  double embedding_backward = 0;
  double head_forward = 0;
  double head_backward = 0;
};

LayerTimes layer_times(const TwoModels& models, const std::vector<control::TokenSequence>& sequences) {
  const auto pairs =
      measure_in_turn<PassTimes>(models, [&](const Model& model) { return time_pass(model, sequences); });
  const auto layer = [&](double PassTimes::* part) {
    return median_of<PassTimes>(pairs, [&](const auto& one, const auto& two) { return two.*part - one.*part; });
  };
  const auto rest = [&](double PassTimes::* part) {
    const auto left = [&](const auto& one, const auto& two) { return 2 * (one.*part) - two.*part; };
    return std::max(min_seconds, median_of<PassTimes>(pairs, left));
  };
  const auto head = [&](double PassTimes::* part) {
    const auto both = [&](const auto& one, const auto& two) { return (one.*part + two.*part) / 2; };
    return std::max(min_seconds, median_of<PassTimes>(pairs, both));
  };
  return {layer(&PassTimes::forward), layer(&PassTimes::backward), rest(&PassTimes::forward),
          rest(&PassTimes::backward), head(&PassTimes::head),      head(&PassTimes::head_backward)};
}

Status measure_passes(const TwoModels& models, const TimesGrid& grid, cost::LayerProfile& profile) {
  for (const std::int64_t length : grid.lengths) {
    ProfileCurve forward{static_cast<double>(length), {}};
    ProfileCurve backward = forward;
    for (const std::int64_t count : grid.sequences) {
      const std::vector<control::TokenSequence> sequences = sequences_of(count, length, grid.scored);
      LayerTimes times;
      DOVETAIL_CHECK(until_longer([&] {
        times = layer_times(models, sequences);
        return times.forward > 0 && times.backward > 0;
      }));
      const auto tokens = static_cast<double>(count * length);
      forward.points.push_back({tokens, times.forward});
      backward.points.push_back({tokens, times.backward});
      if (length != grid.lengths.back()) continue;
      profile.embedding.forward.push_back({tokens, times.embedding_forward});
      profile.embedding.backward.push_back({tokens, times.embedding_backward});
      profile.head.forward.push_back({tokens, times.head_forward});
      profile.head.backward.push_back({tokens, times.head_backward});
    }
    profile.forward.push_back(std::move(forward));
    profile.backward.push_back(std::move(backward));
  }
  return {};
}

Status measure_decoding(const TwoModels& models, const TimesGrid& grid, std::int64_t layers,
                        cost::LayerProfile& profile) {
  if (grid.batches.empty()) return {};
  for (const std::int64_t context : grid.contexts) {
    ProfileCurve curve{static_cast<double>(context), {}};
    for (const std::int64_t batch : grid.batches) {
      double one = 0;
      double layer = 0;
      DOVETAIL_CHECK(until_longer([&] {
        const auto pairs =
            measure_in_turn<double>(models, [&](const Model& model) { return decode_seconds(model, batch, context); });
        one = median_of<double>(pairs, [](double first, double) { return first; });
        layer = median_of<double>(pairs, [](double first, double second) { return second - first; });
        return layer > 0;
      }));
      curve.points.push_back({static_cast<double>(batch), one + layer * static_cast<double>(layers - 1)});
    }
    profile.decode.push_back(std::move(curve));
  }
  return {};
}

/// Measures the work between a mini-batch's last backward and the next forward: norm, step, and clearing of gradients.
double step_bandwidth(Model& model) {
  Optimizer optimizer = make_optimizer(model.weights, all_parts(model.weights));
  const double seconds = median_seconds([&] {
    (void)global_norm(model.weights);
    step(optimizer, model.weights, {});
    clear_gradients(model.weights);
  });
  std::int64_t parameters = 0;
  for (const Parameter& parameter : model.weights.parameters)
    if (!parameter.is.tied) parameters += parameter.value.numel();
  return cost::bytes_an_optimizer_step * static_cast<double>(parameters) / seconds;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_seconds(const std::function<void()>& work) {
  constexpr std::size_t min_times = 3;
  constexpr double enough = 0.1;
  work();
  std::vector<double> times;
  double sum = 0;
  while (times.size() < min_times || sum < enough) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(base::seconds_since(begin));
    sum += times.back();
  }
  return median(std::move(times));
}

RankSpeed measure_speed() {
  constexpr std::int64_t numbers = std::int64_t{1} << 25;
  constexpr std::int64_t side = 1024;
  const at::Tensor large = at::empty({numbers}, at::kFloat).fill_(1);
  const at::Tensor square = at::empty({side, side}, at::kFloat).fill_(1);
  volatile double sum = 0;
  const double reading = median_seconds([&] { sum = sum + large.sum().item<double>(); });
  const double product = median_seconds([&] { (void)at::mm(square, square); });
  return {static_cast<double>(numbers) * sizeof(float) / reading, 2.0 * side * side * side / product};
}

Result<std::vector<LinkProfile>> measure_links(Transport& transport, std::uint32_t number, Clock::duration timeout) {
  std::vector<LinkProfile> links;
  if (transport.ranks() == 1) return links;
  links = {{LinkWork::message, 2, {}}, {LinkWork::all_reduce, transport.ranks(), {}}};
  std::vector<int> ranks(static_cast<std::size_t>(transport.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  for (const std::size_t bytes : sizes) {
    DOVETAIL_TRY(const double there_and_back,
                 seconds_of(number, timeout, [&](std::uint32_t own, transport::Deadline deadline) {
                   return time_round_trip(transport, own, bytes, deadline);
                 }));
    links[0].points.push_back({static_cast<double>(bytes), there_and_back / 2});
    std::vector<float> values(bytes / sizeof(float), 1);
    DOVETAIL_TRY(const double sum, seconds_of(number, timeout, [&](std::uint32_t own, transport::Deadline deadline) {
                   return transport::all_reduce(transport, {ranks, own}, std::span(values), deadline);
                 }));
    links[1].points.push_back({static_cast<double>(bytes), sum});
  }
  return links;
}

base::Result<cost::LayerProfile> measure_model(const llm::Transformer& shape, const llm::Computation& computation,
                                               const TimesGrid& grid) {
  cost::LayerProfile profile;
  profile.model = shape;
  profile.element_bytes = 4;
  TwoModels models{model_of(shape, computation, 1), model_of(shape, computation, 2)};
  DOVETAIL_CHECK(measure_passes(models, grid, profile));
  DOVETAIL_CHECK(measure_decoding(models, grid, shape.layers, profile));
  profile.optimizer_bandwidth = step_bandwidth(models.two);
  return profile;
}

}  // namespace dovetail::runtime
