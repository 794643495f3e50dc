#include "pipeline/formats/pytorch_csv_actions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/csv.h"

namespace dovetail::pipeline {
namespace {

using base::Error;
using base::Failure;
using base::FilePlace;
using base::Result;
using base::Status;

struct VerbFacts {
  std::string_view name;
  Verb verb;
  bool has_microbatch;
};

/// Actions as the dialects of 2025 define them; BW exists only in the dialect of 2024.
constexpr std::array<VerbFacts, 12> verbs{{
    {"F", Verb::forward, true},
    {"B", Verb::whole_backward, true},
    {"I", Verb::input_gradient, true},
    {"W", Verb::weight_gradient, true},
    {"BW", Verb::whole_backward, true},
    {"SEND_F", Verb::send_forward, true},
    {"RECV_F", Verb::receive_forward, true},
    {"SEND_B", Verb::send_backward, true},
    {"RECV_B", Verb::receive_backward, true},
    {"UNSHARD", Verb::skipped, false},
    {"RESHARD", Verb::skipped, false},
    {"REDUCE_GRAD", Verb::skipped, false},
}};

constexpr std::string_view container_name = "OVERLAP_F_B";
constexpr std::string_view accepted =
    "accepted: actions like 0F3 (stage 0, F, micro-batch 3) with F, B, I, W, BW, SEND_F, RECV_F, SEND_B or RECV_B; "
    "0UNSHARD, 0RESHARD, 0REDUCE_GRAD, (1F3;2B0)OVERLAP_F_B";

constexpr std::string_view accepted_numbers = "it must be at most 2147483647";

constexpr std::string_view digits = "0123456789";

class ActionParser {
 public:
  explicit ActionParser(const std::string& path) : path_(path) {}

  Result<ActionFile> run(std::string_view content) && {
    DOVETAIL_TRY(const std::vector<base::CsvRow> rows, base::parse_csv(content, path_));
    for (const base::CsvRow& row : rows) {
      file_.ranks.emplace_back();
      file_.rank_places.push_back(row.empty() ? after_last_row() : FilePlace{row.front().line, 1});
      for (const base::CsvCell& cell : row) DOVETAIL_CHECK(read_cell(cell));
    }
    if (std::all_of(file_.ranks.begin(), file_.ranks.end(), [](const auto& rank) { return rank.empty(); }))
      return error({1, 1}, fmt::format("the file has no actions; {}", accepted));
    DOVETAIL_CHECK(settle_dialect());
    return std::move(file_);
  }

 private:
  /// Returns the position of a row without cells.
  FilePlace after_last_row() const { return {file_.rank_places.empty() ? 1 : file_.rank_places.back().line + 1, 1}; }

  Error error(FilePlace place, std::string message) const {
    return {Failure::bad_input, path_, place.line, place.column, std::move(message)};
  }

  Status read_cell(const base::CsvCell& cell) {
    const std::string_view text = cell.text;
    if (text.empty()) return {};
    if (text.front() != '(') return read_action(text, {cell.line, cell.column});
    const std::size_t close = text.find(')');
    if (close == std::string_view::npos || text.substr(close + 1) != container_name)
      return error({cell.line, cell.column}, fmt::format("'{}' is not an action; {}", text, accepted));
    newest_ = true;
    for (std::size_t begin = 1; begin <= close;) {
      const std::size_t end = std::min(text.find(';', begin), close);
      DOVETAIL_CHECK(read_action(text.substr(begin, end - begin), {cell.line, cell.column + static_cast<int>(begin)}));
      begin = end + 1;
    }
    return {};
  }

