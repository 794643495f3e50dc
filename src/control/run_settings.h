// Settings of a run that its plan does not have: data, weights, losses, evaluation. The section `train` of a job
// (dovetail/job@1):
//
//   train:
//     iterations: 60                   # or epochs: passes over data.train
//     seed: 1
//     data: {train: prompts.jsonl, validation: held-out.jsonl, shuffle: true, template: none}
//     tokenizer: folder                # with tokenizer.json; default: weights of actor, else of reward
//     weights: {actor: folder, ...}    # Hugging Face folders, by role
//     precision: {train: fp32, generate: fp32}
//     optimizer: {actor: {learning_rate: 1e-5, ...}}  # per trained role
//     sampling, loss, reward, evaluate, checkpoint, guards: the structs of this file
//
// Paths are relative to the job's folder (plan/job_text.h). Roles, loss keys, `sampling` and `reward` are errors if the
// algorithm does not use them.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/descriptor_file.h"
#include "base/document.h"
#include "base/result.h"
#include "learn/learning_rate.h"
#include "learn/losses.h"
#include "text/data.h"
#include "workflow/workflow.h"

namespace dovetail::control {

/// Upper limits of iteration counts and of coefficients in the file, unless a key has its own limit.
inline constexpr std::int64_t max_iteration_count = 1'000'000'000;
inline constexpr double max_coefficient = 1e6;

/// Data of a run. The paths are already joined with the job's folder.
struct RunData {
  std::string train;
  std::string validation;  ///< empty if absent
  bool shuffle = true;
  text::ChatTemplate chat_template = text::ChatTemplate::none;

  friend bool operator==(const RunData&, const RunData&) = default;
};
template <std::same_as<RunData> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Text;
  return base::fields<T>(field("train", &T::train, Text{}), field("validation", &T::validation, Text{}),
                         field("shuffle", &T::shuffle, base::Flag{}),
                         field("template", &T::chat_template, base::Choice{}));
}

enum class Precision { fp32, bf16 };
constexpr auto names_of(Precision) {
  return std::array{base::EnumName{"fp32", Precision::fp32}, base::EnumName{"bf16", Precision::bf16}};
}

struct Precisions {
  Precision train = Precision::fp32;
  Precision generate = Precision::fp32;

  friend bool operator==(const Precisions&, const Precisions&) = default;
};
template <std::same_as<Precisions> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice;
  return base::fields<T>(field("train", &T::train, Choice{}), field("generate", &T::generate, Choice{}));
}

struct RateSchedule {
  learn::RateShape name = learn::RateShape::constant;
  std::int64_t warmup = 0;  ///< optimizer steps in which the rate rises linearly to the full rate
  double minimum = 0;       ///< final fraction of the full rate, for linear and cosine

  friend bool operator==(const RateSchedule&, const RateSchedule&) = default;
};
template <std::same_as<RateSchedule> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("name", &T::name, base::Choice{}),
                         field("warmup", &T::warmup, base::Integer{0, max_iteration_count}),
                         field("minimum", &T::minimum, base::Number{0, 1}));
}

/// AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101).
struct OptimizerSettings {
  double learning_rate = 1e-5;
  std::vector<double> betas{0.9, 0.95};
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::optional<double> clip = 1.0;  ///< maximum global gradient norm; nullopt: no clipping
  RateSchedule schedule = {};

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;
};
template <std::same_as<OptimizerSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Number;
  return base::fields<T>(field("learning_rate", &T::learning_rate, Number{0, 10}),
                         field("betas", &T::betas, base::NumberList{"a beta", 0, 0.999999, 2}),
                         field("epsilon", &T::epsilon, Number{1e-20, 1}),
                         field("weight_decay", &T::weight_decay, Number{0, 10}),
                         field("clip", &T::clip, base::OptionalNumber{1e-12, max_coefficient}),
                         field("schedule", &T::schedule, base::NestedStruct{}));
}

struct Sampling {
  double temperature = 1;  ///< 0 for greedy decoding
  std::int64_t top_k = 0;  ///< 0 for no limit
  double top_p = 1;
  std::vector<std::string> stop = {};
  std::int64_t min_tokens = 0;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};
