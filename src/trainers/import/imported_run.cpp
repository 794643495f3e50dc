#include "trainers/import/imported_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor_file.h"
#include "base/document.h"
#include "base/utf8.h"
#include "plan/job_file.h"
#include "workflow/log_normal.h"

namespace dovetail::trainers {
namespace {

/// Returns a string as a YAML scalar, in double quotes unless it certainly needs none.
std::string yaml_scalar(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '/' || c == '-';
  };
  const bool begins_plain = !text.empty() && ((text.front() >= 'a' && text.front() <= 'z') || text.front() == '/');
  if (begins_plain && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// Returns whether a length option gives one statistic, which leaves the spread open: "mean=900", "p50=700,cap=4096".
bool lacks_spread(const std::optional<std::string>& given) {
  if (!given || given->starts_with("file=") || given->find('=') == std::string::npos) return false;
  const std::string parts = "," + *given;
  if (parts.find(",sigma=") != std::string::npos) return false;
  return std::ranges::count(parts, ',') - (parts.find(",cap=") != std::string::npos ? 1 : 0) == 1;
}

/// Converts a length option to YAML: "mean=900,p90=2000" to a map with the cap, "file=lengths.csv" to a map, "900" as
/// is.
base::Result<std::string> lengths_text(std::string_view option, const std::optional<std::string>& given,
                                       std::int64_t cap) {
  if (!given) return fmt::format("{}", cap);
  const std::string& text = *given;
  if (text.find('=') == std::string::npos) return text;
  if (text.starts_with("file=") && text.size() > 5) return fmt::format("{{file: {}}}", yaml_scalar(text.substr(5)));
  std::string map;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const auto is_plain = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '_';
    };
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size() ||
        !std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(equals), is_plain) ||
        !std::all_of(part.begin() + static_cast<std::ptrdiff_t>(equals) + 1, part.end(), is_plain))
      return base::bad_input(
          fmt::format("--{} {}: {} does not have the form KEY=NUMBER; accepted: a number of tokens, statistics such as "
                      "mean=900,p90=2000, or file=lengths.csv",
                      option, base::quote(text), base::quote(part)));
    map += fmt::format("{}: {}, ", part.substr(0, equals), part.substr(equals + 1));
    begin = end + 1;
  }
  if (lacks_spread(given)) map += fmt::format("sigma: {}, ", workflow::default_sigma);
  const bool has_cap = ("," + text).find(",cap=") != std::string::npos;
  return "{" + (has_cap ? map.substr(0, map.size() - 2) : map + fmt::format("cap: {}", cap)) + "}";
}

std::string algorithm_text(const ImportedRun& run) {
  return fmt::format("{{name: {}, reference: {}, reward: {}, policy_log_probabilities: {}}}", run.algorithm,
                     run.reference ? "pass" : "skip", run.reward_model ? "model" : "rule",
                     run.trainer_log_probabilities ? "trainer" : "engine");
}

std::string models_text(const ImportedRun& run) {
  std::string text;
  for (const ImportedModel& model : run.models) {
    if (!model.config.empty()) {
      text += fmt::format("  {}: {}\n", model.role, model.config);
      continue;
    }
    const std::string named = yaml_scalar(model.model);
    text += model.lora == 0 ? fmt::format("  {}: {}\n", model.role, named)
                            : fmt::format("  {}: {{model: {}, lora: {}}}\n", model.role, named, model.lora);
  }
  return text;
}

const ImportedTask* imported_task(const ImportedRun& run, std::string_view name) {
  const auto found =
      std::find_if(run.tasks.begin(), run.tasks.end(), [&](const ImportedTask& task) { return task.task == name; });
  return found == run.tasks.end() ? nullptr : &*found;
}

/// Returns the critic's own training settings, if any.
std::string critic_text(const ImportedRun& run) {
  std::string members;
  if (run.critic_mini_batch > 0) members = fmt::format("mini_batch: {}", run.critic_mini_batch);
  if (run.critic_epochs > 0) members += fmt::format("{}epochs: {}", members.empty() ? "" : ", ", run.critic_epochs);
  return members.empty() ? "" : fmt::format("  critic: {{{}}}\n", members);
}

/// Returns the settings that the job fixes: the trainer's device pools, unless all tasks use all GPUs, and the ZeRO
/// stage of a task with another backend.
std::string fixed_text(const ImportedRun& run) {
  const std::int64_t all = run.cluster.nodes * run.cluster.gpus_per_node;
  const auto has_all = [all](const ImportedTask& task) { return task.planned.mesh.count == all; };
  const bool has_pools = !run.framework.empty() && !std::all_of(run.tasks.begin(), run.tasks.end(), has_all);
  std::string text;
  for (const ImportedTask& task : run.tasks) {
    const cluster::Mesh& mesh = task.planned.mesh;
    std::vector<std::string> members;
    if (has_pools) members.push_back(fmt::format("devices: \"{}-{}\"", mesh.first, mesh.first + mesh.count - 1));
    if (task.other_backend) members.push_back(fmt::format("layout: {{zero: {}}}", task.planned.layout.zero));
    if (!members.empty()) text += fmt::format("  {}: {{{}}}\n", task.task, fmt::join(members, ", "));
  }
  return text.empty() ? text : "fixed:\n" + text;
}

