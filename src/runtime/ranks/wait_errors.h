// The errors that end a rank's waits for others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/ranks/job_watch.h"
#include "transport/transport.h"

namespace dovetail::runtime {

std::string_view name_of(transport::Lane lane);

/// "message 7 (programs) of rank 2".
std::string text_of(const transport::Address& message);

/// A peer whose connection broke; `deed`: what this rank did with it, as "waited for its message".
base::Error peer_is_lost(int peer, int rank, std::string_view deed, std::string_view reason);

/// A deadline that passed; `deed`: what this rank did, as "waited in vain for". Says the ranks that do not even give a
/// sign of life, where there is a watch.
base::Error is_late(int rank, std::string_view deed, JobWatch* watch);

/// "1.5 s": how long it is since then.
std::string seconds_since(transport::Clock::time_point begin);

/// Ends all waits because a collective of `ranks`, of which this one is one, broke: with another rank's error where one
/// comes in a moment. `deed`: as "sums with". Gives the error that holds.
base::Status lose_collective(transport::Transport& transport, const std::vector<int>& ranks, std::string_view deed,
                             std::string_view reason);

}  // namespace dovetail::runtime
