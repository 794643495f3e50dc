#include "control/run_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/descriptor_file.h"
#include "base/fields.h"
#include "plan/job_text.h"

namespace dovetail::control {
namespace {

namespace fs = std::filesystem;
using base::Node;
using base::Result;
using base::Status;

/// What a run under an algorithm has.
struct Runnable {
  std::string_view algorithm;
  std::vector<std::string_view> loss;  ///< keys of `loss`
  bool generates = false;              ///< it samples responses, and they are rewarded
  bool has_values = false;             ///< its advantages are of tokens, by a critic
};

const std::vector<Runnable>& runnables() {
  using base::key_of;
  using T = LossSettings;
  static const std::vector<std::string_view> of_responses{
      key_of(&T::clip),      key_of(&T::clip_high),      key_of(&T::kl),
      key_of(&T::advantage), key_of(&T::reward_norm),    key_of(&T::reward_clip),
      key_of(&T::no_eos),    key_of(&T::length_penalty), key_of(&T::weigh),
      key_of(&T::entropy),   key_of(&T::importance_cap), key_of(&T::early_stop_kl)};
  static const std::vector<std::string_view> of_tokens = [] {
    std::vector<std::string_view> keys = of_responses;
    keys.insert(keys.end(), {key_of(&T::value_clip), key_of(&T::gamma), key_of(&T::lambda), key_of(&T::value_norm)});
    return keys;
  }();
  static const std::vector<Runnable> all{
      {"ppo", of_tokens, true, true},
      {"grpo", of_responses, true, false},
      {"sft", {key_of(&T::weigh)}, false, false},
      {"reward_model", {}, false, false},
  };
  return all;
}

const Runnable* find_runnable(std::string_view algorithm) {
  for (const Runnable& each : runnables())
    if (each.algorithm == algorithm) return &each;
  return nullptr;
}

/// Reads one section after the other.
class RunReader {
 public:
  RunReader(const Node& section, fs::path folder, const workflow::Workflow& workflow)
      : section_(section),
        folder_(std::move(folder)),
        workflow_(workflow),
        runnable_(*find_runnable(workflow.name)),
        settings_(default_settings(workflow.name)) {
    settings_.folder = folder_.string();
  }

  Result<RunSettings> read() {
    DOVETAIL_CHECK(base::check_keys(section_, "`train`",
                                    {"iterations", "epochs", "seed", "data", "tokenizer", "weights", "precision",
                                     "optimizer", "sampling", "loss", "reward", "evaluate", "checkpoint", "guards"}));
    DOVETAIL_CHECK(read_length());
    DOVETAIL_CHECK(read_data());
    DOVETAIL_CHECK(read_weights());
    DOVETAIL_CHECK(read_part("precision", settings_.precision));
    DOVETAIL_CHECK(check_precision());
    DOVETAIL_CHECK(read_optimizers());
    DOVETAIL_CHECK(read_loss());
    DOVETAIL_CHECK(read_generation());
    DOVETAIL_CHECK(read_part("evaluate", settings_.evaluate));
    DOVETAIL_CHECK(read_part("checkpoint", settings_.checkpoint));
    DOVETAIL_CHECK(read_part("guards", settings_.guards));
    DOVETAIL_CHECK(check_evaluation());
    DOVETAIL_CHECK(check_best());
    return std::move(settings_);
  }

 private:
  /// What the file says goes over the defaults.
  template <class T>
  Status read_part(std::string_view key, T& value) const {
    const auto node = section_.find(key);
    return node ? base::read_over(*node, base::quote(key), value) : Status();
  }

  std::string from_folder(std::string_view path) const { return (folder_ / path).lexically_normal().string(); }

  Status read_length() {
    const auto iterations = section_.find("iterations");
    const auto epochs = section_.find("epochs");
    if (iterations && epochs) return epochs->error("`epochs` stands beside `iterations`; accepted: one of them");
    if (!iterations && !epochs)
      return section_.error("`train` does not say how long the run is; accepted: `iterations: N` or `epochs: N`");
    const Node node = iterations ? *iterations : *epochs;
    DOVETAIL_TRY(const std::int64_t count,
                 base::read_whole(node, iterations ? "`iterations`" : "`epochs`", 1, max_iteration_count));
    (iterations ? settings_.iterations : settings_.epochs) = count;
    if (const auto seed = section_.find("seed")) {
      DOVETAIL_TRY(const std::int64_t value, base::read_whole(*seed, "`seed`", 0, INT64_MAX));
      settings_.seed = static_cast<std::uint64_t>(value);
    }
    return {};
  }

