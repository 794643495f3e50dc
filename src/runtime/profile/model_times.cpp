#include "runtime/profile/model_times.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "base/stopwatch.h"
#include "runtime/generation/generator.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/profile/stopwatch.h"
#include "runtime/training/optimizer.h"

namespace dovetail::runtime {
namespace {

using base::Result;
using base::Status;
using cost::ProfileCurve;

/// What no clock sees.
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

/// A micro-batch on its way there and back.
struct PassTimes {
  double forward = 0;  ///< of embedding and layers
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
  const Tensor last = pass.forward({}, MicroBatchPass::Keeping::everything);
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

/// The median of some steps in which all sequences decode.
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

/// The models with one layer and with two.
struct TwoModels {
  Model one;
  Model two;
};

/// What both models take, time and again. They are measured in turn, so that what else the machine does meets both.
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

/// The median of what `seconds` says of each pair.
template <class Times>
double median_of(const std::vector<std::pair<Times, Times>>& pairs,
                 const std::function<double(const Times& one, const Times& two)>& seconds) {
  std::vector<double> values;
  for (const auto& [one, two] : pairs) values.push_back(seconds(one, two));
  return median(std::move(values));
}

/// Measures a few times until two layers take longer than one.
Status until_longer(const std::function<bool()>& measure) {
  constexpr int tries = 20;
  for (int i = 0; i < tries; ++i)
    if (measure()) return {};
  return base::Error{
      base::Failure::invalid, "", 0, 0,
      "two layers were no slower than one, twenty times in a row; accepted: a machine that is less busy"};
}

/// Medians of a layer (the difference of the two models), and of what is left of the model with one.
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

/// Of all between a mini-batch's last backward and the next forward: the norm, the step, gradients of 0.
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
