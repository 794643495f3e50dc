// dovetail fuse-layouts: makes a problem from the parallel layouts of two models on the same devices.
#include "pipeline/problem/fuse_layouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "base/fields.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::cli {
namespace {

using Strings = std::vector<std::string>;

struct FuseLayoutsArguments {
  Strings models;
  std::string time_unit = "tick";
  std::string output = "-";
  bool json = false;
};

constexpr const char* model_example = "actor,dp=2,pp=8,tp=8,forward=5,backward=10,activation=1.95,microbatches=32";

/// Values of a --model option. Costs stay strings because their number depends on pp, which may follow them.
struct ModelText {
  std::string name;
  int dp = 0;
  int pp = 0;
  int tp = 0;
  int microbatches = 0;
  std::string forward;
  std::string backward;
  std::string activation;
};

base::Error wrong_model(const std::string& model, const std::string& fault) {
  return base::bad_input(fmt::format("--model {}: {}; example: --model {}", model, fault, model_example));
}

base::Status read_count(const std::string& model, const std::string& key, const std::string& value, int& count) {
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, count);
  if (parsed.ec == std::errc() && parsed.ptr == end && count >= 1 && count <= pipeline::max_device_count) return {};
  return wrong_model(
      model, fmt::format("{0} must be an integer from 1 to {2}, got '{1}'", key, value, pipeline::max_device_count));
}

base::Status read_item(const std::string& key, const std::string& value, ModelText& model) {
  const std::pair<std::string_view, int*> counts[] = {
      {"dp", &model.dp}, {"pp", &model.pp}, {"tp", &model.tp}, {"microbatches", &model.microbatches}};
  for (const auto& [name, count] : counts) {
    if (key == name) return read_count(model.name, key, value, *count);
  }
  const std::pair<std::string_view, std::string*> costs[] = {
      {"forward", &model.forward}, {"backward", &model.backward}, {"activation", &model.activation}};
  for (const auto& [name, cost] : costs) {
    if (key != name) continue;
    *cost = value;
    return {};
  }
  const std::vector<std::string_view> accepted{"dp", "pp", "tp", "microbatches", "forward", "backward", "activation"};
  return wrong_model(model.name,
                     fmt::format("unknown key '{}'{}", key, answer::hint_and_list(key, "accepted:", accepted)));
}

base::Result<ModelText> read_model(const std::string& text) {
  const Strings items = split(text, ',');
  ModelText model;
  model.name = items.front();
  if (model.name.empty() || model.name.find('=') != std::string::npos)
    return wrong_model(text, "it must start with the model's name");
  if (!base::is_name(model.name)) return wrong_model(text, "the model's name must not contain control characters");
  std::set<std::string> seen;
  for (std::size_t i = 1; i < items.size(); ++i) {
    const std::size_t equals = items[i].find('=');
    if (equals == std::string::npos) return wrong_model(model.name, fmt::format("'{}' must be KEY=VALUE", items[i]));
    const std::string key = items[i].substr(0, equals);
    if (!seen.insert(key).second) return wrong_model(model.name, fmt::format("duplicate key '{}'", key));
    DOVETAIL_CHECK(read_item(key, items[i].substr(equals + 1), model));
  }
  for (const char* needed : {"dp", "pp", "tp", "microbatches", "forward", "backward", "activation"}) {
    if (!seen.contains(needed)) return wrong_model(model.name, fmt::format("'{}' is missing", needed));
  }
  return model;
}

/// Reads one cost for all stages, or one per stage separated by '/'.
template <class Amount, class Parse>
base::Result<std::vector<Amount>> read_costs(const ModelText& model, const char* key, const std::string& text,
                                             Parse parse) {
  std::vector<Amount> costs;
  for (const std::string& item : split(text, '/')) {
    base::Result<Amount> cost = parse(item);
    if (!cost.ok()) return wrong_model(model.name, fmt::format("{} '{}' {}", key, item, cost.error().message));
    costs.push_back(*cost);
  }
  const auto stages = static_cast<std::size_t>(model.pp);
  if (costs.size() == 1) costs.resize(stages, costs.front());
  if (costs.size() == stages) return costs;
  return wrong_model(
      model.name, fmt::format("{} has {} values for {} stages; give one for all stages, or one per stage ('5/5/6/6')",
                              key, costs.size(), stages));
}

