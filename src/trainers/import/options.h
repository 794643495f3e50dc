// What a user says beside a trainer's configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dovetail::trainers {

struct ImportOptions {
  std::optional<std::string> gpu = std::nullopt;              ///< of all nodes
  std::optional<std::string> cluster = std::nullopt;          ///< "2x8xH100", "8xH100", or a file with a `cluster`
  std::vector<std::string> environment = {};                  ///< "NAME=VALUE", of a launch script
  std::vector<std::string> arguments = {};                    ///< of a launch script: its "$@"
  std::optional<std::string> root = std::nullopt;             ///< nothing above this folder is read
  std::vector<std::string> models = {};                       ///< "ROLE=NAME" or "ROLE=PATH"
  std::optional<std::string> prompt_length = std::nullopt;    ///< "mean=120,p90=400", or a number
  std::optional<std::string> response_length = std::nullopt;  ///< likewise

  bool operator==(const ImportOptions&) const = default;
};

/// A length that an option says as one number of tokens; nothing where it says figures or a file, or nothing.
std::optional<std::int64_t> plain_length(const std::optional<std::string>& said);

}  // namespace dovetail::trainers
