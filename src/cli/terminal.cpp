#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "report/schedule/terminal_gantt.h"

namespace dovetail::cli {
namespace {

constexpr int default_columns = 80;
constexpr int max_columns = 10'000;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

int columns_of(int descriptor) {
  winsize size{};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return default_columns;
  return size.ws_col;
}

bool is_capable_terminal(int descriptor) { return isatty(descriptor) != 0 && environment("TERM") != "dumb"; }

}  // namespace

int chart_columns() {
  const std::string_view text = environment("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const bool is_sound = is_number && columns > 0 && columns <= max_columns;
  return std::max(report::min_gantt_columns, is_sound ? columns : columns_of(STDOUT_FILENO));
}

bool use_color(ColorChoice choice) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  return is_capable_terminal(STDOUT_FILENO) && environment("NO_COLOR").empty();
}

bool stdout_is_terminal() { return is_capable_terminal(STDOUT_FILENO); }

bool stderr_is_terminal() { return is_capable_terminal(STDERR_FILENO); }

int stderr_columns() { return columns_of(STDERR_FILENO); }

}  // namespace dovetail::cli
