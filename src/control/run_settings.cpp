#include "control/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/descriptor_file.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "plan/job_text.h"

namespace dovetail::control {
namespace {

template <class Value, class Write>
std::string by_role(const std::map<std::string, Value>& values, const Write& write) {
  std::string members;
  for (const auto& [role, value] : values)
    members += (members.empty() ? "" : ", ") + base::json_string(role) + ": " + write(value);
  return "{" + members + "}";
}

/// Returns a path relative to the job, independent of the working directory.
std::string from_job(const RunSettings& settings, const std::string& path) {
  const std::filesystem::path folder(settings.folder);
  return folder.empty() || path.empty() ? path : std::filesystem::path(path).lexically_proximate(folder).string();
}

namespace fs = std::filesystem;
using base::Node;
using base::Result;
using base::Status;

/// Properties of an algorithm that runs support.
struct Runnable {
  std::string_view algorithm;
  std::vector<std::string_view> loss;  ///< keys of `loss`
  bool generates = false;              ///< samples responses, which are rewarded
  bool has_values = false;             ///< has per-token advantages from a critic
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

/// Reads the sections in order.
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
  /// Reads a section over the defaults.
  template <class T>
  Status read_part(std::string_view key, T& value) const {
    const auto node = section_.find(key);
    return node ? base::read_over(*node, base::quote(key), value) : Status();
  }

  std::string from_folder(std::string_view path) const { return (folder_ / path).lexically_normal().string(); }

  Status read_length() {
    const auto iterations = section_.find("iterations");
    const auto epochs = section_.find("epochs");
    if (iterations && epochs) return epochs->error("`epochs` and `iterations` cannot be combined; give one of them");
    if (!iterations && !epochs) return section_.error("`train` needs a length: `iterations: N` or `epochs: N`");
    const Node node = iterations ? *iterations : *epochs;
    DOVETAIL_TRY(const std::int64_t count,
                 base::read_integer(node, iterations ? "`iterations`" : "`epochs`", 1, max_iteration_count));
    (iterations ? settings_.iterations : settings_.epochs) = count;
    if (const auto seed = section_.find("seed")) {
      DOVETAIL_TRY(const std::int64_t value, base::read_integer(*seed, "`seed`", 0, INT64_MAX));
      settings_.seed = static_cast<std::uint64_t>(value);
    }
    return {};
  }

  Status read_data() {
    DOVETAIL_TRY(const Node data, base::require(section_, "`train`", "data", "data: {train: prompts.jsonl}"));
    DOVETAIL_CHECK(read_part("data", settings_.data));
    if (settings_.data.train.empty()) return data.error("`data` needs the key `train`, such as `train: prompts.jsonl`");
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
        "`train` needs a tokenizer: set `tokenizer: FOLDER`, or set `weights` of actor or reward to a folder with a "
        "tokenizer");
  }

