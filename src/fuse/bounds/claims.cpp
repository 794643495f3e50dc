#include <fmt/core.h>

#include <optional>

#include "fuse/bounds/bounds.h"

namespace dovetail::fuse {
namespace {

/// Claims about the makespan or about the peak activation.
template <class Amount>
struct Claimed {
  std::string key;
  Amount value;   ///< value of the schedule
  Amount proven;  ///< proven bound
  std::optional<Amount> bound;
  std::optional<bool> optimal;
};

template <class Amount, class Format>
void check_bound(std::vector<DisputedClaim>& disputed, const Claimed<Amount>& claimed, Format format) {
  if (!claimed.bound || *claimed.bound <= claimed.proven) return;
  const bool refuted = *claimed.bound > claimed.value;
  const std::string text = format(*claimed.bound);
  disputed.push_back({"bounds." + claimed.key, refuted,
                      refuted ? fmt::format("{} is above this schedule's {}", text, format(claimed.value))
                              : fmt::format("{}, but only {} is proven here", text, format(claimed.proven))});
}

template <class Amount, class Format>
void check_optimal(std::vector<DisputedClaim>& disputed, const Claimed<Amount>& claimed, Format format) {
  if (!claimed.optimal) return;
  const std::string key = "optimal." + claimed.key;
  const std::string text = *claimed.optimal ? "true" : "false";
  const std::string value = format(claimed.value);
  const bool is_met = claimed.bound == claimed.value;
  if (claimed.bound && *claimed.optimal != is_met) {
    disputed.push_back({key, true,
                        fmt::format("{}, but the schedule's {} {} the file's bound {}", text, value,
                                    is_met ? "equals" : "does not equal", format(*claimed.bound))});
  } else if (*claimed.optimal && claimed.value > claimed.proven) {
    disputed.push_back(
        {key, false,
         fmt::format("{}, but only {} is proven here, below the schedule's {}", text, format(claimed.proven), value)});
  } else if (!*claimed.optimal && !claimed.bound && claimed.value <= claimed.proven) {
    disputed.push_back({key, true, fmt::format("{}, but the schedule's {} meets the bound proven here", text, value)});
  }
}

}  // namespace

std::vector<DisputedClaim> check_claims(const pipeline::Schedule& schedule, const pipeline::Evaluation& evaluation,
                                        base::Ticks bound, base::Memory peak_bound) {
  const pipeline::Claims& claims = schedule.claims;
  const auto time = [&](base::Ticks amount) { return base::format_time(amount, schedule.problem.time_unit); };
  const auto memory = [](base::Memory amount) { return base::format_memory(amount); };
  const Claimed<base::Ticks> makespan{"makespan", evaluation.makespan, bound, claims.bound_makespan,
                                      claims.optimal_makespan};
  const Claimed<base::Memory> peak{"peak_activation", evaluation.peak_activation, peak_bound,
                                   claims.bound_peak_activation, claims.optimal_peak_activation};
  std::vector<DisputedClaim> disputed;
  check_bound(disputed, makespan, time);
  check_bound(disputed, peak, memory);
  check_optimal(disputed, makespan, time);
  check_optimal(disputed, peak, memory);
  return disputed;
}

}  // namespace dovetail::fuse
