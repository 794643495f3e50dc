#include "cli/output.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/assert.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "parallel/mpi_module.h"
#include "report/schedule/gantt.h"

namespace dovetail::cli {
namespace {

bool silent = false;

void write(std::string_view text, std::FILE* file) {
  if (!silent) std::fwrite(text.data(), 1, text.size(), file);
}

std::string shown(std::string_view text) { return base::visible(text, "\n\t"); }

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

void print_nothing() { silent = true; }
void print_json(std::string_view text) { write(fmt::format("{}\n", text), stdout); }
void print(std::string_view text) { write(shown(text), stdout); }
void flush_output() { std::fflush(stdout); }
void print_drawn(std::string_view chart) { write(chart, stdout); }
void print_error(std::string_view text) { write(shown(text), stderr); }
void rewrite_line(std::string_view text) { write(fmt::format("\r{}\033[K", base::visible(text)), stderr); }

void print_note(std::string_view text) { print_error(fmt::format("dovetail: note: {}\n", text)); }
void print_warning(std::string_view text) { print_error(fmt::format("dovetail: warning: {}\n", text)); }

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

static_assert(exit_lost == parallel::dovetail_mpi_abort_code);

int exit_code_of(base::Failure failure) {
  switch (failure) {
    case base::Failure::bad_input:
      return exit_bad_input;
    case base::Failure::invalid:
    case base::Failure::io:
      return exit_invalid;
    case base::Failure::infeasible:
      return exit_infeasible;
    case base::Failure::lost:
      return exit_lost;
    case base::Failure::interrupted:
      return exit_interrupted;
  }
  DOVETAIL_ASSERT(false);
}

int report_failure(const base::Error& error, std::string_view program) {
  print_error(fmt::format("{}{}\n", error.path.empty() ? fmt::format("{}: ", program) : "", base::to_text(error)));
  return exit_code_of(error.failure);
}

}  // namespace dovetail::cli
