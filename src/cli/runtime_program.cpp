#include "cli/runtime_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/version.h"

namespace dovetail::cli {

namespace fs = std::filesystem;

base::Result<std::string> find_runtime() {
  constexpr std::string_view name = "dovetail-train";
  std::error_code none;
  std::vector<fs::path> folders{fs::read_symlink("/proc/self/exe", none).parent_path()};
  const char* const path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const fs::path& folder : folders)
    if (const fs::path file = folder / name; fs::is_regular_file(file, none) && access(file.c_str(), X_OK) == 0)
      return file.string();
  return base::bad_input(fmt::format(
      "dovetail-train, which runs the job, is neither beside this program nor on the PATH; accepted: install {} and "
      "build Dovetail again",
      runtime_packages));
}

base::Error become_program(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  execv(words.front().c_str(), pointers.data());
  return {base::Failure::io, words.front(), 0, 0, std::strerror(errno)};
}

}  // namespace dovetail::cli
