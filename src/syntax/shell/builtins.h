// The commands that the evaluator computes, and what they share. Private to shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syntax/shell/run.h"

namespace dovetail::syntax {

using Words = std::vector<Word>;

/// A command as it was called.
struct ShellCall {
  const Words& words;
  const ShellNode& node;
  const Place& place;
};

ExitStatus status_of(int code);
/// Ends a command with an exit code.
Flow done(Shell& shell, int code = 0);
/// Ends a command whose output and status only running would tell.
Flow not_computed(Shell& shell, const ShellCall& call, std::string what);
/// The characters of a word that is surely there; empty otherwise.
std::string_view plain(const Words& words, std::size_t at);

Flow run_declare(Shell& shell, const ShellCall& call);
Flow run_read(Shell& shell, const ShellCall& call);
Flow run_mapfile(Shell& shell, const ShellCall& call);

}  // namespace dovetail::syntax