template <std::same_as<Sampling> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Number, base::Integer;
  return base::fields<T>(field("temperature", &T::temperature, Number{0, 100}),
                         field("top_k", &T::top_k, Integer{0, 1 << 24}), field("top_p", &T::top_p, Number{1e-6, 1}),
                         field("stop", &T::stop, base::TextList{"a stop text"}),
                         field("min_tokens", &T::min_tokens, Integer{0, 1 << 24}));
}

/// Where the penalty for KL divergence from the reference is added: to the rewards or to the loss.
enum class KlPlace { reward, loss };
constexpr auto names_of(KlPlace) {
  return std::array{base::EnumName{"reward", KlPlace::reward}, base::EnumName{"loss", KlPlace::loss}};
}

struct KlSettings {
  KlPlace in = KlPlace::reward;
  learn::KlEstimator estimator = learn::KlEstimator::k1;
  double coefficient = 0.1;
  std::optional<double> target =
      std::nullopt;  ///< target of learn::AdaptiveKl, which adapts the coefficient; nullopt: constant coefficient
  double horizon = 10'000;

  friend bool operator==(const KlSettings&, const KlSettings&) = default;
};
template <std::same_as<KlSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice, base::Number;
  return base::fields<T>(
      field("in", &T::in, Choice{}), field("estimator", &T::estimator, Choice{}),
      field("coefficient", &T::coefficient, Number{0, max_coefficient}),
      field("target", &T::target, base::OptionalNumber{1e-9, max_coefficient}),
      field("horizon", &T::horizon, Number{1, 1e12},
            {.applies = [](const T& kl) { return kl.target.has_value(); }, .only_with = "`target`"}));
}

/// How advantages are scaled: not at all, over the responses to one prompt, or over the whole batch.
enum class AdvantageScale { none, group, batch };
constexpr auto names_of(AdvantageScale) {
  return std::array{base::EnumName{"none", AdvantageScale::none}, base::EnumName{"group", AdvantageScale::group},
                    base::EnumName{"batch", AdvantageScale::batch}};
}

enum class Norm { none, running };
constexpr auto names_of(Norm) {
  return std::array{base::EnumName{"none", Norm::none}, base::EnumName{"running", Norm::running}};
}

struct LossSettings {
  double clip = 0.2;
  double clip_high = 0.2;
  std::optional<double> value_clip = 0.2;
  double gamma = 1;
  double lambda = 0.95;
  KlSettings kl = {};
  AdvantageScale advantage = AdvantageScale::batch;
  Norm value_norm = Norm::running;
  Norm reward_norm = Norm::none;
  std::optional<double> reward_clip = std::nullopt;  ///< rewards are clipped to [-value, value]
  double no_eos = 0;                                 ///< added to the reward of a truncated response
  std::optional<double> length_penalty =
      std::nullopt;  ///< coefficient of length / cap, which is subtracted from the reward
  learn::TokenWeighting weigh = learn::TokenWeighting::tokens;
  double entropy = 0;
  std::optional<double> importance_cap = std::nullopt;
  std::optional<double> early_stop_kl = std::nullopt;  ///< max mean divergence per token of a mini-batch; above it, the
                                                       ///< role takes no more steps in the iteration
  double beta = 0.1;

  friend bool operator==(const LossSettings&, const LossSettings&) = default;
};
template <std::same_as<LossSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice, base::OptionalNumber, base::Number;
  return base::fields<T>(field("clip", &T::clip, Number{0, 1}),
                         field("clip_high", &T::clip_high, Number{0, max_coefficient}),
                         field("value_clip", &T::value_clip, OptionalNumber{0, max_coefficient}),
                         field("gamma", &T::gamma, Number{0, 1}), field("lambda", &T::lambda, Number{0, 1}),
                         field("kl", &T::kl, base::NestedStruct{}), field("advantage", &T::advantage, Choice{}),
                         field("value_norm", &T::value_norm, Choice{}), field("reward_norm", &T::reward_norm, Choice{}),
                         field("reward_clip", &T::reward_clip, OptionalNumber{0, max_coefficient}),
                         field("no_eos", &T::no_eos, Number{-max_coefficient, max_coefficient}),
                         field("length_penalty", &T::length_penalty, OptionalNumber{0, max_coefficient}),
                         field("weigh", &T::weigh, Choice{}), field("entropy", &T::entropy, Number{0, max_coefficient}),
                         field("importance_cap", &T::importance_cap, OptionalNumber{0, max_coefficient}),
                         field("early_stop_kl", &T::early_stop_kl, OptionalNumber{0, max_coefficient}),
                         field("beta", &T::beta, Number{0, max_coefficient}));
}

