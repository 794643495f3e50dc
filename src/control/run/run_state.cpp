#include "control/run/run_state.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace dovetail::control {
namespace {

using Json = nlohmann::json;

constexpr const char* not_finite = "not_finite";

template <class T>
void put(Json& json, const char* key, const std::optional<T>& value) {
  json[key] = value ? Json(*value) : Json(nullptr);
}

template <class T>
void get(const Json& json, const char* key, std::optional<T>& value) {
  value.reset();
  if (!json.at(key).is_null()) value = json.at(key).get<T>();
}

}  // namespace

// Definitions that nlohmann-json finds by name. Members that are not listed are lost.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TokenSequence, tokens, first_scored)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sample, epoch, prompt, copy, group, sequence, is_sampled, ended, text, reward,
                                   sampled, policy, reference, values, shaped_reward, advantages, targets)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingSums, weight, loss, entropy, clipped, ratio, max_ratio, divergence, gap,
                                   max_gap, squared_error, target, squared_target, accurate, margin, log_probability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingRecord, sums, first, mini_batches, tokens, steps, skipped, is_stopped, norm,
                                   max_norm, rate)

namespace {

/// JSON has no infinities or NaN. Each becomes {"not_finite": "inf"}, which no text of the state can be.
void hide_not_finite(Json& json) {
  if (json.is_structured()) {
    for (Json& part : json) hide_not_finite(part);
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    json = Json{{not_finite, fmt::format("{}", json.get<double>())}};
  }
}

void show_not_finite(Json& json) {
  if (!json.is_structured()) return;
  if (json.is_object() && json.size() == 1 && json.contains(not_finite)) {
    const auto text = json.at(not_finite).get<std::string>();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    json = text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
    return;
  }
  for (Json& part : json) show_not_finite(part);
}

Json to_json(const learn::RunningMoments& moments) {
  return {moments.decay, moments.mean_sum, moments.square_sum, moments.weight};
}

learn::RunningMoments moments_of(const Json& json) {
  return {json.at(0).get<double>(), json.at(1).get<double>(), json.at(2).get<double>(), json.at(3).get<double>()};
}

RunState state_of(const Json& json) {
  RunState state;
  state.iterations = json.at("iterations").get<std::int64_t>();
  state.scales = {moments_of(json.at("rewards")), moments_of(json.at("returns")),
                  json.at("kl_coefficient").get<double>()};
  state.skipped_in_a_row = json.at("skipped_in_a_row").get<std::map<std::string, std::int64_t>>();
  get(json, "best", state.best);
  state.is_to_be_evaluated = json.at("is_to_be_evaluated").get<bool>();
  get(json, "first_entropy", state.health.first_entropy);
  state.health.active_warnings = json.at("warnings").get<std::vector<std::string>>();
  state.tasks_done = json.at("tasks_done").get<std::size_t>();
  state.mini_batches_done = json.at("mini_batches_done").get<std::int64_t>();
  state.is_settled = json.at("is_settled").get<bool>();
  state.samples = json.at("samples").get<std::vector<Sample>>();
  state.training = json.at("training").get<std::map<std::string, TrainingRecord>>();
  state.seconds = json.at("seconds").get<double>();
  state.phase_seconds = json.at("phase_seconds").get<std::map<std::string, double>>();
  return state;
}

}  // namespace

std::string state_to_json(const RunState& state) {
  Json json;
  json["iterations"] = state.iterations;
  json["rewards"] = to_json(state.scales.rewards);
  json["returns"] = to_json(state.scales.returns);
  json["kl_coefficient"] = state.scales.kl_coefficient;
  json["skipped_in_a_row"] = state.skipped_in_a_row;
  put(json, "best", state.best);
  json["is_to_be_evaluated"] = state.is_to_be_evaluated;
  put(json, "first_entropy", state.health.first_entropy);
  json["warnings"] = state.health.active_warnings;
  json["tasks_done"] = state.tasks_done;
  json["mini_batches_done"] = state.mini_batches_done;
  json["is_settled"] = state.is_settled;
  json["samples"] = state.samples;
  json["training"] = state.training;
  json["seconds"] = state.seconds;
  json["phase_seconds"] = state.phase_seconds;
  hide_not_finite(json);
  return json.dump() + "\n";
}

base::Result<RunState> parse_state(const std::string& content, const std::string& path) {
  try {
    Json json = Json::parse(content);
    show_not_finite(json);
    return state_of(json);
  } catch (const Json::exception& error) {
    return base::Error{
        base::Failure::bad_input, path, 0, 0,
        fmt::format("not a run state ({}); it must come from a checkpoint of this version", error.what())};
  }
}

}  // namespace dovetail::control
