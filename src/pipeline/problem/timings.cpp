#include "pipeline/problem/timings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/csv.h"
#include "base/fields.h"
#include "base/quantity.h"

namespace dovetail::pipeline {
namespace {

using base::CsvCell;
using base::CsvRow;
using base::Error;
using base::Result;
using base::Status;

constexpr std::int64_t bytes_per_millionth_of_gigabyte = 1000;

/// Rows of one (model, stage, op).
struct OpRows {
  std::vector<std::int64_t> nanoseconds;
  std::vector<std::int64_t> bytes;  ///< bytes of the rows that have them
};

struct StageRows {
  CsvCell first;  ///< first cell that names the stage
  std::map<OpKind, OpRows> ops;
};

struct ModelRows {
  std::string name;
  CsvCell first;
  std::map<int, StageRows> stages;
  std::optional<CsvCell> whole_backward;  ///< the first B
  std::optional<CsvCell> split_backward;  ///< the first I or W

  /// Whether stages of the model may have such ops, given that its backward is whole or split.
  bool has(const OpTraits& traits) const {
    return traits.backward != (split_backward ? BackwardPart::whole : BackwardPart::half);
  }
};

struct SpreadKey {
  std::size_t model;
  int stage;
  OpKind op;
};

struct TimingRows {
  std::vector<ModelRows> models;  ///< in file order
  std::vector<SpreadKey> keys;    ///< in file order
  bool has_activation = false;
};

/// Returns the median. For an even count it is the mean of the two middle values, rounded half up.
std::int64_t median_of(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t upper = values.size() / 2;
  if (values.size() % 2 == 1) return values[upper];
  return (values[upper - 1] + values[upper] + 1) / 2;
}

class TimingsParser {
 public:
  explicit TimingsParser(const std::string& path) : path_(path) {}

  Result<TimingRows> run(std::string_view content) && {
    DOVETAIL_TRY(const std::vector<CsvRow> rows, base::parse_csv_table(content, path_));
    if (rows.empty())
      return Error{base::Failure::bad_input, path_, 1, 1, fmt::format("the file is empty; {}", accepted_header)};
    DOVETAIL_CHECK(read_header(rows.front()));
    for (std::size_t row = 1; row < rows.size(); ++row) DOVETAIL_CHECK(read_row(rows[row]));
    if (rows_.models.empty())
      return error(rows.front().front(), "there are no rows after the header; add a row for each measured op");
    return std::move(rows_);
  }

 private:
  static constexpr std::string_view accepted_header =
      "accepted: the columns model, stage, op, seconds and optionally activation_bytes, in any order";
  enum Column { model_column, stage_column, op_column, seconds_column, bytes_column };
  static constexpr std::array<std::string_view, 5> column_names{"model", "stage", "op", "seconds", "activation_bytes"};

  Error error(const CsvCell& cell, std::string message) const {
    return base::error_at(cell, path_, std::move(message));
  }

  Status read_header(const CsvRow& header) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const auto name = std::find(column_names.begin(), column_names.end(), header[i].text);
      if (name == column_names.end())
        return error(header[i], fmt::format("'{}' is not a column; {}", header[i].text, accepted_header));
      auto& column = columns_[static_cast<std::size_t>(name - column_names.begin())];
      if (column)
        return error(header[i], fmt::format("the column {} appears twice; {}", header[i].text, accepted_header));
      column = i;
    }
    for (std::size_t column = 0; column < bytes_column; ++column)
      if (!columns_[column])
        return error(header.front(),
                     fmt::format("the column {} is missing; {}", column_names[column], accepted_header));
    width_ = header.size();
    return {};
  }

  Status read_row(const CsvRow& row) {
    if (row.size() != width_)
      return error(row.front(),
                   fmt::format("the row has {} cells; it must have {}, like the header", row.size(), width_));
    const CsvCell& model_cell = row[*columns_[model_column]];
    const CsvCell& stage_cell = row[*columns_[stage_column]];
    const CsvCell& op_cell = row[*columns_[op_column]];
    if (!base::is_name(model_cell.text))
      return error(model_cell, "model must be a non-empty name without control characters");
    const std::optional<int> stage = base::parse_index(stage_cell.text);
    if (!stage || *stage >= max_device_count)
      return error(stage_cell, fmt::format("stage is '{}'; it must be an integer from 0 to {}", stage_cell.text,
                                           max_device_count - 1));
    const std::optional<OpKind> op = op_kind_of(op_cell.text);
    if (!op) return error(op_cell, fmt::format("op is '{}'; it must be {}", op_cell.text, op_letters(" or ")));
    DOVETAIL_TRY(const std::int64_t nanoseconds, read_seconds(row[*columns_[seconds_column]]));
    const std::size_t model = model_index(model_cell);
    OpRows& rows = op_rows(model, stage_cell, *stage, op_cell, *op);
    rows.nanoseconds.push_back(nanoseconds);
    if (columns_[bytes_column]) return read_bytes(row[*columns_[bytes_column]], rows);
    return {};
  }

