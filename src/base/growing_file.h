// A file that another program appends to, read as it grows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace dovetail::base {

class Descriptor;

/// Follows the file at a path, whichever that is: one that was renamed is read to its end, then the one that stands in
/// its place; one that was cut or written anew is read from its beginning.
class GrowingFile {
 public:
  /// The file need not be there yet.
  explicit GrowingFile(std::string path);
  GrowingFile(GrowingFile&&) noexcept;
  GrowingFile& operator=(GrowingFile&&) noexcept;
  ~GrowingFile();

  /// What came since the last call.
  struct News {
    std::string bytes;
    bool anew = false;  ///< there are those of another file among them, or of the same one that was written anew
  };
  /// Nothing new is no Error; a file that is there and cannot be read is a Failure::io one.
  Result<News> read_on();
  bool is_there() const { return file_ != nullptr; }

 private:
  Status read_rest(std::string& bytes);
  /// What was read is another file's: a line that it did not end ends.
  void begin_anew(std::string& bytes);
  /// Whether the file holds at what was read last what it held then.
  bool is_as_read() const;

  std::string path_;
  std::unique_ptr<Descriptor> file_;
  std::uint64_t node_ = 0;
  std::uint64_t device_ = 0;
  std::int64_t offset_ = 0;
  std::string last_;  // the last bytes that were read, at most a few
};

}  // namespace dovetail::base