  Status read_action(std::string_view text, FilePlace place) {
    const std::size_t name_begin = std::min(text.find_first_not_of(digits), text.size());
    const std::size_t name_end = std::min(text.find_first_of(digits, name_begin), text.size());
    const std::string_view name = text.substr(name_begin, name_end - name_begin);
    const auto facts =
        std::find_if(verbs.begin(), verbs.end(), [name](const VerbFacts& verb) { return verb.name == name; });
    const std::optional<int> stage = base::parse_index(text.substr(0, name_begin));
    if (facts != verbs.end() && base::is_too_large_index(text.substr(0, name_begin)))
      return error(place, fmt::format("the stage of '{}' is too large; {}", text, accepted_numbers));
    if (facts == verbs.end() || !stage) return error(place, fmt::format("'{}' is not an action; {}", text, accepted));
    Action action{facts->verb, facts->name, *stage, 0, static_cast<int>(file_.ranks.size()) - 1, 0, place};
    action.position = static_cast<int>(file_.ranks.back().size());
    const std::string_view rest = text.substr(name_end);
    if (facts->has_microbatch) {
      const std::optional<int> microbatch = base::parse_index(rest);
      if (base::is_too_large_index(rest))
        return error(place, fmt::format("the micro-batch of '{}' is too large; {}", text, accepted_numbers));
      if (!microbatch)
        return error(place, fmt::format("the micro-batch of '{}' is missing or not an integer; {}", text, accepted));
      action.microbatch = *microbatch;
    } else if (!rest.empty()) {
      return error(place, fmt::format("'{}' has a micro-batch, but {} does not take one; {}", text, name, accepted));
    }
    remember_dialect(action);
    file_.ranks.back().push_back(action);
    return {};
  }

  void remember_dialect(const Action& action) {
    if (action.verb == Verb::input_gradient && !input_gradient_) input_gradient_ = action;
    if (action.verb == Verb::weight_gradient) weight_gradient_ = true;
    if (action.name == "BW" && !whole_of_2024_) whole_of_2024_ = action;
    if (action.name == "REDUCE_GRAD") newest_ = true;
  }

  /// Determines the dialect. Until 2024, B was the input gradient and BW the whole backward; since 2025, I is the input
  /// gradient and B the whole.
  Status settle_dialect() {
    if (whole_of_2024_ && input_gradient_)
      return error(
          whole_of_2024_->place,
          fmt::format("{} is from the dialect of 2024, but {} on line {} is from 2025; use one dialect per file",
                      text_of(*whole_of_2024_), text_of(*input_gradient_), input_gradient_->place.line));
    if (whole_of_2024_ || (weight_gradient_ && !input_gradient_)) {
      for (auto& rank : file_.ranks)
        for (Action& action : rank)
          if (action.name == "B") action.verb = Verb::input_gradient;
      file_.dialect = "the dialect is from 2024: B is the input gradient, BW the whole backward";
    } else if (!input_gradient_ && !newest_) {
      file_.dialect = "without I, W and BW, the file has the same meaning in every dialect";
    } else {
      file_.dialect = newest_ ? "the dialect is the latest (2025, with OVERLAP_F_B or REDUCE_GRAD): I and W are the "
                                "halves of a backward, B the whole"
                              : "the dialect is from 2025: I and W are the halves of a backward, B the whole";
    }
    return {};
  }

  const std::string& path_;
  ActionFile file_;
  std::optional<Action> input_gradient_;
  std::optional<Action> whole_of_2024_;
  bool weight_gradient_ = false;
  bool newest_ = false;
};

}  // namespace

bool is_compute(Verb verb) {
  return verb == Verb::forward || verb == Verb::whole_backward || verb == Verb::input_gradient ||
         verb == Verb::weight_gradient;
}

std::string text_of(const Action& action) {
  if (action.verb == Verb::skipped) return fmt::format("{}{}", action.stage, action.name);
  return fmt::format("{}{}{}", action.stage, action.name, action.microbatch);
}

Result<ActionFile> parse_pytorch_actions(std::string_view content, const std::string& path) {
  return ActionParser(path).run(content);
}

std::vector<DeviceId> ranks_of(const std::vector<DeviceId>& stage_devices) {
  std::vector<DeviceId> ranks;
  std::set<DeviceId> visited;
  for (const DeviceId device : stage_devices)
    if (visited.insert(device).second) ranks.push_back(device);
  return ranks;
}

namespace {

Error error_at(const std::string& path, Failure failure, std::string message, FilePlace place = {1, 1}) {
  return {failure, path, place.line, place.column, std::move(message)};
}

/// Infers the problem of a file, with a device per rank and unit times. Checks only sizes and stages without ops.
class CsvProblemInference {
 public:
  CsvProblemInference(const ActionFile& file, const std::string& path) : file_(file), path_(path) {}