  Result<std::int64_t> read_seconds(const CsvCell& cell) const {
    const auto time = base::parse_time(cell.text, TimeUnit::s, base::ExcessDigits::round_half_up);
    if (!time) return error(cell, fmt::format("seconds '{}' {}", cell.text, time.error().message));
    if (time->count() < 1)
      return error(cell, fmt::format("seconds '{}' is less than one ns; it must be at least 1e-9", cell.text));
    return time->count();
  }

  Status read_bytes(const CsvCell& cell, OpRows& rows) {
    if (cell.text.empty()) return {};
    const auto bytes = base::scale_decimal(cell.text, 0);
    if (!bytes || bytes->negative || !bytes->exact || bytes->too_large ||
        bytes->integer > static_cast<std::uint64_t>(base::max_time))
      return error(cell, fmt::format("activation_bytes is '{}'; it must be an integer from 0 to {}, or empty",
                                     cell.text, base::max_time));
    rows.bytes.push_back(static_cast<std::int64_t>(bytes->integer));
    rows_.has_activation = true;
    return {};
  }

  std::size_t model_index(const CsvCell& cell) {
    const auto [found, is_new] = model_indices_.try_emplace(cell.text, rows_.models.size());
    if (is_new) rows_.models.push_back({cell.text, cell, {}, std::nullopt, std::nullopt});
    return found->second;
  }

  OpRows& op_rows(std::size_t model_index, const CsvCell& stage_cell, int stage, const CsvCell& op_cell, OpKind op) {
    ModelRows& model = rows_.models[model_index];
    StageRows& stage_rows = model.stages.try_emplace(stage, StageRows{stage_cell, {}}).first->second;
    const auto [found, is_new] = stage_rows.ops.try_emplace(op);
    if (is_new) rows_.keys.push_back({model_index, stage, op});
    const BackwardPart part = traits_of(op).backward;
    if (part == BackwardPart::whole && !model.whole_backward) model.whole_backward = op_cell;
    if (part == BackwardPart::half && !model.split_backward) model.split_backward = op_cell;
    return found->second;
  }

  const std::string& path_;
  std::array<std::optional<std::size_t>, 5> columns_;
  std::size_t width_ = 0;
  std::map<std::string, std::size_t> model_indices_;
  TimingRows rows_;
};

/// Builds the problem from complete rows, or reports what is missing.
class ProblemBuilder {
 public:
  ProblemBuilder(const TimingRows& rows, const std::string& path, const TimingsOptions& options)
      : rows_(rows), path_(path), options_(options) {}

  Result<Problem> run() const {
    DOVETAIL_CHECK(check_names(options_.microbatches, "--microbatches is"));
    DOVETAIL_CHECK(check_names(options_.devices, "--map is"));
    Problem problem;
    problem.time_unit = TimeUnit::ms;
    int max_stages = 0;
    for (const ModelRows& model : rows_.models) {
      DOVETAIL_CHECK(check_complete(model));
      max_stages = std::max(max_stages, static_cast<int>(model.stages.size()));
    }
    for (const ModelRows& rows : rows_.models) {
      DOVETAIL_TRY(Model model, make_model(rows));
      DOVETAIL_TRY(std::vector<DeviceId> devices, place_stages(rows, max_stages));
      for (const DeviceId device : devices) problem.devices = std::max(problem.devices, device.value + 1);
      model.replicas = {std::move(devices)};
      problem.models.push_back(std::move(model));
    }
    problem.resident.resize(static_cast<std::size_t>(problem.devices));
    if (const auto fault = find_fault(problem)) return Error{base::Failure::bad_input, path_, 0, 0, *fault};
    return problem;
  }

 private:
  Error error(const CsvCell& cell, std::string message) const {
    return base::error_at(cell, path_, std::move(message));
  }

  /// Checks that options name models of the file.
  template <class Value>
  Status check_names(const std::map<std::string, Value>& named, std::string_view what) const {
    for (const auto& [name, value] : named) {
      std::vector<std::string> names;
      for (const ModelRows& model : rows_.models) names.push_back(model.name);
      if (std::find(names.begin(), names.end(), name) == names.end())
        return base::bad_input(fmt::format("{} given for model {}, which is not in {}; accepted: {}", what, name, path_,
                                           fmt::join(names, ", ")));
    }
    return {};
  }

