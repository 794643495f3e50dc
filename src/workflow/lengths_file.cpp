#include "workflow/lengths_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/file.h"
#include "workflow/lengths_table.h"
#include "workflow/log_normal.h"

namespace dovetail::workflow {
namespace {

using base::Node;
using base::Result;

Result<LengthDistribution> read_table(const Node& node, std::string_view what, const std::string& directory) {
  DOVETAIL_CHECK(base::check_keys(node, what, {"file", "column"}));
  DOVETAIL_TRY(const Node file, base::require(node, what, "file"));
  if (!file.is_string() || file.text().empty())
    return file.error(
        fmt::format("`file` of {} is {}; accepted: the path of a CSV or JSONL file", what, file.describe()));
  std::string column;
  if (const std::optional<Node> named = node.find("column")) {
    if (!named->is_string() || named->text().empty())
      return named->error(
          fmt::format("`column` of {} is {}; accepted: the name of a column or key", what, named->describe()));
    column = named->text();
  }
  const std::string path = (std::filesystem::path(directory) / std::filesystem::path(file.text())).string();
  Result<std::string> content = base::read_file(path);
  if (!content.ok()) {
    base::Error error = file.error(base::to_text(content.error()));
    error.failure = content.error().failure;
    return error;
  }
  return parse_length_table(*content, path, column);
}

Result<LengthDistribution> read_figures(const Node& node, std::string_view what) {
  DOVETAIL_CHECK(
      base::check_keys(node, what, {"p50", "p90", "p99", "mean", "sigma", "cap", "at_cap", "file", "column"}));
  LengthFigures figures;
  const auto read = [&](std::string_view key, std::optional<double>& figure, double least,
                        double most) -> base::Status {
    const std::optional<Node> value = node.find(key);
    if (!value) return {};
    DOVETAIL_TRY(figure, base::read_number(*value, fmt::format("`{}` of {}", key, what), least, most));
    return {};
  };
  constexpr auto longest = static_cast<double>(max_length);
  DOVETAIL_CHECK(read("p50", figures.p50, 1.0, longest));
  DOVETAIL_CHECK(read("p90", figures.p90, 1.0, longest));
  DOVETAIL_CHECK(read("p99", figures.p99, 1.0, longest));
  DOVETAIL_CHECK(read("mean", figures.mean, 1.0, longest));
  DOVETAIL_CHECK(read("sigma", figures.sigma, 0.0, max_sigma));
  DOVETAIL_CHECK(read("at_cap", figures.at_cap, 0.0, 1.0));
  if (const std::optional<Node> cap = node.find("cap")) {
    DOVETAIL_TRY(figures.cap, base::read_whole(*cap, fmt::format("`cap` of {}", what), 1, max_length));
  }
  const std::optional<FigureFault> fault = find_fault(figures);
  if (!fault) return log_normal_lengths(figures);
  const std::optional<Node> place = node.find(fault->figure);
  return (place ? *place : node).error(fmt::format("{}: {}", what, fault->message));
}

}  // namespace

Result<LengthDistribution> read_lengths(const Node& node, std::string_view what, const std::string& directory) {
  if (node.is_number()) {
    DOVETAIL_TRY(const std::int64_t length, base::read_whole(node, what, 1, max_length));
    return LengthDistribution::fixed(length);
  }
  if (!node.is_map())
    return node.error(
        fmt::format("{} is {}; accepted: a number of tokens, figures as in {{p50: 800, p90: 2100}}, or {{file: PATH}}",
                    what, node.describe()));
  return node.find("file") ? read_table(node, what, directory) : read_figures(node, what);
}

}  // namespace dovetail::workflow