/// Program that judges responses.
struct RewardCommand {
  std::vector<std::string> command;
  std::int64_t processes = 1;
  double timeout = 10;  ///< seconds without an answer after which a process is restarted

  friend bool operator==(const RewardCommand&, const RewardCommand&) = default;
};
template <std::same_as<RewardCommand> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("command", &T::command, base::TextList{"a part of the command"}),
                         field("processes", &T::processes, base::Integer{1, 1024}),
                         field("timeout", &T::timeout, base::Duration{}));
}

struct Evaluation {
  std::int64_t every = 20;     ///< interval in iterations, in addition to the start and the end; 0: never
  std::int64_t samples = 256;  ///< maximum number of items, from the start of the validation data
  double temperature = 0;

  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};
template <std::same_as<Evaluation> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Integer;
  return base::fields<T>(field("every", &T::every, Integer{0, max_iteration_count}),
                         field("samples", &T::samples, Integer{1, 1 << 24}),
                         field("temperature", &T::temperature, base::Number{0, 100}));
}

/// Metric of the evaluation that determines the best checkpoint.
enum class BestBy { none, reward, loss };
constexpr auto names_of(BestBy) {
  return std::array{base::EnumName{"none", BestBy::none}, base::EnumName{"reward", BestBy::reward},
                    base::EnumName{"loss", BestBy::loss}};
}

struct CheckpointSettings {
  std::int64_t every = 20;  ///< interval in iterations; 0: only for a new best and when the run ends or stops
  std::int64_t keep = 2;
  BestBy best = BestBy::none;

  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};
template <std::same_as<CheckpointSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Integer;
  return base::fields<T>(field("every", &T::every, Integer{0, max_iteration_count}),
                         field("keep", &T::keep, Integer{1, 1'000'000}), field("best", &T::best, base::Choice{}));
}

/// Reaction to an optimizer step whose loss or gradients are not finite.
enum class NonFinite { skip, stop };
constexpr auto names_of(NonFinite) {
  return std::array{base::EnumName{"skip", NonFinite::skip}, base::EnumName{"stop", NonFinite::stop}};
}

struct Guards {
  NonFinite non_finite = NonFinite::skip;
  std::int64_t in_a_row = 3;  ///< number of consecutive skipped steps that end the run

  friend bool operator==(const Guards&, const Guards&) = default;
};
template <std::same_as<Guards> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("non_finite", &T::non_finite, base::Choice{}),
                         field("in_a_row", &T::in_a_row, base::Integer{1, 1'000'000}));
}

struct RunSettings {
  std::optional<std::int64_t> iterations;  ///< number of iterations; nullopt if `epochs` is set
  std::optional<std::int64_t> epochs;      ///< passes over the data; nullopt if `iterations` is set
  std::string folder;                      ///< folder of the job, in which commands run
  std::uint64_t seed = 1;
  RunData data;
  std::string tokenizer;                       ///< folder with tokenizer.json
  std::map<std::string, std::string> weights;  ///< Hugging Face folders by role
  Precisions precision;
  std::map<std::string, OptimizerSettings> optimizer;  ///< by trained role
  Sampling sampling;
  LossSettings loss;
  std::optional<RewardCommand> reward;
  Evaluation evaluate;
  CheckpointSettings checkpoint;
  Guards guards;
};

/// Returns the SHA-256 of all settings except the number of iterations or epochs. Paths are hashed relative to the
/// job's folder. A run can be resumed only if this hash is unchanged.
std::string hash_of(const RunSettings& settings);

/// Returns the default settings of a run with this algorithm. REQUIRES: can_run(algorithm).
RunSettings default_settings(std::string_view algorithm);

/// Whether the runtime can train with this algorithm.
bool can_run(std::string_view algorithm);
/// Returns the names of the algorithms that the runtime can train with, separated by commas.
std::string runnable_algorithms();

/// Reads the section `train` of a valid job with this workflow. `path` is the path of the job file. Errors point to the
/// invalid value, to the algorithm if runs do not support it, or to the job if the section is missing.
base::Result<RunSettings> read_run(const base::Node& root, const std::string& path, const workflow::Workflow& workflow);

}  // namespace dovetail::control
