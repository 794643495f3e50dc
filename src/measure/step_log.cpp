#include "measure/step_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/csv.h"
#include "base/document.h"
#include "base/input_size.h"
#include "base/utf8.h"

namespace dovetail::measure {
namespace {

using base::CsvCell;
using base::CsvRow;
using base::Node;
using base::Result;
using base::Status;

constexpr std::int64_t max_step_number = 1'000'000'000'000;

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> step_of(std::string_view text) {
  const auto value = number_of(text);
  if (!value || *value < 0 || *value > max_step_number || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::string step_message(std::string_view key, const std::string& found) {
  return fmt::format("the step {} is {}; accepted: a whole number from 0 to {}", base::quote(key), found,
                     max_step_number);
}

bool is_step_key(std::string_view key) {
  std::string small(key);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return small == "step" || small == "_step" || small == "global_step" || small == "iteration" ||
         small == "training/global_step" || small == "train/global_step";
}

/// Python's words for what is no number, put as empty texts of the same width: columns stay what they are.
std::string without_python_words(std::string_view line) {
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

/// A scalar of an object, under its path from the root.
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

/// Whether a document is one object of metrics, each an object of steps.
bool has_series(const Node& root) {
  if (!root.is_map() || root.size() == 0) return false;
  for (std::size_t index = 0; index < root.size(); ++index) {
    const Node value = root.value(index);
    if (!value.is_map()) return false;
    for (std::size_t item = 0; item < value.size(); ++item)
      if (!step_of(value.key(item))) return false;
  }
  return true;
}

/// The key of a scalar that TensorBoard exported alone.
std::string key_of_file(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t tag = stem.rfind("tag-");
  return tag == std::string::npos ? stem : stem.substr(tag + 4);
}

/// Puts together what files say.
class Collector {
 public:
  Status add(const LogFile& file) {
    const std::string_view text = base::without_byte_order_mark(file.content);
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    const char first = begin == std::string_view::npos ? '\0' : text[begin];
    if (first == '[')
      return base::Error{
          base::Failure::bad_input, file.path, 1, 1,
          "this is a JSON list; accepted: JSON lines, one object a step, or CSV as TensorBoard exports it"};
    return first == '{' ? add_json(text, file.path) : add_csv(file);
  }

  StepLog take() {
    for (auto& [key, of_key] : found_) {
      LoggedSeries series{key, of_key.path, {}};
      for (const auto& [step, value] : of_key.values) series.values.push_back(value);
      log_.series.push_back(std::move(series));
    }
    return std::move(log_);
  }

 private:
  struct OfKey {
    std::string path;
    std::map<std::int64_t, LoggedValue> values;
  };

  void add_value(const std::string& key, const std::string& path, const LoggedValue& value) {
    OfKey& of_key = found_[key];
    if (of_key.values.empty()) of_key.path = path;
    const bool is_new = of_key.values.insert_or_assign(value.step, value).second;
    if (!is_new) ++log_.repeated;
  }

  /// One object on all lines, or one a line.
  Status add_json(std::string_view content, const std::string& path) {
    DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), path));
    const auto whole = base::parse_json(without_python_words(content), path);
    if (whole.ok() && has_series(whole->root())) return add_series(whole->root(), path);
    int line = 0;
    std::int64_t objects = 0;
    std::string_view rest = content;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++line;
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (Status added = add_line(text, path, line, ++objects); !added.ok()) {
        base::Error error = std::move(added).error();
        error.line = line;
        return error;
      }
    }
    return {};
  }

  /// An Error here has the line 1.
  Status add_line(std::string_view text, const std::string& path, int line, std::int64_t number) {
    DOVETAIL_TRY(const base::Document document, base::parse_json(without_python_words(text), path));
    const Node root = document.root();
    if (!root.is_map())
      return root.error(fmt::format("a line of the log is {}; accepted: one JSON object a step", root.describe()));
    std::vector<Leaf> leaves;
    add_leaves(root, "", leaves);
    std::int64_t step = number;
    for (const Leaf& leaf : leaves) {
      if (!is_step_key(leaf.key)) continue;
      const auto said = leaf.node.is_number() ? step_of(leaf.node.text()) : std::nullopt;
      if (!said) return leaf.node.error(step_message(leaf.key, leaf.node.describe()));
      step = *said;
      break;
    }
    for (const Leaf& leaf : leaves)
      if (!is_step_key(leaf.key)) add_leaf(leaf.key, path, leaf.node, step, line);
    return {};
  }

