#include "trainers/import/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace dovetail::trainers {
namespace {

namespace fs = std::filesystem;

/// What a revision's name has at most: a commit has 40 characters.
constexpr std::size_t max_revision_length = 64;

std::string variable(const std::vector<std::string>& said, std::string_view name) {
  for (auto each = said.rbegin(); each != said.rend(); ++each)
    if (each->size() > name.size() && each->starts_with(name) && (*each)[name.size()] == '=')
      return each->substr(name.size() + 1);
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::string() : std::string(value);
}

bool is_part_of_name(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

std::optional<std::string> config_of(const fs::path& snapshot) {
  const fs::path config = snapshot / "config.json";
  std::error_code fault;
  return fs::is_regular_file(config, fault) ? std::optional(config.string()) : std::nullopt;
}

/// The revision that `main` was when it was fetched.
std::optional<std::string> main_revision(const fs::path& model) {
  const auto content = base::read_file((model / "refs" / "main").string());
  if (!content.ok()) return std::nullopt;
  const std::string revision = content->substr(0, content->find_first_of(" \r\n"));
  return revision.size() <= max_revision_length && is_part_of_name(revision) ? std::optional(revision) : std::nullopt;
}

}  // namespace

std::string hub_cache_folder(const std::vector<std::string>& said) {
  fs::path folder;
  if (const std::string cache = variable(said, "HF_HUB_CACHE"); !cache.empty())
    folder = cache;
  else if (const std::string home = variable(said, "HF_HOME"); !home.empty())
    folder = fs::path(home) / "hub";
  else if (const std::string caches = variable(said, "XDG_CACHE_HOME"); !caches.empty())
    folder = fs::path(caches) / "huggingface" / "hub";
  else if (const std::string user = variable(said, "HOME"); !user.empty())
    folder = fs::path(user) / ".cache" / "huggingface" / "hub";
  std::error_code fault;
  return folder.empty() ? std::string() : fs::absolute(folder, fault).lexically_normal().string();
}

std::optional<std::string> hub_config_path(const std::string& cache, std::string_view model) {
  const std::size_t slash = model.find('/');
  if (cache.empty() || slash == std::string_view::npos) return std::nullopt;
  const std::string_view owner = model.substr(0, slash);
  const std::string_view name = model.substr(slash + 1);
  if (!is_part_of_name(owner) || !is_part_of_name(name)) return std::nullopt;
  const fs::path folder = fs::path(cache) / ("models--" + std::string(owner) + "--" + std::string(name));
  if (const auto revision = main_revision(folder))
    if (auto config = config_of(folder / "snapshots" / *revision)) return config;
  std::error_code fault;
  std::vector<std::string> configs;
  for (fs::directory_iterator snapshot(folder / "snapshots", fault), end; !fault && snapshot != end;
       snapshot.increment(fault))
    if (auto config = config_of(snapshot->path())) configs.push_back(*std::move(config));
  return configs.size() == 1 ? std::optional(configs.front()) : std::nullopt;
}

}  // namespace dovetail::trainers