  Status check_complete(const ModelRows& model) const {
    if (model.whole_backward && model.split_backward) {
      const bool whole_is_later = std::pair(model.whole_backward->line, model.whole_backward->column) >
                                  std::pair(model.split_backward->line, model.split_backward->column);
      return error(whole_is_later ? *model.whole_backward : *model.split_backward,
                   fmt::format("model {} mixes B with I or W; use B, or I and W, on all of its stages", model.name));
    }
    const int last = model.stages.rbegin()->first;
    int expected = 0;
    for (const auto& [stage, rows] : model.stages) {
      if (stage != expected)
        return error(model.first,
                     fmt::format("model {} has a stage {}, but no rows of stage {}; every stage from 0 on needs rows",
                                 model.name, last, expected));
      ++expected;
      for (const OpTraits& op : op_table)
        if (model.has(op) && is_needed(op) && !rows.ops.contains(op.kind))
          return error(
              rows.first,
              fmt::format("stage {} of model {} has no row of op {}; every stage needs F, and either B or both I and W",
                          stage, model.name, op.letter));
      if (rows_.has_activation && bytes_of(rows).empty())
        return error(rows.first, fmt::format("stage {} of model {} has no activation_bytes, but others have them; give "
                                             "them for all stages or for none",
                                             stage, model.name));
    }
    return {};
  }

  /// Whether each stage needs a row of this op. Other ops take no time if they have no row.
  static bool is_needed(const OpTraits& traits) {
    return traits.occurs == nullptr || traits.backward == BackwardPart::half;
  }

  /// Returns the measured bytes of a stage: those of its forwards, which allocate them, or else of any op.
  static std::vector<std::int64_t> bytes_of(const StageRows& rows) {
    if (const auto& forward = rows.ops.at(OpKind::F).bytes; !forward.empty()) return forward;
    std::vector<std::int64_t> bytes;
    for (const auto& [op, op_rows] : rows.ops) bytes.insert(bytes.end(), op_rows.bytes.begin(), op_rows.bytes.end());
    return bytes;
  }

  Result<Model> make_model(const ModelRows& rows) const {
    Model model;
    model.name = rows.name;
    const auto microbatches = options_.microbatches.find(rows.name);
    if (microbatches == options_.microbatches.end())
      return error(rows.first, fmt::format("model {} has no number of micro-batches; add --microbatches {}=N",
                                           rows.name, rows.name));
    if (microbatches->second < 1)
      return base::bad_input(
          fmt::format("model {} has {} micro-batches; it must have at least 1", rows.name, microbatches->second));
    model.microbatches = microbatches->second;
    for (const auto& [stage, stage_rows] : rows.stages) {
      for (const OpTraits& op : op_table)
        if (rows.has(op)) (model.*op.duration).push_back(time_of(stage_rows, op.kind));
      model.activation.push_back(activation_of(stage_rows));
    }
    if (rows.split_backward) model.weight_activation = model.activation;
    model.transfer_forward.resize(model.forward.size() - 1);
    model.transfer_backward.resize(model.forward.size() - 1);
    return model;
  }

  static Ticks time_of(const StageRows& rows, OpKind op) {
    const auto found = rows.ops.find(op);
    return found == rows.ops.end() ? Ticks(0) : Ticks(median_of(found->second.nanoseconds));
  }

  Memory activation_of(const StageRows& rows) const {
    if (!rows_.has_activation) return Memory(0);
    return Memory((median_of(bytes_of(rows)) + bytes_per_millionth_of_gigabyte / 2) / bytes_per_millionth_of_gigabyte);
  }

  Result<std::vector<DeviceId>> place_stages(const ModelRows& rows, int max_stages) const {
    const std::size_t stages = rows.stages.size();
    if (const auto map = options_.devices.find(rows.name); map != options_.devices.end()) {
      if (map->second.size() != stages)
        return base::bad_input(
            fmt::format("the map of model {} has {} devices; it must have one for each of its {} stages", rows.name,
                        map->second.size(), stages));
      for (const DeviceId device : map->second)
        if (device.value < 0 || device.value >= max_device_count)
          return base::bad_input(fmt::format("the map of model {} has device {}; devices must be from 0 to {}",
                                             rows.name, device.value, max_device_count - 1));
      return map->second;
    }
    const bool first = &rows == &rows_.models.front();
    std::vector<DeviceId> devices;
    for (int stage = 0; stage < static_cast<int>(stages); ++stage)
      devices.emplace_back(first ? stage : max_stages - 1 - stage);
    return devices;
  }

  const TimingRows& rows_;
  const std::string& path_;
  const TimingsOptions& options_;
};

std::vector<TimingSpread> spreads_of(const TimingRows& rows) {
  std::vector<TimingSpread> spreads;
  for (const auto& [model, stage, op] : rows.keys) {
    const std::vector<std::int64_t>& times = rows.models[model].stages.at(stage).ops.at(op).nanoseconds;
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    spreads.push_back({rows.models[model].name, stage, op, static_cast<int>(times.size()), Ticks(median_of(times)),
                       Ticks(*least), Ticks(*most)});
  }
  return spreads;
}

}  // namespace

Result<TimedProblem> problem_from_timings(std::string_view content, const std::string& path,
                                          const TimingsOptions& options) {
  DOVETAIL_TRY(const TimingRows rows, TimingsParser(path).run(content));
  DOVETAIL_TRY(Problem problem, ProblemBuilder(rows, path, options).run());
  return TimedProblem{std::move(problem), spreads_of(rows)};
}

}  // namespace dovetail::pipeline
