// Runs the user's reward program, which judges responses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/run_settings.h"
#include "parallel/cancellation.h"

namespace dovetail::control {

/// A response to judge, with its prompt and the answer that the data gives.
struct Response {
  std::string id;  ///< unique within a call
  std::string prompt;
  std::string response;
  std::string answer;  ///< JSON; if empty, the program receives null
};

/// Processes of a RewardCommand. Each reads one JSON line per response, `{"id", "prompt", "response", "answer"}`, on
/// its standard input, and writes a line `{"id", "reward"}` per response, in any order. They share this program's
/// standard error. They run until this object is destroyed, which closes their input.
class RewardProcesses {
 public:
  /// Starts the processes in `folder`, or in the current directory if that is empty. Returns an Error if the command
  /// cannot be run.
  static base::Result<RewardProcesses> start(const RewardCommand& command, const std::string& folder = {});

  /// Returns the rewards of the responses, in order.
  ///
  /// A process that ends, or that does not answer for `RewardCommand::timeout` seconds, is restarted once per call and
  /// gets its unanswered responses again. A second failure is an Error that names the first unanswered response. A line
  /// that is not an answer, has no finite number, or names an unknown or already judged response is an Error that
  /// quotes the line or the id. Returns Failure::interrupted after a cancellation. REQUIRES: the ids are unique.
  base::Result<std::vector<double>> rewards_of(std::span<const Response> responses,
                                               const parallel::Cancellation* cancellation = nullptr);

  RewardProcesses(RewardProcesses&&) noexcept;
  RewardProcesses& operator=(RewardProcesses&&) noexcept;
  ~RewardProcesses();

 private:
  struct Worker;
  RewardProcesses();

  static base::Status restart(Worker& worker, std::span<const Response> responses, const std::string& why);
  void wait() const;

  double timeout_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace dovetail::control
