// Large files that are read where they lie.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace dovetail::base {

/// A whole regular file mapped into memory for reading; its pages come from the disk when they are looked at. It must
/// outlive what points into it, and a file that shrinks meanwhile ends the program.
class MappedFile {
 public:
  /// A missing or unreadable file, or one that is no regular file, is a Failure::io Error.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace dovetail::base
