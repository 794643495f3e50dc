#include "answer/schedules/problem_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/schedules/file_kind.h"
#include "base/enum_names.h"
#include "pipeline/problem/instances.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::answer {
namespace {

bool holds_document(const Input& input) {
  std::error_code ignored;
  return input.text || input.path == "-" || std::filesystem::exists(input.path, ignored);
}

base::Error neither_file_nor_instance(const std::string& name) {
  std::vector<std::string_view> names;
  for (const pipeline::Instance& instance : pipeline::instances()) names.push_back(instance.name);
  constexpr std::size_t max_named = 3;
  const std::string hint = base::did_you_mean(name, names, max_named);
  return base::bad_input(
      fmt::format("'{}' is neither a file nor a bundled instance{} see dovetail instances", name,
                  hint.empty() ? ";" : hint));
}

}  // namespace

base::Result<NamedProblem> read_problem(const Input& input, const Watch& watch) {
  const pipeline::Instance* instance = pipeline::find_instance(input.path);
  if (!holds_document(input)) {
    if (instance == nullptr) return neither_file_nor_instance(input.path);
    return NamedProblem{instance->name, instance->problem};
  }
  if (instance != nullptr && !input.text)
    tell_note(watch, fmt::format("'{}' is a file here; the bundled instance with this name is ignored", input.path));
  DOVETAIL_TRY(const std::string content, read_input(input));
  const std::string name = name_of(input);
  base::Result<pipeline::Problem> problem = pipeline::parse_problem(content, name);
  if (problem.ok()) return NamedProblem{name, std::move(*problem)};
  if (!is_own_schedule(content)) return std::move(problem).error();
  return base::Error{
      base::Failure::bad_input, name, 0, 0,
      fmt::format("this is a schedule, not a problem; dovetail check {} compares it with the bounds of its problem",
                  input.path)};
}

bool is_instance(const Input& input) {
  return !holds_document(input) && pipeline::find_instance(input.path) != nullptr;
}

}  // namespace dovetail::answer
