// Regenerates the conformance suite of rank programs: dovetail_write_conformance FOLDER.
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "support/conformance.h"

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  if (count != 2) {
    std::fputs("usage: dovetail_write_conformance FOLDER\n", stderr);
    return 2;
  }
  for (const auto& [name, content] : dovetail::test::conformance_files()) {
    const fs::path path = fs::path(arguments[1]) / name;
    fs::create_directories(path.parent_path());
    if (const auto written = dovetail::base::write_file(path.string(), content); !written.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), written.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
