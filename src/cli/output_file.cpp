#include "cli/output_file.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "cli/output.h"

namespace dovetail::cli {

bool is_standard_output(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return true;
  struct stat named{};
  struct stat output{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &output) == 0 && named.st_dev == output.st_dev &&
         named.st_ino == output.st_ino;
}

base::Status check_output_path(const std::string& path) {
  if (is_standard_output(path)) return {};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return base::check_writable(path);
  return base::Error{base::Failure::io, path, 0, 0, fmt::format("the folder '{}' does not exist", folder.string())};
}

base::Status check_no_input(const std::optional<std::string>& path,
                            const std::vector<std::optional<std::string>>& to_be_read) {
  if (!path) return {};
  const std::string file = *path == "-" ? "/dev/stdout" : *path;
  std::optional<std::string> input = base::read_as(file);
  for (const std::optional<std::string>& other : to_be_read) {
    std::error_code ignored;
    if (other && std::filesystem::is_regular_file(*other, ignored) &&
        std::filesystem::equivalent(file, *other, ignored))
      input = other;
  }
  if (!input) return {};
  return base::bad_input(
      fmt::format("the output '{}' would overwrite the input '{}'; choose another file", *path, *input));
}

base::Status check_outputs(const std::vector<std::optional<std::string>>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!paths[i]) continue;
    DOVETAIL_CHECK(check_no_input(paths[i]));
    DOVETAIL_CHECK(check_output_path(*paths[i]));
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (paths[j] && (*paths[i] == *paths[j] || std::filesystem::equivalent(*paths[i], *paths[j], ignored)))
        return base::bad_input(fmt::format("two outputs are the same file '{}'; choose another file", *paths[i]));
    }
  }
  return {};
}

base::Result<std::string> write_output(const std::string& path, std::string_view content) {
  DOVETAIL_CHECK(check_no_input(path));
  const bool to_standard_output = is_standard_output(path);
  DOVETAIL_CHECK(base::write_file(to_standard_output ? "-" : path, content));
  return to_standard_output ? "<stdout>" : path;
}

base::Result<std::vector<std::string>> write_outputs(const std::vector<OutputFile>& files) {
  std::vector<std::string> paths;
  if (files.size() == 1) {
    DOVETAIL_TRY(std::string path, write_output(files.front().path, files.front().content));
    paths.push_back(std::move(path));
    return paths;
  }
  std::vector<base::FileContent> contents;
  for (const OutputFile& file : files) {
    DOVETAIL_CHECK(check_no_input(file.path));
    contents.push_back({file.path, file.content});
    paths.push_back(file.path);
  }
  DOVETAIL_CHECK(base::write_files(contents));
  return paths;
}

void print_unless_stdout(const std::optional<std::string>& path, std::string_view text) {
  if (path && is_standard_output(*path)) {
    print_error(text);
  } else {
    print(text);
  }
}

bool can_be_rewritten(const std::string& path) {
  if (is_standard_output(path)) return false;
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

void BestFile::take(std::function<void()> write) {
  pending_ = std::move(write);
  catch_up();
}

void BestFile::catch_up() {
  const Clock::time_point begin = Clock::now();
  if (!pending_ || begin < next_) return;
  pending_();
  pending_ = nullptr;
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(std::chrono::milliseconds(500), 10 * (end - begin));
}

}  // namespace dovetail::cli
