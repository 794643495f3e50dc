#include "trainers/roll/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <utility>

#include "base/document.h"
#include "trainers/import/roles.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

constexpr int max_expression_depth = 32;
constexpr std::int64_t max_expression_number = std::int64_t{1} << 20;
constexpr std::string_view accepted_expression =
    "accepted: lists of GPUs, such as list(range(0, 8)) or [0, 1] + [2, 3]";

/// Value of a subexpression. list() turns a range into a list.
struct DeviceValue {
  enum class Kind { number, list, range };
  Kind kind = Kind::number;
  std::int64_t number = 0;
  std::vector<std::int64_t> items;
};

class DeviceExpression {
 public:
  explicit DeviceExpression(std::string_view text) : text_(text) {}

  base::Result<std::vector<std::int64_t>> read() {
    DOVETAIL_TRY(DeviceValue value, sum());
    skip_blanks();
    if (at_ != text_.size()) return fault("has unexpected text");
    if (value.kind == DeviceValue::Kind::number) return fault("is a number, not a list");
    return std::move(value.items);
  }

 private:
  using Kind = DeviceValue::Kind;

  base::Error fault(std::string_view what) const {
    return base::bad_input(fmt::format("{} {} (at {}); {}", base::quote(std::string(text_)), what,
                                       at_ < text_.size() ? fmt::format("character {}", at_ + 1) : "its end",
                                       accepted_expression));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  bool takes(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  base::Result<DeviceValue> checked(DeviceValue value) const {
    if (value.items.size() > static_cast<std::size_t>(max_devices)) return fault("has too many numbers");
    if (value.number > max_expression_number || value.number < -max_expression_number)
      return fault("has a number that is too large");
    return value;
  }

  base::Result<DeviceValue> sum() {
    DOVETAIL_TRY(DeviceValue value, product());
    while (true) {
      const bool minus = takes("-");
      if (!minus && !takes("+")) return value;
      DOVETAIL_TRY(const DeviceValue other, product());
      if (value.kind != other.kind || value.kind == Kind::range || (minus && value.kind == Kind::list))
        return fault("adds or subtracts values that Python cannot add or subtract");
      value.number += minus ? -other.number : other.number;
      value.items.insert(value.items.end(), other.items.begin(), other.items.end());
      DOVETAIL_TRY(value, checked(std::move(value)));
    }
  }

  base::Result<DeviceValue> product() {
    DOVETAIL_TRY(DeviceValue value, factor());
    while (takes("*")) {
      DOVETAIL_TRY(DeviceValue other, factor());
      if (value.kind == Kind::number) std::swap(value, other);
      if (value.kind == Kind::range || other.kind != Kind::number)
        return fault("multiplies values that Python cannot multiply");
      if (value.kind == Kind::number) {
        value.number *= other.number;
      } else {
        const std::vector<std::int64_t> once = std::move(value.items);
        value.items.clear();
        for (std::int64_t i = 0; i < other.number && value.items.size() <= static_cast<std::size_t>(max_devices); ++i) {
          if (once.empty()) break;
          value.items.insert(value.items.end(), once.begin(), once.end());
        }
      }
      DOVETAIL_TRY(value, checked(std::move(value)));
    }
    return value;
  }

  base::Result<DeviceValue> factor() {
    if (++depth_ > max_expression_depth) return fault("is nested too deeply");
    base::Result<DeviceValue> value = unnested_factor();
    --depth_;
    return value;
  }

  base::Result<DeviceValue> unnested_factor() {
    if (takes("-")) {
      DOVETAIL_TRY(DeviceValue value, factor());
      if (value.kind != Kind::number) return fault("negates a list");
      value.number = -value.number;
      return value;
    }
    if (takes("(")) {
      DOVETAIL_TRY(DeviceValue value, sum());
      if (!takes(")")) return fault("lacks a closing parenthesis");
      return value;
    }
    if (takes("[")) {
      DOVETAIL_TRY(std::vector<DeviceValue> items, arguments("]"));
      return list_of(items);
    }
    if (takes("range(")) {
      DOVETAIL_TRY(const std::vector<DeviceValue> bounds, arguments(")"));
      return range_of(bounds);
    }
    if (takes("list(")) {
      DOVETAIL_TRY(std::vector<DeviceValue> of, arguments(")"));
      if (of.size() > 1 || (of.size() == 1 && of.front().kind == Kind::number))
        return fault("calls list() on a number or on several values");
      DeviceValue value = of.empty() ? DeviceValue{} : std::move(of.front());
      value.kind = Kind::list;
      return value;
    }
    return whole_number();
  }

  base::Result<std::vector<DeviceValue>> arguments(std::string_view closing) {
    std::vector<DeviceValue> all;
    while (!takes(closing)) {
      if (!all.empty() && !takes(",")) return fault("lacks a comma");
      if (!all.empty() && takes(closing)) break;
      if (all.size() > static_cast<std::size_t>(max_devices)) return fault("has too many numbers");
      DOVETAIL_TRY(DeviceValue value, sum());
      all.push_back(std::move(value));
    }
    return all;
  }

  base::Result<DeviceValue> list_of(const std::vector<DeviceValue>& values) const {
    DeviceValue list{.kind = Kind::list, .number = 0, .items = {}};
    for (const DeviceValue& value : values) {
      if (value.kind != Kind::number) return fault("has a list within a list");
      list.items.push_back(value.number);
    }
    return list;
  }

  base::Result<DeviceValue> range_of(const std::vector<DeviceValue>& bounds) const {
    if (bounds.empty() || bounds.size() > 3) return fault("calls range() with no arguments or more than 3");
    for (const DeviceValue& bound : bounds)
      if (bound.kind != Kind::number) return fault("calls range() on a list");
    const std::int64_t first = bounds.size() == 1 ? 0 : bounds[0].number;
    const std::int64_t end = bounds.size() == 1 ? bounds[0].number : bounds[1].number;
    const std::int64_t step = bounds.size() == 3 ? bounds[2].number : 1;
    if (step == 0) return fault("has a range with a step of 0");
    DeviceValue range{.kind = Kind::range, .number = 0, .items = {}};
    for (std::int64_t i = first; step > 0 ? i < end : i > end; i += step) {
      if (range.items.size() > static_cast<std::size_t>(max_devices)) return fault("has too many numbers");
      range.items.push_back(i);
    }
    return range;
  }

  base::Result<DeviceValue> whole_number() {
    skip_blanks();
    DeviceValue value;
    const std::string_view rest = text_.substr(at_);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value.number);
    if (error != std::errc() || rest.empty() || rest.front() == '-') return fault("is not understood");
    at_ += static_cast<std::size_t>(end - rest.data());
    return checked(std::move(value));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t shown = 8;
  if (numbers.size() <= shown) return fmt::format("[{}]", fmt::join(numbers, ", "));
  return fmt::format("[{}, ...]", fmt::join(numbers.begin(), numbers.begin() + shown, ", "));
}

}  // namespace

base::Result<std::vector<std::int64_t>> device_numbers(std::string_view expression) {
  return DeviceExpression(expression).read();
}

base::Result<std::optional<cluster::Mesh>> device_mapping_at(const syntax::SettingTree& tree, const std::string& key) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  std::string expression;
  // Resolved configurations contain a list. ROLL itself evaluates only strings.
  if (setting != nullptr && setting->kind == syntax::Setting::Kind::list && !setting->unknown) {
    expression = value_text(*setting);
  } else {
    DOVETAIL_TRY(const auto value, optional_text(tree, key));
    if (!value) return std::optional<cluster::Mesh>();
    expression = *value;
  }
  const auto numbers = device_numbers(expression);
  if (!numbers.ok()) return setting_error(tree, key, fmt::format("is invalid: {}", numbers.error().message));
  if (numbers->empty()) return std::optional<cluster::Mesh>();
  for (std::size_t i = 0; i < numbers->size(); ++i)
    if (const std::int64_t device = (*numbers)[i];
        device < 0 || device >= max_devices || device != numbers->front() + static_cast<std::int64_t>(i))
      return setting_error(
          tree, key,
          fmt::format("is {}, which plans cannot describe; accepted: consecutive GPUs between 0 and {}, such as "
                      "list(range(8, 16))",
                      numbers_text(*numbers), max_devices - 1));
  return std::optional(
      cluster::Mesh{.first = static_cast<int>(numbers->front()), .count = static_cast<int>(numbers->size())});
}

base::Result<std::string> roll_judge(const syntax::SettingTree& tree) {
  std::vector<std::string> roles{"reward_model"};
  const syntax::Setting* const rewards = find_setting(tree.root, "rewards");
  if (rewards != nullptr)
    for (const auto& [name, reward] : rewards->members) roles.push_back(fmt::format("rewards.{}", name));
  std::string judge;
  for (const std::string& role : roles) {
    const std::string key = role + ".device_mapping";
    DOVETAIL_TRY(const auto mesh, device_mapping_at(tree, key));
    if (!mesh) continue;
    if (!judge.empty())
      return setting_error(tree, key,
                           fmt::format("adds a second reward model to {}, but jobs have only one; accepted: "
                                       "GPUs for only one reward model",
                                       judge));
    judge = role;
  }
  return judge;
}

}  // namespace dovetail::trainers
