// The user's program that judges responses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/run_settings.h"
#include "parallel/cancellation.h"

namespace dovetail::control {

/// A response to be judged.
struct Response {
  std::string id;  ///< tells it from all others of a call
  std::string prompt;
  std::string response;
  std::string answer;  ///< JSON; empty: null
};

/// The processes of a RewardCommand. Each gets a line of JSON for a response, `{"id", "prompt", "response", "answer"}`,
/// on its standard input, and writes a line `{"id", "reward"}` for each, in any order; its standard error is this
/// program's. They run until this is gone, and see the end of their input then.
class RewardProcesses {
 public:
  /// Starts them in `folder`, or where this program runs. An Error where the command cannot be run.
  static base::Result<RewardProcesses> start(const RewardCommand& command, const std::string& folder = {});

  /// The reward of each response, in their order. A process that ends, or says nothing for `timeout` seconds while a
  /// response waits, is started anew once, and gets again what it has not answered; the second time is an Error, as is
  /// a line that is no answer, has no finite number, names no response, or names one twice: each names the response and
  /// the line. Failure::interrupted where it is cancelled.
  base::Result<std::vector<double>> judge(std::span<const Response> responses,
                                          const parallel::Cancellation* cancellation = nullptr);

  RewardProcesses(RewardProcesses&&) noexcept;
  RewardProcesses& operator=(RewardProcesses&&) noexcept;
  ~RewardProcesses();

 private:
  struct Judge;
  RewardProcesses();

  static base::Status restart(Judge& judge, std::span<const Response> responses, const std::string& why);
  void wait() const;

  double timeout_ = 0;
  std::vector<std::unique_ptr<Judge>> judges_;
};

}  // namespace dovetail::control
