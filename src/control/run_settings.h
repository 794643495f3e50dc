// What a run does beyond what its plan says: its data, weights, losses, when it looks at itself. The section `train` of
// a job.
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
#include "learn/kl.h"
#include "learn/learning_rate.h"
#include "learn/token_weights.h"
#include "text/chat_template.h"

namespace dovetail::control {

/// Limits of what a file may ask for.
inline constexpr std::int64_t max_iteration_count = 1'000'000'000;
inline constexpr double max_coefficient = 1e6;

/// The data of a run; paths begin at the working folder.
struct RunData {
  std::string train;
  std::string validation;  ///< empty: none
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
  std::int64_t warmup = 0;  ///< optimizer steps until the full rate, from 0 by equal parts
  double minimum = 0;       ///< what linear and cosine end at, as a part of the full rate

  friend bool operator==(const RateSchedule&, const RateSchedule&) = default;
};
template <std::same_as<RateSchedule> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("name", &T::name, base::Choice{}),
                         field("warmup", &T::warmup, base::Whole{0, max_iteration_count}),
                         field("minimum", &T::minimum, base::Number{0, 1}));
}

/// AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101).
struct OptimizerSettings {
  double learning_rate = 1e-5;
  std::vector<double> betas{0.9, 0.95};
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::optional<double> clip = 1.0;  ///< of the global norm of the gradients
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
                         field("clip", &T::clip, base::MaybeNumber{1e-12, max_coefficient}),
                         field("schedule", &T::schedule, base::Inner{}));
}

struct Sampling {
  double temperature = 1;  ///< 0: the most likely token
  std::int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  std::vector<std::string> stop = {};
  std::int64_t min_tokens = 0;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};
template <std::same_as<Sampling> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Number, base::Whole;
  return base::fields<T>(field("temperature", &T::temperature, Number{0, 100}),
                         field("top_k", &T::top_k, Whole{0, 1 << 24}), field("top_p", &T::top_p, Number{1e-6, 1}),
                         field("stop", &T::stop, base::TextList{"a text to stop at"}),
                         field("min_tokens", &T::min_tokens, Whole{0, 1 << 24}));
}

/// Where the divergence from the reference counts.
enum class KlPlace { reward, loss };
constexpr auto names_of(KlPlace) {
  return std::array{base::EnumName{"reward", KlPlace::reward}, base::EnumName{"loss", KlPlace::loss}};
}

struct KlSettings {
  KlPlace in = KlPlace::reward;
  learn::KlEstimator estimator = learn::KlEstimator::k1;
  double coefficient = 0.1;
  std::optional<double> target = std::nullopt;  ///< given: the coefficient is learn::AdaptiveKl's first
  double horizon = 10'000;

  friend bool operator==(const KlSettings&, const KlSettings&) = default;
};
template <std::same_as<KlSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice, base::Number;
  return base::fields<T>(
      field("in", &T::in, Choice{}), field("estimator", &T::estimator, Choice{}),
      field("coefficient", &T::coefficient, Number{0, max_coefficient}),
      field("target", &T::target, base::MaybeNumber{1e-9, max_coefficient}),
      field("horizon", &T::horizon, Number{1, 1e12},
            {.applies = [](const T& kl) { return kl.target.has_value(); }, .only_with = "`target`"}));
}

/// What advantages are divided by.
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
  std::optional<double> reward_clip = std::nullopt;     ///< rewards are cut to [-it, it]
  double no_eos = 0;                                    ///< added to the reward of a response that was cut off
  std::optional<double> length_penalty = std::nullopt;  ///< taken off the reward, times the part of the cap it has
  learn::Weighing weigh = learn::Weighing::tokens;
  double entropy = 0;
  std::optional<double> importance_cap = std::nullopt;
  std::optional<double> early_stop_kl = std::nullopt;  ///< of a mini-batch: no steps beyond it in the iteration
  double beta = 0.1;

  friend bool operator==(const LossSettings&, const LossSettings&) = default;
};
template <std::same_as<LossSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice, base::MaybeNumber, base::Number;
  return base::fields<T>(field("clip", &T::clip, Number{0, 1}),
                         field("clip_high", &T::clip_high, Number{0, max_coefficient}),
                         field("value_clip", &T::value_clip, MaybeNumber{0, max_coefficient}),
                         field("gamma", &T::gamma, Number{0, 1}), field("lambda", &T::lambda, Number{0, 1}),
                         field("kl", &T::kl, base::Inner{}), field("advantage", &T::advantage, Choice{}),
                         field("value_norm", &T::value_norm, Choice{}), field("reward_norm", &T::reward_norm, Choice{}),
                         field("reward_clip", &T::reward_clip, MaybeNumber{0, max_coefficient}),
                         field("no_eos", &T::no_eos, Number{-max_coefficient, max_coefficient}),
                         field("length_penalty", &T::length_penalty, MaybeNumber{0, max_coefficient}),
                         field("weigh", &T::weigh, Choice{}), field("entropy", &T::entropy, Number{0, max_coefficient}),
                         field("importance_cap", &T::importance_cap, MaybeNumber{0, max_coefficient}),
                         field("early_stop_kl", &T::early_stop_kl, MaybeNumber{0, max_coefficient}),
                         field("beta", &T::beta, Number{0, max_coefficient}));
}

