// Open files, and errors about them: what base, and who keeps files of a run, writes with.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// An I/O Error about `path` with the system's reason for `code`, an errno.
Error io_error(const std::string& path, std::string_view what, int code);

/// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Closes it now; 0 or errno. After an interruption the descriptor is gone all the same.
  int close();

 private:
  int number_;
};

/// open() without interruption, closed in programs that this one starts; below 0 with errno where it fails.
int open_file(const std::string& path, int flags, mode_t mode = 0);

/// Writes all of `content`; 0 or errno.
int write_all(int descriptor, std::string_view content);

/// Flushes to the disk; 0 or errno. Some file systems cannot, which is no fault of the file.
int flush(int descriptor);

}  // namespace dovetail::base
