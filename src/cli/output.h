// Printing on stdout and stderr, and properties of the terminals that they are connected to.
#pragma once

#include <string_view>

#include "base/result.h"

namespace dovetail::cli {

/// Disables all later printing in this process. Every process of a distributed search except the first one calls it.
void print_nothing();
/// Prints a JSON text (answer/question/json.h) and a newline on stdout.
void print_json(std::string_view text);
/// Prints `text` on stdout. Escapes control characters that a terminal interprets (base::has_controls), except tabs and
/// newlines, because names, paths and arguments come from outside.
void print(std::string_view text);
/// Flushes stdout.
void flush_output();
/// Prints a chart on stdout unchanged, including its color codes. REQUIRES: names and other text from users in the
/// chart are escaped or clean.
void print_drawn(std::string_view chart);
/// Like print(), but on stderr. Write failures are ignored.
void print_error(std::string_view text);
/// Replaces the current line of the terminal on stderr with `text`. An empty text clears the line.
void rewrite_line(std::string_view text);
/// Prints "dovetail: note: TEXT" on stderr.
void print_note(std::string_view text);
/// Prints "dovetail: warning: TEXT" on stderr.
void print_warning(std::string_view text);

/// Returns the exit code for a kind of failure.
int exit_code_of(base::Failure failure);

/// Prints the error on stderr and returns the exit code for its kind. The message starts with the error's path, so that
/// editors can jump to the location. Without a path, it starts with `program`.
int report_failure(const base::Error& error, std::string_view program);

enum class ColorChoice { automatic, always, never };

/// Returns the width of a chart on stdout in columns: COLUMNS if it is a number from 1 to 10000, otherwise the width of
/// the terminal, otherwise 80. At least report::min_gantt_columns.
int chart_columns();

/// Whether to print ANSI colors on stdout. ColorChoice::automatic means yes if stdout is a terminal other than
/// TERM=dumb, unless NO_COLOR is set and not empty.
bool use_color(ColorChoice choice);

/// Whether stdout is a terminal that can show charts: any except TERM=dumb.
bool stdout_is_terminal();

/// Whether stderr is a terminal that can rewrite a line: any except TERM=dumb.
bool stderr_is_terminal();

/// Returns the width of the terminal on stderr in columns; 80 if stderr is not a terminal or its width is unknown.
int stderr_columns();

}  // namespace dovetail::cli
