// How the program says numbers: exact decimals, to people and in JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace dovetail::cli {

/// JSON with its keys in the order in which they were set.
using Json = nlohmann::ordered_json;

/// "225 ticks", "1 tick", "2.5 ms".
std::string time_with_unit(base::Ticks time, base::TimeUnit unit);

/// The exact shortest decimal of thousandths of an internal tick, in `unit`.
std::string format_thousandths(std::int64_t thousandths, base::TimeUnit unit);
/// The same for people: rounded half up to three decimals of `unit`.
std::string format_thousandths_rounded(std::int64_t thousandths, base::TimeUnit unit);

/// "12.3%".
std::string percent(double share);

/// How far `value` is above `bound`, as a share of the bound; 0 where the bound is 0.
double gap(base::Ticks value, base::Ticks bound);
double gap(base::Memory value, base::Memory bound);

/// "gap 3.6%", or "17 times the bound" where it is far off.
std::string gap_text(double gap);

/// "+12", "-0.5", "0": the change from one amount to another, by the decimals that `format` gives.
template <class Amount, class Format>
std::string change_text(Amount from, Amount to, Format format) {
  if (to == from) return "0";
  return to < from ? "-" + format(from - to) : "+" + format(to - from);
}

/// The same as a share of the first: "+12.3%"; empty where nothing changes, or the first is 0.
std::string change_share_text(base::Ticks from, base::Ticks to);
std::string change_share_text(base::Memory from, base::Memory to);

/// `decimal` as a JSON number: whole ones as integers, others as the nearest double, which prints the same decimal up to 15 digits.
Json json_number(const std::string& decimal);
Json json_time(base::Ticks time, base::TimeUnit unit);
Json json_memory(base::Memory memory);
/// A derived ratio, rounded to six decimals.
Json json_ratio(double ratio);
/// Simulated time, rounded to nanoseconds, so that parts add up.
Json json_simulated(double seconds);
/// Wall time, rounded to milliseconds.
Json json_seconds(double seconds);
/// null where there is no value.
Json json_memory(const std::optional<base::Memory>& memory);

/// What follows "there is no 'gredy'": "; did you mean 'greedy'? The solvers are gpipe, 1f1b", or where no name is near
/// "; the solvers are gpipe, 1f1b". `intro` is "the solvers are".
std::string hint_and_list(std::string_view name, std::string_view intro, const std::vector<std::string_view>& accepted);

/// From now on nothing that follows prints anything: another process speaks for this one.
void print_nothing();
/// `object` as JSON, indented by `indent` where that is not negative; in its texts what a terminal would obey is escaped.
std::string json_text(const Json& object, int indent = -1);
/// Prints `object` on stdout, indented.
void print_json(const Json& object);
/// Prints `text` on stdout. Whatever a terminal would obey (base::has_controls), but tabs and line ends, is made visible: names, paths and
/// arguments are of others.
void print(std::string_view text);
/// Prints a chart on stdout as it is, with its colours. REQUIRES: the texts of others in it are made visible, or clean.
void print_drawn(std::string_view chart);
/// As print() on standard error. Where that is closed or full there is nobody to tell, so failures are passed over.
void print_error(std::string_view text);
/// Puts `text` in place of the line on standard error that a terminal's cursor is in; an empty one takes it off.
void rewrite_line(std::string_view text);
/// Prints "dovetail: note: TEXT" on stderr.
void print_note(std::string_view text);
/// Prints "dovetail: warning: TEXT" on stderr.
void print_warning(std::string_view text);

}  // namespace dovetail::cli
