#include "workflow/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace dovetail::workflow {

base::Result<double> read_number(const base::Node& node, std::string_view what, double least, double most) {
  const auto error = [&] {
    return node.error(fmt::format("{} must be a number from {} to {}, not {}", what, least, most, node.describe()));
  };
  if (!node.is_number()) return error();
  std::string_view text = node.text();
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) return error();
  return value;
}

}  // namespace dovetail::workflow
