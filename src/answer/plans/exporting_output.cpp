#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "answer/plans/exporting.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/utf8.h"

namespace dovetail::answer {
namespace {

namespace fs = std::filesystem;

/// Path of `base` relative to the folder of `target`.
std::string relative_path(const std::string& target, const std::string& base) {
  std::error_code fault;
  const fs::path folder = fs::absolute(fs::path(target == "-" ? "." : target), fault).parent_path();
  const fs::path here = target == "-" ? fs::current_path(fault) : folder;
  const fs::path lead =
      fs::absolute(fs::path(base), fault).lexically_normal().lexically_relative(here.lexically_normal());
  return fault || lead.empty() ? base : lead.string();
}

std::string heading(const ExportAnswer& answer) {
  return fmt::format(
      "# Plan {} of {}, applied to {} by dovetail export.\n# Predicted iteration: {} (before the changes: {}).\n",
      clean_text(answer.plan_name), clean_text(answer.job_name), clean_text(answer.base_file),
      seconds_text(answer.seconds), seconds_text(answer.base_seconds));
}

/// Shell word, quoted if necessary.
std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+=./,:").find(c) != std::string_view::npos;
  };
  if (std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Inserts `comment` at the start of `text`, but after a #! line.
std::string insert_heading(const std::string& text, const std::string& comment) {
  const std::size_t begin = text.starts_with("#!") ? std::min(text.find('\n'), text.size() - 1) + 1 : 0;
  return text.substr(0, begin) + comment + text.substr(begin);
}

/// Copy of a script with changed flags, headed by the changes and their reasons.
std::string copy_text(const ExportAnswer& answer) {
  std::string comment = heading(answer);
  for (const ReasonedChange& change : answer.changes)
    comment +=
        fmt::format("# {}: {}\n", clean_text(fmt::format("{}", fmt::join(trainers::arguments_of(change.change), " "))),
                    clean_text(change.reason));
  return insert_heading(answer.content, comment);
}

/// Complete file, headed by the plan's name and the command that imports the file again.
std::string complete_file_text(const ExportAnswer& answer) {
  std::string comment = fmt::format(
      "# Plan {} of {}, written by dovetail export. Predicted iteration: {}.\n# To import this file, add these "
      "options:",
      clean_text(answer.plan_name), clean_text(answer.job_name), seconds_text(answer.seconds));
  for (const trainers::RequiredName& required : answer.required)
    comment += fmt::format(" --env {}={}", required.name, required.example);
  return insert_heading(answer.content, comment + "\n");
}

std::string script_text(const ExportAnswer& answer, const std::string& target) {
  std::string text = "#!/usr/bin/env bash\n" + heading(answer) + "changes=(\n";
  for (const ReasonedChange& change : answer.changes) {
    text += fmt::format("  # {}\n", clean_text(change.reason));
    for (const std::string& word : trainers::arguments_of(change.change)) text += "  " + shell_word(word) + "\n";
  }
  return text + fmt::format(")\nexec bash \"$(dirname \"$0\")\"/{} \"${{changes[@]}}\" \"$@\"\n",
                            shell_word(relative_path(target, answer.base_file)));
}

/// Nested settings by name. A branch with members has no value.
struct Branch {
  std::string value;
  std::string reason;
  std::map<std::string, Branch> members;
};

void print_members(const Branch& branch, std::size_t depth, std::string& text) {
  const std::string indent(2 * depth, ' ');
  for (const auto& [name, member] : branch.members) {
    if (!member.reason.empty()) text += fmt::format("{}# {}\n", indent, clean_text(member.reason));
    text += fmt::format("{}{}:{}\n", indent, name, member.members.empty() ? " " + member.value : "");
    print_members(member, depth + 1, text);
  }
}

std::string yaml_text(const ExportAnswer& answer, const std::string& target) {
  Branch root;
  const auto put = [&root](const trainers::Setter& set, const std::string& reason) {
    Branch* branch = &root;
    std::string_view key = set.key;
    key.remove_prefix(std::min(key.find_first_not_of('+'), key.size()));
    for (std::size_t begin = 0; begin <= key.size();) {
      const std::size_t end = std::min(key.find('.', begin), key.size());
      branch = &branch->members[std::string(key.substr(begin, end - begin))];
      begin = end + 1;
    }
    branch->value = set.value;
    branch->reason = reason;
  };
  for (const ReasonedChange& change : answer.changes) {
    put(change.change.set, change.reason);
    for (const trainers::Setter& more : change.change.with) put(more, {});
  }
  std::string text =
      heading(answer) + fmt::format("defaults: {}\n", base::json_string(relative_path(target, answer.base_file)));
  print_members(root, 0, text);
  return text;
}

}  // namespace

std::string exported_file(const ExportAnswer& answer, const std::string& target) {
  if (answer.format == ExportFormat::args) {
    std::string lines;
    for (const ReasonedChange& change : answer.changes)
      for (const std::string& word : trainers::arguments_of(change.change)) lines += word + "\n";
    return lines;
  }
  if (answer.base_file.empty()) return complete_file_text(answer);
  if (answer.in_place) return answer.is_script ? copy_text(answer) : answer.content;
  return answer.is_script ? script_text(answer, target) : yaml_text(answer, target);
}

std::string to_json(const ExportAnswer& answer) {
  const bool whole = answer.base_file.empty();
  Json changes = Json::array();
  for (const ReasonedChange& change : answer.changes) {
    Json object{{"key", change.change.set.key}, {"value", change.change.set.value}};
    if (!whole) object["why"] = change.reason;
    if (change.change.removes) object["removed"] = true;
    for (const trainers::Setter& more : change.change.with)
      object["with"].push_back({{"key", more.key}, {"value", more.value}});
    changes.push_back(std::move(object));
  }
  Json object{{"format", "dovetail/export@1"}, {"trainer", answer.trainer}};
  if (!whole) object["base"] = answer.base_file;
  object["plan"] = answer.plan_name;
  object["seconds"] = answer.seconds;
  if (!whole) object["base_seconds"] = answer.base_seconds;
  for (const trainers::RequiredName& required : answer.required)
    object["demanded"].push_back({{"name", required.name}, {"what", required.what}});
  object["changes"] = std::move(changes);
  add_not_modelled(answer.not_modelled, object);
  return json_text(object);
}

}  // namespace dovetail::answer
