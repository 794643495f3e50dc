#include "trainers/logs/printed_object.h"

#include <fmt/format.h>

#include "base/document.h"
#include "trainers/logs/printed_value.h"

namespace dovetail::trainers {
namespace {

/// The scalars below a value, each with its path.
void add_leaves(const ConsoleLine& line, const std::string& path, const PrintedValue& value,
                std::vector<PrintedLeaf>& leaves) {
  if (value.kind == PrintedValue::Kind::map) {
    for (std::size_t i = 0; i < value.items.size(); ++i)
      add_leaves(line, path.empty() ? value.keys[i] : path + "/" + value.keys[i], value.items[i], leaves);
    return;
  }
  const bool is_word = value.kind == PrintedValue::Kind::word;
  leaves.push_back({path, line.text.substr(value.begin, value.end - value.begin),
                    is_word ? value.number : PrintedNumber{true, std::nullopt}, value.begin});
}

/// The number that a text begins with, in digits: "12", "-1", "1.5". Empty where it begins with none.
std::string_view number_at(std::string_view text) {
  const std::size_t whole = text.starts_with('-') ? 1 : 0;
  std::size_t end = whole + digits_at(text.substr(whole));
  if (end == whole) return {};
  if (text.substr(end).starts_with('.')) end += 1 + digits_at(text.substr(end + 1));
  return text.substr(0, end);
}

bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  return !((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || before == '_' || before == '/');
}

}  // namespace

base::Result<std::vector<PrintedLeaf>> read_printed_object(const ConsoleLine& line, std::size_t at) {
  DOVETAIL_TRY(const PrintedValue map, read_printed_map(line, at));
  std::vector<PrintedLeaf> leaves;
  add_leaves(line, "", map, leaves);
  return leaves;
}

StepObject find_step_object(std::string_view text, std::string_view words) {
  constexpr std::string_view object = ": {";
  for (std::size_t at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const std::size_t step_at = at + words.size();
    const std::string_view step = number_at(text.substr(step_at));
    const std::size_t step_end = step_at + step.size();
    if (begins_word(text, at) && !step.empty() && text.substr(step_end).starts_with(object))
      return {step_at, step, step_end + object.size() - 1};
  }
  return {};
}

base::Status add_step_object(const ConsoleLine& line, const StepObject& found, StepLogBuilder& log) {
  const auto step = logged_step(found.step);
  if (!step)
    return line.error(found.step_at, fmt::format("the step is {}; accepted: a whole number from 0 to {}",
                                                 base::quote(found.step), max_step_number));
  DOVETAIL_TRY(const std::vector<PrintedLeaf> leaves, read_printed_object(line, found.object_at));
  for (const PrintedLeaf& leaf : leaves) add_leaf(line, leaf.key, leaf, *step, log);
  return {};
}

void add_leaf(const ConsoleLine& line, const std::string& key, const PrintedLeaf& leaf, std::int64_t step,
              StepLogBuilder& log) {
  if (leaf.number.value)
    log.add(key, *line.path, {step, *leaf.number.value, line.line, line.columns[leaf.at]});
  else
    log.add_not_number();
}

}  // namespace dovetail::trainers
