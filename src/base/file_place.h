// A place in a file.
#pragma once

namespace dovetail::base {

/// Where something stands in its file, counted from 1; 0 where that is unknown.
struct FilePlace {
  int line = 0;
  int column = 0;

  friend bool operator==(const FilePlace&, const FilePlace&) = default;
};

}  // namespace dovetail::base
