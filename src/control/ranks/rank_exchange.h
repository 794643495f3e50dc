// Messages between the ranks of a run, in CBOR (RFC 8949), and their exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "control/run/run.h"
#include "execute/measured_times.h"
#include "parallel/cancellation.h"
#include "transport/transport.h"

namespace dovetail::control {

/// Results of one rank, each with its index among the results of all ranks.
template <class Found>
using IndexedResults = std::vector<std::pair<std::size_t, Found>>;

std::string encode(const IndexedResults<GeneratedResponse>& responses);
IndexedResults<GeneratedResponse> decode_responses(const std::string& bytes);

std::string encode(const IndexedResults<Scores>& scores);
IndexedResults<Scores> decode_scores(const std::string& bytes);

std::string encode(const RankUsage& usage);
RankUsage decode_usage(const std::string& bytes);

std::string encode(const execute::OpMedians& medians);
execute::OpMedians decode_medians(const std::string& bytes);

std::string encode(const base::Error& error);
base::Error decode_error(const std::string& bytes);

std::string encode(const base::Result<std::vector<double>>& numbers);
base::Result<std::vector<double>> decode_numbers(const std::string& bytes);

/// Exchanges between all ranks. All ranks must make the same calls in the same order.
class RankExchange {
 public:
  /// `local` receives the stop requests made to this rank; null: this rank receives no requests. `timeout` limits each
  /// wait for other ranks. begin_phase() calls `on_phase` with the name of the phase that this rank enters. `transport`
  /// and `local` must outlive this object.
  RankExchange(transport::Transport& transport, const parallel::Cancellation* local, transport::Clock::duration timeout,
               std::function<void(std::string_view phase)> on_phase = {})
      : transport_(transport), local_(local), timeout_(timeout), on_phase_(std::move(on_phase)) {}

  int rank() const { return transport_.rank(); }
  int ranks() const { return transport_.ranks(); }
  transport::Transport& transport() { return transport_; }
  transport::Clock::duration timeout() const { return timeout_; }

  /// Returns the strings of all ranks, by rank.
  base::Result<std::vector<std::string>> all_gather(std::string own);
  /// Returns rank 0's string on every rank. Ignores the strings of other ranks.
  base::Result<std::string> broadcast(std::string own);
  /// Returns, on all ranks, the Error of the lowest rank that has one, or ok if no rank has one.
  base::Status agree(const base::Status& own);
  void begin_phase(std::string_view phase) const {
    if (on_phase_) on_phase_(phase);
  }
  /// Returns the next exchange number, which is the same on all ranks.
  std::uint32_t take_number() { return number_++; }

  /// Returns a cancellation that is requested on all ranks at the same exchange: the first one after a stop request on
  /// any rank.
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

/// Returns a reward function that runs `own` on rank 0 and sends its rewards, or its Error, to all ranks. `own` is not
/// called on other ranks. Only rank 0's local() can cancel `own`, because the other ranks wait for its result.
/// `rank_exchange` must outlive the result.
RewardFunction shared_reward_function(RewardFunction own, RankExchange& rank_exchange);

}  // namespace dovetail::control
