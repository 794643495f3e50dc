#include "trainers/logs/console.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/utf8.h"

namespace dovetail::trainers {
namespace {

constexpr char escape = '\x1B';

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns the length of the terminal escape sequence at `at`: ESC [ ... letter, ESC ] ... BEL, or ESC and a character.
/// Returns 0 if there is no sequence.
std::size_t escape_at(std::string_view text, std::size_t at) {
  if (text[at] != escape || at + 1 >= text.size()) return text[at] == escape ? 1 : 0;
  std::size_t end = at + 2;
  if (text[at + 1] == '[') {
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size()) - at;
  }
  if (text[at + 1] != ']') return 2;
  while (end < text.size() && text[end] != '\a' && text[end] != escape) ++end;
  return std::min(end + 1, text.size()) - at;
}

/// Returns the line that a terminal shows for `raw`, which starts at `column` of the file.
ConsoleLine shown(std::string_view raw, const std::string& path, int line, std::size_t column) {
  ConsoleLine result{{}, &path, line, {}};
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t hidden = escape_at(raw, at);
    if (hidden == 0) {
      result.text += raw[at];
      result.columns.push_back(static_cast<int>(column + at));
    }
    at += std::max<std::size_t>(hidden, 1);
  }
  result.columns.push_back(static_cast<int>(column + raw.size()));
  return result;
}

base::Status read_line(const ConsoleLine& line, const std::vector<LineReader>& readers, StepLogBuilder& log) {
  for (const LineReader& read : readers) DOVETAIL_CHECK(read(line, log));
  return {};
}

/// Reads a last line without a line end. `alone`: whether no other line has values.
base::Status read_last(const ConsoleLine& line, const std::vector<LineReader>& readers, bool alone,
                       StepLogBuilder& log) {
  if (alone) return read_line(line, readers, log);
  StepLogBuilder of_line;
  const base::Status read = read_line(line, readers, of_line);
  if (!read.ok() || of_line.size() > 0) log.add_cut();
  return {};
}

}  // namespace

int ConsoleLine::line_at(std::size_t at) const { return lines.empty() ? line : lines[std::min(at, text.size())]; }

int ConsoleLine::column_at(std::size_t at) const { return columns[std::min(at, text.size())]; }

base::Error ConsoleLine::error(std::size_t at, std::string message) const {
  return {base::Failure::bad_input, *path, line_at(at), column_at(at), std::move(message)};
}

base::Status for_each_console_line(std::string_view content, const std::string& path, const TakeLine& take) {
  DOVETAIL_CHECK(base::check_input_size(base::InputKind::lines, content.size(), path));
  std::string_view rest = base::without_byte_order_mark(content);
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const bool last = end == std::string_view::npos;
    rest.remove_prefix(last ? rest.size() : end + 1);
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t stop = std::min(line.find('\r', begin), line.size());
      DOVETAIL_CHECK(
          take(shown(line.substr(begin, stop - begin), path, number, begin + 1), last && stop == line.size()));
      begin = stop + 1;
    }
  }
  return {};
}

base::Status add_console_log(const LogFile& file, const std::vector<LineReader>& readers, StepLogBuilder& log) {
  const std::size_t before = log.size();
  return for_each_console_line(file.content, file.path, [&](const ConsoleLine& line, bool is_open) {
    return is_open ? read_last(line, readers, log.size() == before, log) : read_line(line, readers, log);
  });
}

std::size_t find_ray_prefix(std::string_view text, std::size_t from) {
  constexpr std::string_view process = " pid=";
  for (std::size_t at = text.find('(', from); at != std::string_view::npos; at = text.find('(', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) || text[end] == '_' || text[end] == '.' ||
                                 text[end] == ':' || text[end] == '-'))
      ++end;
    if (end > at + 1 && text.substr(end).starts_with(process) && end + process.size() < text.size() &&
        is_digit(text[end + process.size()]))
      return at;
  }
  return std::string_view::npos;
}

std::string_view ray_prefix(std::string_view text) {
  if (!text.starts_with('(') || find_ray_prefix(text) != 0) return {};
  const std::size_t end = text.find(')');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

std::size_t digits_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end;
}

PrintedNumber printed_number(std::string_view text) {
  constexpr std::array literals{"nan", "inf",      "-inf",      "None", "True", "False",
                                "NaN", "Infinity", "-Infinity", "null", "true", "false"};
  if (const auto value = logged_number(text)) return {true, value};
  if (std::find(literals.begin(), literals.end(), text) != literals.end()) return {true, std::nullopt};
  // np.float64(1.5), tensor(0.5, device='cuda:0')
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(')') || !is_letter(text.front())) return {};
  const auto of_name = [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_'; };
  if (!std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(open), of_name)) return {};
  const std::string_view within = text.substr(open + 1, text.size() - open - 2);
  return within.find('(') == std::string_view::npos ? printed_number(within.substr(0, within.find(',')))
                                                    : PrintedNumber{};
}

}  // namespace dovetail::trainers
