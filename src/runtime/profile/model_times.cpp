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

/// Each part's median.
PassTimes median_pass(const Model& model, const std::vector<control::TokenSequence>& sequences) {
  constexpr std::array parts{&PassTimes::forward, &PassTimes::head, &PassTimes::head_backward, &PassTimes::backward};
  std::vector<PassTimes> all;
  median_seconds([&] { all.push_back(time_pass(model, sequences)); });
  PassTimes medians;
  for (double PassTimes::* const part : parts) {
    std::vector<double> values;
    for (const PassTimes& times : all) values.push_back(times.*part);
    medians.*part = median(std::move(values));
  }
  return medians;
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

/// What both models take. Measured a few times until two layers take longer than one.
template <class Times>
Result<std::pair<Times, Times>> measure_both(const TwoModels& models, const std::function<Times(const Model&)>& measure,
                                             const std::function<bool(const Times&, const Times&)>& is_longer) {
  constexpr int tries = 20;
  for (int i = 0; i < tries; ++i) {
    std::pair<Times, Times> both{measure(models.one), measure(models.two)};
    if (is_longer(both.first, both.second)) return both;
  }
  return base::Error{
      base::Failure::invalid, "", 0, 0,
      "two layers were no slower than one, twenty times in a row; accepted: a machine that is less busy"};
}

Status measure_passes(const TwoModels& models, const TimesGrid& grid, cost::LayerProfile& profile) {
  for (const std::int64_t length : grid.lengths) {
    ProfileCurve forward{static_cast<double>(length), {}};
    ProfileCurve backward = forward;
    for (const std::int64_t count : grid.sequences) {
      const std::vector<control::TokenSequence> sequences = sequences_of(count, length, grid.scored);
      DOVETAIL_TRY(const auto both, measure_both<PassTimes>(
                                        models, [&](const Model& model) { return median_pass(model, sequences); },
                                        [](const PassTimes& one, const PassTimes& two) {
                                          return two.forward > one.forward && two.backward > one.backward;
                                        }));
      const auto& [one, two] = both;
      const auto tokens = static_cast<double>(count * length);
      forward.points.push_back({tokens, two.forward - one.forward});
      backward.points.push_back({tokens, two.backward - one.backward});
      if (length != grid.lengths.back()) continue;
      const auto rest = [](double whole, double layer) { return std::max(min_seconds, whole - layer); };
      profile.embedding.forward.push_back({tokens, rest(one.forward, forward.points.back().seconds)});
      profile.embedding.backward.push_back({tokens, rest(one.backward, backward.points.back().seconds)});
      profile.head.forward.push_back({tokens, std::max(min_seconds, two.head)});
      profile.head.backward.push_back({tokens, std::max(min_seconds, two.head_backward)});
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
      DOVETAIL_TRY(const auto both,
                   measure_both<double>(
                       models, [&](const Model& model) { return decode_seconds(model, batch, context); },
                       [](double one, double two) { return two > one; }));
      const auto [one, two] = both;
      curve.points.push_back({static_cast<double>(batch), one + (two - one) * static_cast<double>(layers - 1)});
    }
    profile.decode.push_back(std::move(curve));
  }
  return {};
}

double step_bandwidth(Model& model) {
  Optimizer optimizer = make_optimizer(model.weights, all_parts(model.weights));
  const double seconds = median_seconds([&] { step(optimizer, model.weights, {}); });
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
