#include "syntax/files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/document.h"
#include "base/file.h"

namespace dovetail::syntax {

FileReader read_below(const std::string& root) {
  return [root](const std::string& path) -> base::Result<std::string> {
    std::error_code fault;
    const std::filesystem::path folder = std::filesystem::canonical(root, fault);
    if (fault) return base::bad_input(fmt::format("the folder {} does not exist", base::quote(root)));
    const std::filesystem::path file = std::filesystem::canonical(path, fault);
    if (fault) return base::bad_input("the file does not exist");
    const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    if (end != folder.end()) return base::bad_input(fmt::format("the file is outside {}", base::quote(root)));
    if (!std::filesystem::is_regular_file(file, fault)) return base::bad_input("it is not a regular file");
    return base::read_file(file.string());
  };
}

std::string join_path(std::string_view folder, std::string_view path) {
  const std::string whole =
      path.starts_with('/') || folder.empty() ? std::string(path) : std::string(folder) + "/" + std::string(path);
  std::vector<std::string_view> names;
  const bool is_rooted = whole.starts_with('/');
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name != ".." || (names.empty() && !is_rooted) || (!names.empty() && names.back() == ".."))
      names.push_back(name);
    else if (!names.empty())
      names.pop_back();
  }
  std::string result;
  for (const std::string_view name : names) {
    if (is_rooted || !result.empty()) result += '/';
    result += name;
  }
  return !result.empty() ? result : is_rooted ? "/" : ".";
}

std::string folder_of(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos) return ".";
  path = path.substr(0, last);
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.empty() ? "/" : std::string(path);
}

std::string name_of(std::string_view path, std::string_view suffix) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path != "/") path = path.substr(path.rfind('/') + 1);
  if (path != suffix && path.ends_with(suffix)) path.remove_suffix(suffix.size());
  return std::string(path);
}

base::Error place_error(const std::vector<std::string>& sources, const Place& place, std::string message) {
  const auto source = static_cast<std::size_t>(place.source);
  return {.failure = base::Failure::bad_input,
          .path = source < sources.size() ? sources[source] : std::string(),
          .line = place.line,
          .column = place.column,
          .message = std::move(message)};
}

base::Error unknown_error(const std::vector<std::string>& sources, const Unknown& unknown) {
  const std::string accepted =
      unknown.variable.empty() ? "a fixed value in its place" : fmt::format("`--env {}=VALUE`", unknown.variable);
  return place_error(sources, unknown.place, fmt::format("{} is unknown; accepted: {}", unknown.what, accepted));
}

}  // namespace dovetail::syntax
