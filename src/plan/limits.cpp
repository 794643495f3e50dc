#include "plan/limits.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/amount.h"

namespace dovetail::plan {
namespace {

constexpr double max_percent = 90;
constexpr std::int64_t min_amount = 1'000'000;  // a share without its sign is less
constexpr std::string_view accepted =
    "accepted: a share of a device's usable memory, from `0%` to `90%`, or an amount such as `4GiB`";

base::Result<MinMargin> read_share(const base::Node& node) {
  std::string_view number = node.text();
  number.remove_suffix(1);
  const auto percent = base::parse_amount(number, base::Measure::number);
  if (!percent.ok() || *percent > max_percent)
    return node.error(fmt::format("`margin` is {}; {}", node.describe(), accepted));
  return MinMargin{*percent / 100, 0};
}

base::Result<MinMargin> read_margin(const base::Node& node) {
  if (node.is_string() && node.text().ends_with('%')) return read_share(node);
  if (!node.is_number() && !node.is_string())
    return node.error(fmt::format("`margin` is {}; {}", node.describe(), accepted));
  const auto bytes = base::parse_bytes(node.text());
  const auto number = base::parse_amount(node.text(), base::Measure::number);
  const bool zero = number.ok() && *number == 0;
  if (!bytes.ok() || (*bytes < min_amount && !zero))
    return node.error(fmt::format("`margin` is {}; {}", node.describe(), accepted));
  return MinMargin{0, *bytes};
}

}  // namespace

std::int64_t MinMargin::of(std::int64_t usable) const {
  return bytes + std::llround(share * static_cast<double>(usable));
}

base::Result<Limits> read_limits(const base::Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "`limits`", {"margin"}));
  Limits limits;
  if (const auto margin = node.find("margin")) {
    DOVETAIL_TRY(limits.margin, read_margin(*margin));
  }
  return limits;
}

}  // namespace dovetail::plan