  Status read_data() {
    DOVETAIL_TRY(const Node data, base::require(section_, "`train`", "data", "data: {train: prompts.jsonl}"));
    DOVETAIL_CHECK(read_part("data", settings_.data));
    if (settings_.data.train.empty()) return data.error("`data` needs the key `train`; accepted: train: prompts.jsonl");
    settings_.data.train = from_folder(settings_.data.train);
    if (!settings_.data.validation.empty()) settings_.data.validation = from_folder(settings_.data.validation);
    return {};
  }

  Status read_weights() {
    if (const auto weights = section_.find("weights")) {
      std::vector<std::string_view> roles;
      for (const workflow::Role& role : workflow_.roles) roles.push_back(role.name);
      DOVETAIL_CHECK(base::check_keys(*weights, "`weights`", roles));
      for (std::size_t index = 0; index < weights->size(); ++index) {
        DOVETAIL_TRY(const std::string path, base::read_text(weights->value(index), base::quote(weights->key(index))));
        settings_.weights[std::string(weights->key(index))] = from_folder(path);
      }
    }
    if (const auto tokenizer = section_.find("tokenizer")) {
      DOVETAIL_TRY(const std::string path, base::read_text(*tokenizer, "`tokenizer`"));
      settings_.tokenizer = from_folder(path);
      return {};
    }
    for (const char* role : {"actor", "reward"})
      if (const auto found = settings_.weights.find(role); found != settings_.weights.end()) {
        settings_.tokenizer = found->second;
        return {};
      }
    return section_.error(
        "`train` names no tokenizer; accepted: `tokenizer: FOLDER`, or `weights: {actor: FOLDER}` of a folder that "
        "has one");
  }

  Status check_precision() const {
    const auto precision = section_.find("precision");
    for (const std::string_view key : {"train", "generate"})
      if (const auto node = precision ? precision->find(key) : std::nullopt; node && node->text() != "fp32")
        return node->error(
            fmt::format("{} is {}; accepted: fp32, all that is computed today", base::quote(key), node->describe()));
    return {};
  }

  Status read_optimizers() {
    std::vector<std::string_view> trained;
    for (const workflow::Task& task : workflow_.tasks)
      if (task.kind == workflow::TaskKind::train) trained.push_back(task.role);
    for (const std::string_view role : trained) settings_.optimizer[std::string(role)] = {};
    const auto node = section_.find("optimizer");
    if (!node) return {};
    DOVETAIL_CHECK(base::check_keys(*node, "`optimizer`", trained));
    for (std::size_t index = 0; index < node->size(); ++index) {
      OptimizerSettings& optimizer = settings_.optimizer[std::string(node->key(index))];
      DOVETAIL_CHECK(base::read_over(node->value(index), base::quote(node->key(index)), optimizer));
    }
    return {};
  }

  /// Keys that mean nothing to the algorithm are refused, not passed over.
  Status read_loss() {
    const auto node = section_.find("loss");
    if (!node) return {};
    DOVETAIL_CHECK(base::check_keys(*node, "`loss`", base::keys_of<LossSettings>()));
    for (std::size_t index = 0; index < node->size(); ++index)
      if (std::find(runnable_.loss.begin(), runnable_.loss.end(), node->key(index)) == runnable_.loss.end())
        return node->key_node(index).error(fmt::format(
            "{} means nothing to {}; accepted: {}", base::quote(node->key(index)), workflow_.name,
            runnable_.loss.empty() ? std::string("no `loss`") : fmt::format("{}", fmt::join(runnable_.loss, ", "))));
    DOVETAIL_CHECK(read_part("loss", settings_.loss));
    DOVETAIL_CHECK(check_loss(*node));
    const auto kl = node->find("kl");
    if (!kl || runnable_.has_values || settings_.loss.kl.in == KlPlace::loss) return {};
    const Node in = kl->find("in").value_or(*kl);
    return in.error(fmt::format("`in` is {}; accepted for {}: loss, as its advantages are of whole responses",
                                in.describe(), workflow_.name));
  }

  /// Options that mean something only beside a task that the workflow does not have.
  Status check_loss(const Node& loss) const {
    const auto kl = loss.find("kl");
    if (kl && !workflow::find_role(workflow_, "reference"))
      return kl->error(
          "`kl` has no reference to diverge from; accepted: another `reference` than `skip` in "
          "`algorithm`, or no such key");
    const auto cap = loss.find("importance_cap");
    if (cap && settings_.loss.importance_cap && !workflow::find_task(workflow_, "actor_infer"))
      return cap->error(
          "`importance_cap` stands beside log-probabilities of the engine alone; accepted: "
          "`policy_log_probabilities: trainer` in `algorithm`, or none");
    return {};
  }

