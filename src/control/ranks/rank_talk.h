// What the ranks of a run agree on between their phases.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "parallel/cancellation.h"
#include "transport/transport.h"

namespace dovetail::control {

/// One rank's part of a talk in which all ranks say the same kinds of things in the same order.
class RankTalk {
 public:
  /// `local` may stop this rank; `timeout` is of each wait for the others; `on_phase` hears what this rank does between
  /// the tasks of the run. All and the transport must stay.
  RankTalk(transport::Transport& transport, const parallel::Cancellation* local, transport::Clock::duration timeout,
           std::function<void(std::string_view phase)> on_phase = {})
      : transport_(transport), local_(local), timeout_(timeout), on_phase_(std::move(on_phase)) {}

  int rank() const { return transport_.rank(); }
  int ranks() const { return transport_.ranks(); }
  transport::Transport& transport() { return transport_; }
  transport::Clock::duration timeout() const { return timeout_; }

  /// [rank] what each rank says here.
  base::Result<std::vector<std::string>> exchange(std::string own);
  /// What rank 0 says here; what others say is nothing.
  base::Result<std::string> hear_first(std::string own);
  /// The first rank's Error where one has any.
  base::Status agree(const base::Status& own);
  void begin_phase(std::string_view phase) const {
    if (on_phase_) on_phase_(phase);
  }
  /// A number that no exchange has, the same on all ranks.
  std::uint32_t take_number() { return number_++; }

  /// Requested in the exchange before which any rank was asked to stop: at the same place of the talk on all ranks.
  const parallel::Cancellation& agreed() const { return agreed_; }
  const parallel::Cancellation* local() const { return local_; }

 private:
  transport::Transport& transport_;
  const parallel::Cancellation* local_;
  transport::Clock::duration timeout_;
  std::function<void(std::string_view phase)> on_phase_;
  std::uint32_t number_ = 0;
  parallel::Cancellation agreed_;
};

}  // namespace dovetail::control
