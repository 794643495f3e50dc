// Helpers for tests of logs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainers/log_formats.h"

namespace dovetail::test {

using Values = std::vector<std::pair<std::int64_t, double>>;

inline trainers::StepLog log_of(std::string content, std::string path = "run.jsonl") {
  return trainers::read_step_log({{std::move(content), std::move(path)}}).value();
}

/// Returns the error of a log, or an empty string.
inline std::string log_fault(std::string content, std::string path = "run.jsonl") {
  const auto log = trainers::read_step_log({{std::move(content), std::move(path)}});
  return log.ok() ? "" : base::to_text(log.error());
}

/// Returns the values of a key by step.
inline Values values_of(const trainers::StepLog& log, const std::string& key) {
  Values values;
  for (const trainers::LoggedSeries& series : log.series)
    if (series.key == key)
      for (const trainers::LoggedValue& value : series.values) values.emplace_back(value.step, value.value);
  return values;
}

}  // namespace dovetail::test