  /// What the best checkpoint is told by has to be among the figures of an evaluation.
  Status check_best() const {
    const BestBy best = settings_.checkpoint.best;
    if (best == BestBy::none) return {};
    const Node node = section_.find("checkpoint")->find("best").value();
    if (settings_.evaluate.every == 0)
      return node.error(
          fmt::format("`best` is {}, and nothing is evaluated; accepted: `evaluate` on validation data "
                      "beside it, or none",
                      base::enum_name(best)));
    const BestBy known = runnable_.generates ? BestBy::reward : BestBy::loss;
    if (best == known) return {};
    return node.error(fmt::format("`best` is {}; accepted for {}: {}, none", base::enum_name(best), workflow_.name,
                                  base::enum_name(known)));
  }

  Status read_generation() {
    for (const std::string_view key : {"sampling", "reward"})
      if (const auto node = section_.find(key); node && !runnable_.generates)
        return node->error(fmt::format("{} means nothing to {}, which generates nothing; accepted: no such section",
                                       base::quote(key), workflow_.name));
    DOVETAIL_CHECK(read_part("sampling", settings_.sampling));
    const bool by_rule = std::any_of(workflow_.tasks.begin(), workflow_.tasks.end(),
                                     [](const workflow::Task& task) { return task.kind == workflow::TaskKind::rule; });
    const auto reward = section_.find("reward");
    if (reward && !by_rule)
      return reward->error(
          fmt::format("`reward` stands beside a reward model; accepted: `algorithm: {{name: {}, reward: rule}}`, or no "
                      "such section",
                      workflow_.name));
    if (!reward && by_rule)
      return section_.error("`train` does not say who rewards; accepted: `reward: {command: [python3, reward.py]}`");
    if (!reward) return {};
    settings_.reward.emplace();
    DOVETAIL_CHECK(base::read_over(*reward, "`reward`", *settings_.reward));
    if (settings_.reward->command.empty())
      return reward->error("`reward` has no command; accepted: `command: [python3, reward.py]`");
    return {};
  }

  /// By default nothing is evaluated where there is nothing to evaluate on.
  Status check_evaluation() {
    if (!settings_.data.validation.empty()) return {};
    if (const auto node = section_.find("evaluate"))
      return node->error("`evaluate` has no data; accepted: `data: {validation: FILE}` beside it");
    settings_.evaluate.every = 0;
    return {};
  }

  const Node section_;
  const fs::path folder_;
  const workflow::Workflow& workflow_;
  const Runnable& runnable_;
  RunSettings settings_;
};

/// A response is judged against the others to its prompt.
base::Status check_groups(const Node& root, const workflow::Workflow& workflow) {
  if (workflow.name != "grpo") return {};
  const auto workload = root.find("workload");
  const auto samples = workload ? workload->find("samples_per_prompt") : std::nullopt;
  if (samples && samples->text() != "1") return {};
  return samples.value_or(workload.value_or(root))
      .error(
          "a prompt has one response, and grpo learns from their differences; accepted: `samples_per_prompt` of 2 or "
          "more");
}

}  // namespace

bool can_run(std::string_view algorithm) { return find_runnable(algorithm) != nullptr; }

std::string runnable_algorithms() {
  std::string names;
  for (const Runnable& each : runnables()) names += (names.empty() ? "" : ", ") + std::string(each.algorithm);
  return names;
}

RunSettings default_settings(std::string_view algorithm) {
  DOVETAIL_ASSERT(can_run(algorithm));
  RunSettings settings;
  if (algorithm == "grpo") {
    // As in its paper (arXiv 2402.03300, section 4.1.1).
    settings.loss.kl = {.in = KlPlace::loss, .estimator = learn::KlEstimator::k3, .coefficient = 0.04};
    settings.loss.advantage = AdvantageScale::group;
    settings.loss.weigh = learn::Weighing::sequences;
  }
  return settings;
}

Result<RunSettings> read_run(const Node& root, const std::string& path, const workflow::Workflow& workflow) {
  if (!can_run(workflow.name))
    return root.find("algorithm")
        .value_or(root)
        .error(fmt::format("{} cannot be trained with yet; accepted: {}", workflow.name, runnable_algorithms()));
  for (const workflow::Task& task : workflow.tasks)
    if (task.extra_tokens > 0)
      return root.find("algorithm")
          .value_or(root)
          .error(fmt::format("{} has pretraining tokens, which no run has yet; accepted: no `ptx_tokens`", task.name));
  DOVETAIL_CHECK(check_groups(root, workflow));
  DOVETAIL_TRY(const Node section, base::require(root, "a job that is run", "train",
                                                 "train: {iterations: 60, data: {train: prompts.jsonl}, ...}"));
  DOVETAIL_TRY(const fs::path folder, plan::read_job_folder(root, path));
  return RunReader(section, folder, workflow).read();
}

}  // namespace dovetail::control
