#include "cli/version.h"

#include <fmt/format.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

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
  if (const auto module = parallel::find_mpi_module()) return "yes: loaded when asked for, from " + *module;
  if (parallel::mpi_module_was_built())
    return "no: it was built, but its module is not where this program looks (DOVETAIL_MODULE_PATH)";
  return "no: libopenmpi-dev was missing, or not wanted, when this was built";
}

std::string libtorch() {
#ifdef DOVETAIL_TORCH_VERSION
  return "of dovetail-train: " DOVETAIL_TORCH_VERSION;
#else
  return fmt::format("none: install {} and build again", runtime_packages);
#endif
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