  Result<Problem> run() && {
    DOVETAIL_CHECK(find_stages());
    Problem problem;
    problem.devices = static_cast<int>(file_.ranks.size());
    problem.resident.resize(file_.ranks.size());
    problem.models = {make_model()};
    if (const auto fault = find_fault(problem)) return error_at(path_, Failure::bad_input, *fault);
    return problem;
  }

 private:
  Status find_stages() {
    std::int64_t stage_count = 0;
    FilePlace last_stage;
    FilePlace last_microbatch;
    for_each_action(file_, [&](const Action& action) {
      if (!is_compute(action.verb)) return;
      ++actions_;
      if (action.stage >= stage_count) last_stage = action.place;
      if (action.microbatch >= microbatches_) last_microbatch = action.place;
      stage_count = std::max<std::int64_t>(stage_count, action.stage + std::int64_t{1});
      microbatches_ = std::max<std::int64_t>(microbatches_, action.microbatch + std::int64_t{1});
      split_ = split_ || action.verb == Verb::input_gradient || action.verb == Verb::weight_gradient;
    });
    if (actions_ == 0)
      return error_at(path_, Failure::bad_input, "the file has no F, B, I or W; it needs at least one forward");
    if (stage_count > actions_ || microbatches_ > actions_)
      return error_at(path_, Failure::invalid,
                      fmt::format("the highest numbers imply {} stages and {} micro-batches, but there are only {} ops",
                                  stage_count, microbatches_, actions_),
                      stage_count > actions_ ? last_stage : last_microbatch);
    std::vector<std::optional<DeviceId>> devices(static_cast<std::size_t>(stage_count));
    for_each_action(file_, [&](const Action& action) {
      if (!is_compute(action.verb)) return;
      std::optional<DeviceId>& device = devices[static_cast<std::size_t>(action.stage)];
      if (!device) device = DeviceId(action.rank);
    });
    for (std::size_t stage = 0; stage < devices.size(); ++stage) {
      if (!devices[stage])
        return error_at(path_, Failure::invalid,
                        fmt::format("stage {} has no ops, but stage {} has some", stage, stage_count - 1), last_stage);
      stage_devices_.push_back(*devices[stage]);
    }
    return {};
  }

  Model make_model() const {
    const std::size_t stages = stage_devices_.size();
    Model model;
    model.name = "model";
    model.microbatches = static_cast<int>(microbatches_);
    model.replicas = {stage_devices_};
    model.forward.assign(stages, Ticks(1));
    model.backward.assign(stages, Ticks(split_ ? 1 : 2));
    model.activation.assign(stages, Memory(1'000'000));
    if (split_) {
      model.weight_gradient.assign(stages, Ticks(1));
      model.weight_activation = model.activation;
    }
    model.transfer_forward.resize(stages - 1);
    model.transfer_backward.resize(stages - 1);
    model.step.resize(stages);
    return model;
  }

  const ActionFile& file_;
  const std::string& path_;
  std::int64_t actions_ = 0;
  std::int64_t microbatches_ = 0;
  bool split_ = false;
  std::vector<DeviceId> stage_devices_;
};

}  // namespace

Result<Problem> infer_problem(const ActionFile& file, const std::string& path) {
  return CsvProblemInference(file, path).run();
}

}  // namespace dovetail::pipeline