  void add_leaf(const std::string& key, const std::string& path, const Node& node, std::int64_t step, int line) {
    const auto value = node.is_number() ? number_of(node.text()) : std::nullopt;
    if (value)
      add_value(key, path, {step, *value, line, node.column()});
    else
      ++log_.not_numbers;
  }

  Status add_series(const Node& root, const std::string& path) {
    for (std::size_t index = 0; index < root.size(); ++index)
      for (std::size_t item = 0; item < root.value(index).size(); ++item) {
        const Node value = root.value(index).value(item);
        add_leaf(std::string(root.key(index)), path, value, *step_of(root.value(index).key(item)), value.line());
      }
    return {};
  }

  Status add_csv(const LogFile& file) {
    DOVETAIL_TRY(const std::vector<CsvRow> rows, base::parse_csv_table(file.content, file.path));
    if (rows.empty())
      return base::Error{.path = file.path,
                         .message = "the log is empty; accepted: JSON lines, or CSV as TensorBoard exports it"};
    const CsvRow& header = rows.front();
    if (header.size() < 2)
      return base::Error{
          .path = file.path,
          .line = 1,
          .column = 1,
          .message =
              "this is no log; accepted: JSON lines, one object a step, or CSV with a header: `Wall time,Step,Value`, "
              "or the steps and a column for each key"};
    DOVETAIL_CHECK(check_header(header, file.path));
    std::optional<std::size_t> step;
    bool scalar = header.size() == 3;
    for (std::size_t column = 0; column < header.size(); ++column) {
      if (is_step_key(header[column].text) && !step) step = column;
      const std::string& name = header[column].text;
      scalar = scalar && (name == "Wall time" || name == "Step" || name == "Value");
    }
    std::int64_t number = 0;
    for (std::size_t row = 1; row < rows.size(); ++row)
      DOVETAIL_CHECK(add_row(file, header, rows[row], step, ++number, scalar));
    return {};
  }

  Status check_header(const CsvRow& header, const std::string& path) const {
    for (auto cell = header.begin(); cell != header.end(); ++cell)
      if (!cell->text.empty() &&
          std::any_of(header.begin(), cell, [&](const CsvCell& before) { return before.text == cell->text; }))
        return base::error_at(*cell, path,
                              fmt::format("there are two columns {}; accepted: each once", base::quote(cell->text)));
    return {};
  }

  Status add_row(const LogFile& file, const CsvRow& header, const CsvRow& row, std::optional<std::size_t> step_column,
                 std::int64_t number, bool scalar) {
    if (row.size() != header.size())
      return base::error_at(
          row.front(), file.path,
          fmt::format("a row of {} cells under a header of {}; accepted: as many", row.size(), header.size()));
    std::int64_t step = number;
    if (step_column) {
      const CsvCell& cell = row[*step_column];
      const auto said = step_of(cell.text);
      if (!said)
        return base::error_at(cell, file.path, step_message(header[*step_column].text, base::quote(cell.text)));
      step = *said;
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string& name = header[column].text;
      if (column == step_column || name.empty() || name == "Wall time") continue;
      const CsvCell& cell = row[column];
      const auto value = number_of(cell.text);
      if (scalar && !value)
        return base::error_at(cell, file.path,
                              fmt::format("the value is {}; accepted: a number", base::quote(cell.text)));
      const std::string key = !scalar ? name : !file.key.empty() ? file.key : key_of_file(file.path);
      if (value)
        add_value(key, file.path, {step, *value, cell.line, cell.column});
      else if (!cell.text.empty())
        ++log_.not_numbers;
    }
    return {};
  }

  StepLog log_;
  std::map<std::string, OfKey> found_;
};

}  // namespace

Result<StepLog> read_step_log(const std::vector<LogFile>& files) {
  Collector collector;
  for (const LogFile& file : files) DOVETAIL_CHECK(collector.add(file));
  StepLog log = collector.take();
  if (log.series.empty() && !files.empty())
    return base::Error{.path = files.front().path,
                       .message = "there is no number in the log; accepted: numbers by step"};
  return log;
}

}  // namespace dovetail::measure
