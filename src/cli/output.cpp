#include "cli/output.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/utf8.h"

namespace dovetail::cli {
namespace {

bool silent = false;

void write(std::string_view text, std::FILE* file) {
  if (!silent) std::fwrite(text.data(), 1, text.size(), file);
}

std::string shown(std::string_view text) { return base::visible(text, "\n\t"); }

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

}  // namespace dovetail::cli