/// A program that judges responses.
struct RewardCommand {
  std::vector<std::string> command;
  std::int64_t processes = 1;
  double timeout = 10;  ///< seconds for one response

  friend bool operator==(const RewardCommand&, const RewardCommand&) = default;
};
template <std::same_as<RewardCommand> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("command", &T::command, base::TextList{"a part of the command"}),
                         field("processes", &T::processes, base::Whole{1, 1024}),
                         field("timeout", &T::timeout, base::Duration{}));
}

struct Evaluation {
  std::int64_t every = 20;     ///< iterations; 0: never
  std::int64_t samples = 256;  ///< of the validation data, from its first
  double temperature = 0;

  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};
template <std::same_as<Evaluation> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Whole;
  return base::fields<T>(field("every", &T::every, Whole{0, max_iteration_count}),
                         field("samples", &T::samples, Whole{1, 1 << 24}),
                         field("temperature", &T::temperature, base::Number{0, 100}));
}

/// By what the best checkpoint is told.
enum class BestBy { none, reward, loss };
constexpr auto names_of(BestBy) {
  return std::array{base::EnumName{"none", BestBy::none}, base::EnumName{"reward", BestBy::reward},
                    base::EnumName{"loss", BestBy::loss}};
}

struct CheckpointSettings {
  std::int64_t every = 20;  ///< iterations; 0: at the end only
  std::int64_t keep = 2;
  BestBy best = BestBy::none;

  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};
template <std::same_as<CheckpointSettings> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Whole;
  return base::fields<T>(field("every", &T::every, Whole{0, max_iteration_count}),
                         field("keep", &T::keep, Whole{1, 1'000'000}), field("best", &T::best, base::Choice{}));
}

/// What becomes of an optimizer step whose loss or gradients are no numbers.
enum class NonFinite { skip, stop };
constexpr auto names_of(NonFinite) {
  return std::array{base::EnumName{"skip", NonFinite::skip}, base::EnumName{"stop", NonFinite::stop}};
}

struct Guards {
  NonFinite non_finite = NonFinite::skip;
  std::int64_t in_a_row = 3;  ///< so many skipped steps end the run

  friend bool operator==(const Guards&, const Guards&) = default;
};
template <std::same_as<Guards> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("non_finite", &T::non_finite, base::Choice{}),
                         field("in_a_row", &T::in_a_row, base::Whole{1, 1'000'000}));
}

struct RunSettings {
  std::optional<std::int64_t> iterations;  ///< this or epochs
  std::optional<std::int64_t> epochs;      ///< passes over the data
  std::string folder;                      ///< of the job: commands run in it
  std::uint64_t seed = 1;
  RunData data;
  std::string tokenizer;                       ///< a folder with a tokenizer.json
  std::map<std::string, std::string> weights;  ///< by role: Hugging Face folders
  Precisions precision;
  std::map<std::string, OptimizerSettings> optimizer;  ///< by role: of each that is trained
  Sampling sampling;
  LossSettings loss;
  std::optional<RewardCommand> reward;
  Evaluation evaluate;
  CheckpointSettings checkpoint;
  Guards guards;
};

/// The SHA-256 of what decides what a run computes: all but how long it is. A run goes on only under the hash that it
/// began with.
std::string hash_of(const RunSettings& settings);

}  // namespace dovetail::control
