#include "trainers/logs/step_log.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

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

}  // namespace dovetail::trainers
