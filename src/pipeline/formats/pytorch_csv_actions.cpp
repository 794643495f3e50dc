#include "pipeline/formats/pytorch_csv_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// As the dialects of 2025 mean them; BW is of 2024 only.
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
    "an action like 0F3 (stage, F, B, I, W, BW, SEND_F, RECV_F, SEND_B or RECV_B, micro-batch), 0UNSHARD, 0RESHARD, "
    "0REDUCE_GRAD or (1F3;2B0)OVERLAP_F_B is accepted";

constexpr std::string_view accepted_numbers = "a whole number up to 2147483647 is accepted";

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
  /// Where a row without cells stands.
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
      return error({cell.line, cell.column}, fmt::format("'{}' is no action; {}", text, accepted));
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
    if (facts == verbs.end() || !stage) return error(place, fmt::format("'{}' is no action; {}", text, accepted));
    Action action{facts->verb, facts->name, *stage, 0, static_cast<int>(file_.ranks.size()) - 1, 0, place};
    action.position = static_cast<int>(file_.ranks.back().size());
    const std::string_view rest = text.substr(name_end);
    if (facts->has_microbatch) {
      const std::optional<int> microbatch = base::parse_index(rest);
      if (base::is_too_large_index(rest))
        return error(place, fmt::format("the micro-batch of '{}' is too large; {}", text, accepted_numbers));
      if (!microbatch)
        return error(place, fmt::format("'{}' has no micro-batch, or no whole number for one; {}", text, accepted));
      action.microbatch = *microbatch;
    } else if (!rest.empty()) {
      return error(place, fmt::format("'{}' has a micro-batch, which {} cannot have; {}", text, name, accepted));
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

  /// Until 2024 B was the input gradient and BW the whole backward; since 2025 the input gradient is I and B the whole.
  Status settle_dialect() {
    if (whole_of_2024_ && input_gradient_)
      return error(
          whole_of_2024_->place,
          fmt::format("{} is of the dialect of 2024, but {} in line {} is of 2025; one dialect a file is accepted",
                      text_of(*whole_of_2024_), text_of(*input_gradient_), input_gradient_->place.line));
    if (whole_of_2024_ || (weight_gradient_ && !input_gradient_)) {
      for (auto& rank : file_.ranks)
        for (Action& action : rank)
          if (action.name == "B") action.verb = Verb::input_gradient;
      file_.dialect = "the dialect is of 2024: B is the input gradient, BW the whole backward";
    } else if (!input_gradient_ && !newest_) {
      file_.dialect = "F and B only: the same in every dialect";
    } else {
      file_.dialect = newest_
                          ? "the dialect is the latest (2025, with OVERLAP_F_B or REDUCE_GRAD): I, W, and B for both"
                          : "the dialect is of 2025: I, W, and B for both";
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

}  // namespace dovetail::pipeline
