#include "cli/version.h"

#include <fmt/format.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

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
      "MPI:           no: nothing in this version uses it\n"
      "libtorch:      no: nothing in this version uses it",
      DOVETAIL_VERSION, compiler(), DOVETAIL_BUILD_TYPE, CLI11_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
      NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, DOVETAIL_YAML_CPP_VERSION);
}

}  // namespace dovetail::cli