base::Result<pipeline::ModelLayout> read_layout(const std::string& text, base::TimeUnit unit) {
  DOVETAIL_TRY(const ModelText model, read_model(text));
  const auto time = [unit](const std::string& item) {
    return base::parse_time(item, unit, base::ExcessDigits::round_half_up);
  };
  const auto memory = [](const std::string& item) { return base::parse_memory(item); };
  pipeline::ModelLayout layout{model.name, model.dp, model.pp, model.tp, model.microbatches, {}, {}, {}};
  DOVETAIL_TRY(layout.forward, read_costs<base::Ticks>(model, "forward", model.forward, time));
  DOVETAIL_TRY(layout.backward, read_costs<base::Ticks>(model, "backward", model.backward, time));
  DOVETAIL_TRY(layout.activation, read_costs<base::Memory>(model, "activation", model.activation, memory));
  return layout;
}

std::string to_yaml(const pipeline::FusedLayouts& fused) {
  std::string text;
  for (const std::string& note : fused.notes) text += "# " + note + "\n";
  for (const std::string& warning : fused.warnings) text += "# warning: " + warning + "\n";
  return text + pipeline::problem_to_yaml(fused.problem);
}

answer::Json layouts_json(const pipeline::FusedLayouts& fused) {
  answer::Json object{{"format", "dovetail/fused-layouts@1"},
                      {"merged_stages", fused.merged_stages},
                      {"copies", answer::Json::array({fused.copies[0], fused.copies[1]})},
                      {"groups", fused.groups},
                      {"notes", fused.notes},
                      {"warnings", fused.warnings}};
  if (fused.merged_stages > 1) {
    object["merged_model"] = fused.problem.models[static_cast<std::size_t>(fused.merged_model)].name;
  }
  object["problem"] = answer::Json::parse(pipeline::problem_to_json(fused.problem));
  return object;
}

/// Writes the problem to `path` and prints the notes on stderr, because JSON has no comments.
base::Status write_problem(const pipeline::FusedLayouts& fused, const std::string& path) {
  const bool as_json = path.ends_with(".json");
  DOVETAIL_TRY(const std::string written,
               write_output(path, as_json ? pipeline::problem_to_json(fused.problem) + "\n" : to_yaml(fused)));
  for (const std::string& note : fused.notes) print_note(note);
  print_error(fmt::format("written: {}\n", written));
  return {};
}

base::Result<int> run_fuse_layouts(const FuseLayoutsArguments& arguments) {
  const auto unit = base::time_unit_named(arguments.time_unit);
  if (!unit)
    return base::bad_input(fmt::format("--time-unit must be tick, s, ms, us or ns, got '{}'", arguments.time_unit));
  if (arguments.models.size() != 2) {
    return base::bad_input(fmt::format("--model must be given exactly twice, got {}; example: --model {}",
                                       arguments.models.size(), model_example));
  }
  DOVETAIL_TRY(const pipeline::ModelLayout first, read_layout(arguments.models[0], *unit));
  DOVETAIL_TRY(const pipeline::ModelLayout second, read_layout(arguments.models[1], *unit));
  DOVETAIL_TRY(const pipeline::FusedLayouts fused, pipeline::fuse_layouts(first, second, *unit));
  for (const std::string& warning : fused.warnings) print_warning(warning);
  const bool to_standard_output = is_standard_output(arguments.output);
  if (!to_standard_output) DOVETAIL_CHECK(write_problem(fused, arguments.output));
  if (arguments.json) {
    print_json(answer::json_text(layouts_json(fused)));
  } else if (to_standard_output) {
    print(to_yaml(fused));
  }
  return exit_done;
}

}  // namespace

void add_fuse_layouts(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<FuseLayoutsArguments>();
  CLI::App* command =
      add_command(program, "fuse-layouts", "make a problem from the layouts of two models on shared devices",
                  "  dovetail fuse-layouts -o problem.yaml \\\n"
                  "    --model actor,dp=2,pp=8,tp=8,forward=5,backward=10,activation=1.95,microbatches=32 \\\n"
                  "    --model critic,dp=4,pp=4,tp=8,forward=3,backward=6,activation=1.1,microbatches=16\n\n"
                  "Keys of --model:\n"
                  "  dp, pp, tp          degrees of data, pipeline and tensor parallelism\n"
                  "  microbatches        micro-batches per pipeline\n"
                  "  forward, backward   times of a micro-batch on one stage\n"
                  "  activation          activation memory of a micro-batch on one stage\n"
                  "A cost is one number for all stages, or one number per stage: 5/5/6/6.");
  add_name_list(*command, "--model", arguments->models, "NAME,KEY=VALUE,...",
                "layout and costs of one of the two models (required twice)");
  add_text_option(*command, "--time-unit", arguments->time_unit, "tick|s|ms|us|ns",
                  "unit of forward and backward (default: tick)");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "file to write, .json for JSON, else YAML (default: stdout)");
  add_flag(*command, "--json", arguments->json, "print one JSON object with the problem and notes");
  set_action(*command, action, [arguments] { return run_fuse_layouts(*arguments); });
}

}  // namespace dovetail::cli
