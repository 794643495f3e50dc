#include "cli/version.h"

#include <fmt/core.h>

#include <CLI/Version.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/runtime_program.h"
#include "parallel/exchange.h"

namespace dovetail::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

std::string mpi() {
  if (const auto module = parallel::find_mpi_module()) return "yes: loaded on demand from " + *module;
  if (parallel::mpi_module_was_built()) return "no: built, but the module was not found; set DOVETAIL_MODULE_PATH";
  return "no: built without libopenmpi-dev, or with MPI disabled";
}

/// Returns the first line that `program --version` prints; empty if the program cannot run.
std::string version_of(const std::string& program) {
  std::string quoted = "'";
  for (const char each : program) quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
  FILE* const pipe = popen((quoted + "' --version 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  char line[200] = {};
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  const bool done = pclose(pipe) == 0;
  const std::string text = read && done ? line : "";
  return text.substr(0, text.find('\n'));
}

/// dovetail-train is built separately, so only the program itself knows its libtorch.
std::string libtorch() {
  const auto program = find_runtime();
  if (!program.ok()) return fmt::format("none: install {} and build dovetail-train", runtime_packages);
  const std::string version = version_of(*program);
  return version.empty() ? fmt::format("unknown: {} --version failed", *program) : version;
}

}  // namespace

std::string version_text() {
  return fmt::format(
      "dovetail {}\n"
      "compiler:      {}\n"
      "build type:    {}\n"
      "CLI11:         {}\n"
      "fmt:           {}.{}.{}\n"
      "nlohmann-json: {}.{}.{}\n"
      "yaml-cpp:      {}\n"
      "MPI:           {}\n"
      "libtorch:      {}",
      DOVETAIL_VERSION, compiler(), DOVETAIL_BUILD_TYPE, CLI11_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
      FMT_VERSION % 100, NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH,
      DOVETAIL_YAML_CPP_VERSION, mpi(), libtorch());
}

}  // namespace dovetail::cli
