#include "trainers/logs/step_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/document.h"
#include "base/file.h"
#include "base/utf8.h"

namespace dovetail::trainers {

void StepLogBuilder::add(const std::string& key, const std::string& path, const LoggedValue& value) {
  OfKey& of_key = found_[key];
  if (of_key.values.empty()) of_key.path = path;
  const bool is_new = of_key.values.insert_or_assign(value.step, value).second;
  if (!is_new) ++log_.repeated;
  ++size_;
}

StepLog StepLogBuilder::take() {
  for (auto& [key, of_key] : found_) {
    LoggedSeries series{key, of_key.path, {}};
    for (const auto& [step, value] : of_key.values) series.values.push_back(value);
    log_.series.push_back(std::move(series));
  }
  return std::move(log_);
}

std::optional<double> logged_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> logged_step(std::string_view text) {
  const auto value = logged_number(text);
  if (!value || *value < 0 || *value > max_step_number || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

namespace {

using base::CsvCell;
using base::CsvRow;
using base::Node;
using base::Status;

std::string step_message(std::string_view key, const std::string& found) {
  return fmt::format("the step {} is {}; accepted: an integer from 0 to {}", base::quote(key), found, max_step_number);
}

bool is_step_key(std::string_view key) {
  std::string small(key);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return small == "step" || small == "_step" || small == "global_step" || small == "iteration" ||
         small == "training/global_step" || small == "train/global_step" || small == "rollout/step";
}

/// Replaces NaN and Infinity by empty strings of the same width, so that columns do not change.
std::string without_python_literals(std::string_view line) {
  std::string text(line);
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && quoted) {
      ++at;
      continue;
    }
    if (text[at] == '"') quoted = !quoted;
    if (quoted) continue;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (text.compare(at, word.size(), word) != 0) continue;
      text.replace(at, word.size(), "\"\"" + std::string(word.size() - 2, ' '));
      at += word.size() - 1;
      break;
    }
  }
  return text;
}

/// A scalar of an object and its path from the root.
struct Leaf {
  std::string key;
  Node node;
};

void add_leaves(const Node& map, const std::string& prefix, std::vector<Leaf>& leaves) {
  for (std::size_t index = 0; index < map.size(); ++index) {
    const std::string key = prefix + std::string(map.key(index));
    if (map.value(index).is_map())
      add_leaves(map.value(index), key + "/", leaves);
    else
      leaves.push_back({key, map.value(index)});
  }
}

/// Returns whether a document is one object of metrics, each an object of steps.
bool has_series(const Node& root) {
  if (!root.is_map() || root.size() == 0) return false;
  for (std::size_t index = 0; index < root.size(); ++index) {
    const Node value = root.value(index);
    if (!value.is_map()) return false;
    for (std::size_t item = 0; item < value.size(); ++item)
      if (!logged_step(value.key(item))) return false;
  }
  return true;
}

/// Returns the key of a scalar that TensorBoard exported to its own file, from the name of the file.
std::string key_of_file(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t tag = stem.rfind("tag-");
  return tag == std::string::npos ? stem : stem.substr(tag + 4);
}

/// Reads a file into a log.
class TableReader {
 public:
  TableReader(const LogFile& file, StepLogBuilder& log) : file_(file), log_(log) {}