  Status check_precision() const {
    const auto precision = section_.find("precision");
    for (const std::string_view key : {"train", "generate"})
      if (const auto node = precision ? precision->find(key) : std::nullopt; node && node->text() != "fp32")
        return node->error(fmt::format("{} is {}; only fp32 is supported", base::quote(key), node->describe()));
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

  /// Keys that the algorithm does not use are errors.
  Status read_loss() {
    const auto node = section_.find("loss");
    if (!node) return {};
    DOVETAIL_CHECK(base::check_keys(*node, "`loss`", base::keys_of<LossSettings>()));
    for (std::size_t index = 0; index < node->size(); ++index)
      if (std::find(runnable_.loss.begin(), runnable_.loss.end(), node->key(index)) == runnable_.loss.end())
        return node->key_node(index).error(fmt::format(
            "{} does not apply to {}; accepted: {}", base::quote(node->key(index)), workflow_.name,
            runnable_.loss.empty() ? std::string("no `loss`") : fmt::format("{}", fmt::join(runnable_.loss, ", "))));
    DOVETAIL_CHECK(read_part("loss", settings_.loss));
    DOVETAIL_CHECK(check_loss(*node));
    const auto kl = node->find("kl");
    if (!kl || runnable_.has_values || settings_.loss.kl.in == KlPlace::loss) return {};
    const Node in = kl->find("in").value_or(*kl);
    return in.error(fmt::format("`in` is {}; {} requires `in: loss`, because its advantages cover whole responses",
                                in.describe(), workflow_.name));
  }

  /// Rejects options that need a task that the workflow lacks.
  Status check_loss(const Node& loss) const {
    const auto kl = loss.find("kl");
    if (kl && !workflow::find_role(workflow_, "reference"))
      return kl->error("`kl` needs a reference; set `reference: pass` in `algorithm`, or remove `kl`");
    const auto cap = loss.find("importance_cap");
    if (cap && settings_.loss.importance_cap && !workflow::find_task(workflow_, "actor_infer"))
      return cap->error(
          "`importance_cap` needs the trainer's log-probabilities; set `policy_log_probabilities: trainer` in "
          "`algorithm`, or remove `importance_cap`");
    return {};
  }

  /// The best checkpoint needs a metric of the evaluation.
  Status check_best() const {
    const BestBy best = settings_.checkpoint.best;
    if (best == BestBy::none) return {};
    const Node node = section_.find("checkpoint")->find("best").value();
    if (settings_.evaluate.every == 0)
      return node.error(
          fmt::format("`best` is {}, but nothing is evaluated; set `validation` in `data` and a nonzero `every` in "
                      "`evaluate`, or set `best: none`",
                      base::enum_name(best)));
    const BestBy known = runnable_.generates ? BestBy::reward : BestBy::loss;
    if (best == known) return {};
    return node.error(fmt::format("`best` is {}; accepted for {}: {}, none", base::enum_name(best), workflow_.name,
                                  base::enum_name(known)));
  }

  Status read_generation() {
    for (const std::string_view key : {"sampling", "reward"})
      if (const auto node = section_.find(key); node && !runnable_.generates)
        return node->error(fmt::format("{} does not apply to {}, which generates no responses; remove the section",
                                       base::quote(key), workflow_.name));
    DOVETAIL_CHECK(read_part("sampling", settings_.sampling));
    const bool by_rule = std::any_of(workflow_.tasks.begin(), workflow_.tasks.end(),
                                     [](const workflow::Task& task) { return task.kind == workflow::TaskKind::rule; });
    const auto reward = section_.find("reward");
    if (reward && !by_rule)
      return reward->error(
          fmt::format("`reward` cannot be combined with a reward model; set `algorithm: {{name: {}, reward: rule}}`, "
                      "or remove the section",
                      workflow_.name));
    if (!reward && by_rule)
      return section_.error("`train` needs a reward command: `reward: {command: [python3, reward.py]}`");
    if (!reward) return {};
    settings_.reward.emplace();
    DOVETAIL_CHECK(base::read_over(*reward, "`reward`", *settings_.reward));
    if (settings_.reward->command.empty())
      return reward->error("`reward` needs a command, such as `command: [python3, reward.py]`");
    return {};
  }

  /// By default there is no evaluation without validation data.
  Status check_evaluation() {
    if (!settings_.data.validation.empty()) return {};
    if (const auto node = section_.find("evaluate"))
      return node->error("`evaluate` needs validation data: `data: {validation: FILE}`");
    settings_.evaluate.every = 0;
    return {};
  }

  const Node section_;
  const fs::path folder_;
  const workflow::Workflow& workflow_;
  const Runnable& runnable_;
  RunSettings settings_;
};

/// GRPO compares the responses to a prompt.
base::Status check_groups(const Node& root, const workflow::Workflow& workflow) {
  if (workflow.name != "grpo") return {};
  const auto workload = root.find("workload");
  const auto samples = workload ? workload->find("samples_per_prompt") : std::nullopt;
  if (samples && samples->text() != "1") return {};
  return samples.value_or(workload.value_or(root))
      .error("grpo compares the responses to a prompt; `samples_per_prompt` must be at least 2");
}

}  // namespace

std::string hash_of(const RunSettings& settings) {
  base::JsonObject object;
  object.add("seed", std::to_string(settings.seed));
  RunData data = settings.data;
  for (std::string* const path : {&data.train, &data.validation}) *path = from_job(settings, *path);
  object.add("data", base::canonical_object(data).text());
  object.add("tokenizer", base::json_string(from_job(settings, settings.tokenizer)));
  object.add("weights", by_role(settings.weights,
                                [&](const std::string& path) { return base::json_string(from_job(settings, path)); }));
  object.add("precision", base::canonical_object(settings.precision).text());
  object.add("optimizer", by_role(settings.optimizer, [](const OptimizerSettings& optimizer) {
               return base::canonical_object(optimizer).text();
             }));
  object.add("sampling", base::canonical_object(settings.sampling).text());
  object.add("loss", base::canonical_object(settings.loss).text());
  if (settings.reward) object.add("reward", base::canonical_object(*settings.reward).text());
  object.add("evaluate", base::canonical_object(settings.evaluate).text());
  object.add("checkpoint", base::canonical_object(settings.checkpoint).text());
  object.add("guards", base::canonical_object(settings.guards).text());
  return base::sha256_hex(base::canonical_json(object.text()));
}

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
    // As in the GRPO paper (arXiv 2402.03300, section 4.1.1).
    settings.loss.kl = {.in = KlPlace::loss, .estimator = learn::KlEstimator::k3, .coefficient = 0.04};
    settings.loss.advantage = AdvantageScale::group;
    settings.loss.weigh = learn::TokenWeighting::sequences;
  }
  return settings;
}

Result<RunSettings> read_run(const Node& root, const std::string& path, const workflow::Workflow& workflow) {
  if (!can_run(workflow.name))
    return root.find("algorithm")
        .value_or(root)
        .error(fmt::format("training with {} is not supported; accepted: {}", workflow.name, runnable_algorithms()));
  for (const workflow::Task& task : workflow.tasks)
    if (task.extra_tokens > 0)
      return root.find("algorithm")
          .value_or(root)
          .error(fmt::format("{} has pretraining tokens, which runs do not support; remove `ptx_tokens`", task.name));
  DOVETAIL_CHECK(check_groups(root, workflow));
  DOVETAIL_TRY(const Node section, base::require(root, "a job that is run", "train",
                                                 "train: {iterations: 60, data: {train: prompts.jsonl}, ...}"));
  DOVETAIL_TRY(const fs::path folder, plan::read_job_folder(root, path));
  return RunReader(section, folder, workflow).read();
}

}  // namespace dovetail::control
