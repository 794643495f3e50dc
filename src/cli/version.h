// Versions of this binary and of the libraries that it was built with.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::cli {

/// Packages that building dovetail-train requires, for messages.
inline constexpr std::string_view runtime_packages =
    "libtorch-dev, libopenblas0-pthread and libgloo-dev, or pip's torch 2.7 or newer,";

/// Returns the output of --version.
std::string version_text();

}  // namespace dovetail::cli
