// What the program prints.
#pragma once

#include <string_view>

namespace dovetail::cli {

/// From now on nothing that follows prints anything: another process speaks for this one.
void print_nothing();
/// Prints a JSON text (answer/question/json.h) on stdout.
void print_json(std::string_view text);
/// Prints `text` on stdout. Whatever a terminal would obey (base::has_controls), but tabs and line ends, is made
/// visible: names, paths and arguments are of others.
void print(std::string_view text);
/// Lets who reads stdout see now what was printed there.
void flush_output();
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
