// Key-value store of a job. The launcher or rank 0 runs it, and all ranks connect to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/ranks/rank_place.h"

namespace c10d {
class Store;  // NOLINT(readability-identifier-naming): name in libtorch
}

namespace dovetail::runtime {

/// Connection to a c10d TCPStore. Each `attempt` (RankPlace::attempt) has separate keys. The first connection makes the
/// process ignore SIGPIPE. Functions other than hold() return a Failure::lost Error if the connection breaks. They
/// block for as long as the store is connected but does not respond.
class JobStore {
 public:
  /// Runs a store in this process. It listens on `port` of all addresses, or on any free port if `port` is 0. Returns
  /// an Error if it cannot.
  static base::Result<std::unique_ptr<JobStore>> hold(std::uint16_t port, int attempt);
  /// Connects to a store, which may be in this process. If the store has not started yet, waits for it up to `timeout`.
  static base::Result<std::unique_ptr<JobStore>> connect(const std::string& host, std::uint16_t port, int attempt,
                                                         std::chrono::milliseconds timeout);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  std::uint16_t port() const;

  base::Status set(const std::string& key, const std::string& value);
  /// Returns nullopt if the key has no value.
  base::Result<std::optional<std::string>> find(const std::string& key);
  /// Sets the key's value unless it already has one. Returns the value that it then has.
  base::Result<std::string> propose(const std::string& key, const std::string& value);
  /// Adds `number` to a counter, which starts at 0, and returns the new value.
  base::Result<std::int64_t> add(const std::string& key, std::int64_t number);

  /// Returns the c10d store on which process groups are built.
  c10d::Store& raw();

 private:
  struct Impl;
  explicit JobStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Key of a job's first error. The value has the format of error_to_bytes.
inline constexpr const char* first_error_key = "error";

}  // namespace dovetail::runtime
