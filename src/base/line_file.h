// Files that grow by whole lines while a program runs, and that others may read meanwhile.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

class Descriptor;

/// A file that is appended to.
class LineFile {
 public:
  /// Opens it, or makes it. A Failure::io Error where that cannot be.
  static Result<LineFile> open(const std::string& path);

  /// Adds the bytes, whole lines or records, in one write. Where not all of them can be written the file is cut back to
  /// what it was, and the Failure::io Error says why.
  Status append(std::string_view bytes);
  /// Flushes to the disk what was appended.
  Status flush();

  LineFile(LineFile&&) noexcept;
  LineFile& operator=(LineFile&&) noexcept;
  ~LineFile();

 private:
  explicit LineFile(std::string path);

  std::string path_;
  std::unique_ptr<Descriptor> file_;
};

}  // namespace dovetail::base