  /// Reads one object that spans all lines, or one object per line.
  Status add_json() {
    const std::string_view content = base::without_byte_order_mark(file_.content);
    DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), file_.path));
    const auto parsed = base::parse_json(without_python_literals(content), file_.path);
    if (parsed.ok() && has_series(parsed->root())) return add_series(parsed->root());
    if (parsed.ok() && parsed->root().is_map() && parsed->root().find("log_history"))
      return add_history(*parsed->root().find("log_history"));
    if (!parsed.ok() && content.find("\"log_history\"") != std::string_view::npos) return parsed.error();
    std::string_view rest = content;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view text = rest.substr(0, end);
      const bool last = end == std::string_view::npos;
      rest.remove_prefix(last ? rest.size() : end + 1);
      ++line_;
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      Status added = add_object(text);
      if (added.ok()) continue;
      if (last && objects_ > 1) {
        log_.add_cut();
        return {};
      }
      base::Error error = std::move(added).error();
      error.line = line_;
      return error;
    }
    return {};
  }

  Status add_csv() {
    DOVETAIL_TRY(const std::vector<CsvRow> rows, base::parse_csv_table(file_.content, file_.path));
    if (rows.empty())
      return base::Error{.path = file_.path, .message = "the log is empty; accepted: a log of a training run"};
    const CsvRow& header = rows.front();
    if (header.size() < 2)
      return base::Error{
          .path = file_.path,
          .line = 1,
          .column = 1,
          .message =
              "not a log; accepted: console output of a trainer, JSON lines with one object per step, or "
              "CSV with a header (`Wall time,Step,Value`, as TensorBoard exports it, or a step column "
              "and one column per key)"};
    DOVETAIL_CHECK(check_header(header));
    std::optional<std::size_t> step;
    bool scalar = header.size() == 3;
    for (std::size_t column = 0; column < header.size(); ++column) {
      if (is_step_key(header[column].text) && !step) step = column;
      const std::string& name = header[column].text;
      scalar = scalar && (name == "Wall time" || name == "Step" || name == "Value");
    }
    for (std::size_t row = 1; row < rows.size(); ++row) {
      ++objects_;
      DOVETAIL_CHECK(add_row(header, rows[row], step, scalar));
    }
    return {};
  }

 private:
  /// Adds an object. Its Errors have line 1.
  Status add_object(std::string_view text) {
    ++objects_;
    DOVETAIL_TRY(const base::Document document, base::parse_json(without_python_literals(text), file_.path));
    const Node root = document.root();
    if (!root.is_map())
      return root.error(fmt::format("a line of the log is {}; accepted: one JSON object per step", root.describe()));
    std::vector<Leaf> leaves;
    add_leaves(root, "", leaves);
    std::int64_t step = objects_;
    for (const Leaf& leaf : leaves) {
      if (!is_step_key(leaf.key)) continue;
      const auto logged = leaf.node.is_number() ? logged_step(leaf.node.text()) : std::nullopt;
      if (!logged) return leaf.node.error(step_message(leaf.key, leaf.node.describe()));
      step = *logged;
      break;
    }
    for (const Leaf& leaf : leaves)
      if (!is_step_key(leaf.key)) add_leaf(leaf.key, leaf.node, step, line_);
    return {};
  }

  void add_leaf(const std::string& key, const Node& node, std::int64_t step, int line) {
    const auto value = node.is_number() ? logged_number(node.text()) : std::nullopt;
    if (value)
      log_.add(key, file_.path, {step, *value, line, node.column()});
    else
      log_.add_not_number();
  }

  Status add_series(const Node& root) {
    for (std::size_t index = 0; index < root.size(); ++index)
      for (std::size_t item = 0; item < root.value(index).size(); ++item) {
        const Node value = root.value(index).value(item);
        add_leaf(std::string(root.key(index)), value, *logged_step(root.value(index).key(item)), value.line());
      }
    return {};
  }

  Status add_history(const Node& history) {
    if (!history.is_list())
      return history.error(
          fmt::format("`log_history` is {}; accepted: a list with one object per step", history.describe()));
    for (std::size_t index = 0; index < history.size(); ++index) {
      const Node entry = history.item(index);
      if (!entry.is_map())
        return entry.error(fmt::format("an entry of `log_history` is {}; accepted: an object", entry.describe()));
      std::vector<Leaf> leaves;
      add_leaves(entry, "", leaves);
      auto step = static_cast<std::int64_t>(index);
      for (const Leaf& leaf : leaves) {
        if (leaf.key != "system/step" && (leaf.key != "step" || entry.find("system/step"))) continue;
        const auto logged = leaf.node.is_number() ? logged_step(leaf.node.text()) : std::nullopt;
        if (!logged) return leaf.node.error(step_message(leaf.key, leaf.node.describe()));
        step = *logged;
      }
      for (const Leaf& leaf : leaves) add_leaf(leaf.key, leaf.node, step, leaf.node.line());
    }
    return {};
  }

  Status check_header(const CsvRow& header) const {
    for (auto cell = header.begin(); cell != header.end(); ++cell)
      if (!cell->text.empty() &&
          std::any_of(header.begin(), cell, [&](const CsvCell& before) { return before.text == cell->text; }))
        return base::error_at(
            *cell, file_.path,
            fmt::format("duplicate column {}; each column may appear only once", base::quote(cell->text)));
    return {};
  }

  Status add_row(const CsvRow& header, const CsvRow& row, std::optional<std::size_t> step_column, bool scalar) {
    if (row.size() != header.size())
      return base::error_at(row.front(), file_.path,
                            fmt::format("the number of cells is {}, but the header has {}; accepted: the same number",
                                        row.size(), header.size()));
    std::int64_t step = objects_;
    if (step_column) {
      const CsvCell& cell = row[*step_column];
      const auto logged = logged_step(cell.text);
      if (!logged)
        return base::error_at(cell, file_.path, step_message(header[*step_column].text, base::quote(cell.text)));
      step = *logged;
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string& name = header[column].text;
      if (column == step_column || name.empty() || name == "Wall time") continue;
      const CsvCell& cell = row[column];
      const auto value = logged_number(cell.text);
      if (scalar && !value)
        return base::error_at(cell, file_.path,
                              fmt::format("the value is {}; accepted: a number", base::quote(cell.text)));
      const std::string key = !scalar ? name : !file_.key.empty() ? file_.key : key_of_file(file_.path);
      if (value)
        log_.add(key, file_.path, {step, *value, cell.line, cell.column});
      else if (!cell.text.empty())
        log_.add_not_number();
    }
    return {};
  }

  const LogFile& file_;
  StepLogBuilder& log_;
  int line_ = 0;
  std::int64_t objects_ = 0;  // number of objects or rows so far
};

}  // namespace

Status add_json_log(const LogFile& file, StepLogBuilder& log) { return TableReader(file, log).add_json(); }

Status add_csv_log(const LogFile& file, StepLogBuilder& log) { return TableReader(file, log).add_csv(); }

}  // namespace dovetail::trainers
