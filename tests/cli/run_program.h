// Runs the built `dovetail` as a process of its own and gives what a user sees of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dovetail::cli {

struct ProgramResult {
  int exit_code = -1;  ///< minus the signal where one ended it
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string input = {};                                         ///< on standard input
  std::vector<std::string> environment = {};                      ///< "NAME=VALUE", beside the test's own
  std::optional<std::chrono::milliseconds> interrupt_after = {};  ///< sends SIGINT then
};

/// `dovetail ARGUMENTS...`
ProgramResult run_program(const std::vector<std::string>& arguments, const RunOptions& options = {});

/// Any program, found on the PATH.
ProgramResult run_other(const std::vector<std::string>& command, const RunOptions& options = {});

/// A folder that is empty at first and gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// The path of the file `name` in it.
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file there and gives its path.
  std::string write(const std::string& name, const std::string& content) const;
  /// How many files it holds.
  std::size_t size() const;

 private:
  std::filesystem::path path_;
};

/// The whole content of a file; empty where there is none.
std::string content_of(const std::string& path);

/// A file of the repository.
std::string repository_file(const std::string& path);

/// A small problem: one model of two stages on two devices, two micro-batches.
extern const char* const small_problem;

}  // namespace dovetail::cli
