// What this binary is and what it was built with.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::cli {

/// What dovetail-train is built with.
inline constexpr std::string_view runtime_packages =
    "libtorch-dev, libopenblas0-pthread and libgloo-dev, or pip's torch 2.7 or newer,";

/// The text of --version.
std::string version_text();

}  // namespace dovetail::cli
