// dovetail/checkpoint@1: what a checkpoint's folder holds, and whether that is still what was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::records {

inline constexpr std::string_view checkpoint_format = "dovetail/checkpoint@1";
/// The manifest's file within the folder.
inline constexpr std::string_view manifest_name = "manifest.json";

/// A file of the folder.
struct ManifestFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
  std::string run;             ///< the hash of the run that it belongs to
  std::int64_t iteration = 0;  ///< iterations that were done
  bool is_best = false;        ///< the evaluation before it was the run's best until then
  std::vector<ManifestFile> files;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// The files of a folder but for its manifest, by name, each flushed to the disk. Failure::io where one cannot be read,
/// or is no regular file.
base::Result<std::vector<ManifestFile>> files_of(const std::string& folder);

/// The file's text, with a hash over all of its members.
std::string manifest_to_json(const Manifest& manifest);

/// Reads it. Errors at what is wrong, also where its hash is not that of its members.
base::Result<Manifest> parse_manifest(std::string_view content, const std::string& path);

/// The manifest of the checkpoint in `folder`.
base::Result<Manifest> read_manifest(const std::string& folder);

/// Whether the folder has all files of the manifest as they were written. Else a Failure::io Error with the path of the
/// first that it has not, and what is different.
base::Status check_files(const Manifest& manifest, const std::string& folder);

}  // namespace dovetail::records