/// Returns whether a length option sets a cap, as files and statistics with `cap` do.
bool gives_own_cap(const std::optional<std::string>& given) {
  return given && (given->find("cap=") != std::string::npos || given->starts_with("file="));
}

}  // namespace

base::Result<std::string> job_text(const ImportedRun& run, const ImportOptions& options) {
  const std::int64_t prompt_cap = options.prompt_length ? run.effective_prompt_cap() : run.prompt_cap;
  // If lengths are given, the sequence cap limits each sample, so the response cap is not reduced.
  const bool has_lengths = options.prompt_length || options.response_length;
  const std::int64_t response_cap = has_lengths ? run.effective_response_cap() : run.response_cap;
  DOVETAIL_TRY(const std::string prompts, lengths_text("prompt-length", options.prompt_length, prompt_cap));
  DOVETAIL_TRY(const std::string responses, lengths_text("response-length", options.response_length, response_cap));
  std::string text = fmt::format("format: {}\nname: {}\nalgorithm: {}\nmodels:\n{}workload:\n", plan::job_format,
                                 yaml_scalar(run.name), algorithm_text(run), models_text(run));
  text += fmt::format("  prompts: {}\n  samples_per_prompt: {}\n  mini_batch: {}\n  epochs: {}\n", run.prompts,
                      run.samples_per_prompt, run.mini_batch, run.epochs);
  if (run.steps_off_policy > 0) text += fmt::format("  steps_off_policy: {}\n", run.steps_off_policy);
  if (!run.packing) text += "  packing: false\n";
  text += critic_text(run);
  text += fmt::format("  prompt_length: {}\n  response_length: {}\n", prompts, responses);
  const std::int64_t prompts_end = plain_length(options.prompt_length).value_or(prompt_cap);
  const std::int64_t both = prompts_end + plain_length(options.response_length).value_or(response_cap);
  if (run.sequence_cap > 0 && prompts_end >= run.sequence_cap)
    return base::bad_input(fmt::format(
        "prompts of up to {} tokens leave none for responses, because both together have at most {} tokens; "
        "accepted: a smaller --prompt-length",
        prompts_end, run.sequence_cap));
  const bool has_own_caps = gives_own_cap(options.prompt_length) || gives_own_cap(options.response_length);
  if (run.sequence_cap > 0 && (run.sequence_cap < both || has_own_caps))
    text += fmt::format("  sequence_cap: {}\n", run.sequence_cap);
  const std::string framework = run.framework.empty() ? "" : fmt::format("framework: {}, ", run.framework);
  // Names and numbers need no quotes.
  std::string more = base::json_object(base::non_default(run.software)).members();
  std::erase(more, '"');
  text += fmt::format("cluster: {}\nsoftware: {{{}training: {}{}{}}}\n", run.cluster.text, framework, run.training,
                      more.empty() ? "" : ", ", more);
  return text + fixed_text(run);
}

void assume_spreads(const ImportOptions& options, ImportedRun& run) {
  for (const auto& [option, given] :
       {std::pair{"--prompt-length", options.prompt_length}, std::pair{"--response-length", options.response_length}})
    if (lacks_spread(given))
      run.assumed.push_back(
          {"", fmt::format("{} {}: the spread is not given; assumed to be sigma={}, the standard deviation of the "
                           "logarithm of the length",
                           option, *given, workflow::default_sigma)});
}

base::Status check_given_lengths(const ImportedRun& run, const ImportOptions& options,
                                 const workflow::Workload& workload) {
  const auto check = [](std::string_view option, std::string_view what, const std::optional<std::string>& given,
                        const workflow::LengthDistribution& lengths, std::int64_t cap) -> base::Status {
    if (!given || lengths.longest() <= cap) return {};
    const std::string subject = given->starts_with("file=")
                                    ? fmt::format("the lengths of {}", base::quote(given->substr(5)))
                                    : fmt::format("--{} {}", option, base::quote(*given));
    return base::bad_input(fmt::format("{}: up to {} tokens, but the configuration limits {} to {}; accepted: up to {}",
                                       subject, lengths.longest(), what, cap, cap));
  };
  if (!run.open_prompts)
    DOVETAIL_CHECK(
        check("prompt-length", "prompts", options.prompt_length, workload.prompt_length, run.effective_prompt_cap()));
  return check("response-length", "responses", options.response_length, workload.response_length,
               run.effective_response_cap());
}

base::Result<plan::Plan> plan_of(const ImportedRun& run, const plan::Job& job) {
  plan::Plan plan{.placement = "custom", .tasks = {}};
  for (const workflow::Task& task : job.workflow.tasks) {
    const ImportedTask* const imported = imported_task(run, task.name);
    if (imported == nullptr && task.kind != workflow::TaskKind::rule)
      return base::bad_input(fmt::format("the configuration does not specify how {} runs", task.name));
    plan.tasks.push_back(imported == nullptr ? plan::TaskPlan{} : imported->planned);
  }
  for (const Finding& finding : run.not_modelled)
    plan.not_modelled.push_back({base::visible(finding.key), base::visible(finding.what)});
  if (const auto fault = plan::find_fault(plan, job))
    return base::bad_input(fmt::format("{}: {}", job.workflow.tasks[fault->task].name, fault->message));
  return plan;
}

}  // namespace dovetail::trainers
