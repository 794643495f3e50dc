// The store of a job: a few words by key, held by one process (a launcher, or rank 0), in reach of all ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/ranks/rank_place.h"

namespace c10d {
class Store;  // NOLINT(readability-identifier-naming): its own name
}

namespace dovetail::runtime {

/// A connection to a store, c10d's TCPStore. From the first one on the process ignores SIGPIPE. Where the store does
/// not answer, each function gives a Failure::lost Error; one that hangs holds the caller up.
class JobStore {
 public:
  /// Holds a store in this process, which listens at `port` of all its addresses; 0: at any that is free.
  static base::Result<std::unique_ptr<JobStore>> hold(std::uint16_t port, int attempt);
  /// Connects to one, which may come later than this; also the one that this process holds.
  static base::Result<std::unique_ptr<JobStore>> connect(const std::string& host, std::uint16_t port, int attempt,
                                                         std::chrono::milliseconds timeout);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  std::uint16_t port() const;

  base::Status set(const std::string& key, const std::string& value);
  base::Result<std::optional<std::string>> find(const std::string& key);
  /// Sets the value where the key has none; gives the one that it has then.
  base::Result<std::string> propose(const std::string& key, const std::string& value);
  /// Adds to a count, which begins at 0; gives the sum.
  base::Result<std::int64_t> add(const std::string& key, std::int64_t number);

  /// What ranks build on.
  c10d::Store& raw();

 private:
  struct Parts;
  explicit JobStore(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Under which key the first error of a job stands (error_text.h).
inline constexpr const char* first_error_key = "error";

}  // namespace dovetail::runtime
