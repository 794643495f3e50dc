// One program at a time in the folder of a run.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace dovetail::base {
class Descriptor;
}

namespace dovetail::records {

/// Held for as long as it lives, and no longer than the program does, however it ends.
class FolderLock {
 public:
  /// Takes it, making the folder where it is not there. A bad_input Error where another program has it; a Failure::io
  /// one where the folder cannot be made or opened. A file system that knows no locks has none.
  static base::Result<FolderLock> take(const std::string& folder);

  FolderLock(FolderLock&&) noexcept;
  FolderLock& operator=(FolderLock&&) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(std::unique_ptr<base::Descriptor> folder);

  std::unique_ptr<base::Descriptor> folder_;
};

}  // namespace dovetail::records
