// What the seconds of an activity are spent on.
#pragma once

#include <array>

#include "base/enum_names.h"

namespace dovetail::predict {

enum class SecondsOf {
  prefill,
  recompute,
  full_batch,        ///< decode steps
  emptying_batch,    ///< likewise
  slowest_instance,  ///< by which it ends behind the mean one
  compute,
  communication,
  launch,
  bubbles,
  gradients,
  optimizer,
  host_transfers,  ///< devices wait for what comes from host memory and goes back
  hand_over,       ///< to the next task
  weight_sync,
  transfer,  ///< of another reallocation
  rule,
  fused_schedule,
  until_threshold,
  migration,
  tail,
  rest,
  nothing,  ///< another activity does its work
  // Of what devices do in an iteration, which are no part of an activity.
  moving_weights,
  between_iterations,
  hidden_by_fusion,  ///< taken off the iteration, below 0: what is fused is accounted for as if it were not, so that it
                     ///< can be compared with a plan that fuses nothing
  idle
};
constexpr auto names_of(SecondsOf) {
  using Name = base::EnumName<SecondsOf>;
  return std::array{Name{"prefill", SecondsOf::prefill},
                    Name{"recompute", SecondsOf::recompute},
                    Name{"decode, full batch", SecondsOf::full_batch},
                    Name{"decode, emptying batch", SecondsOf::emptying_batch},
                    Name{"slowest instance", SecondsOf::slowest_instance},
                    Name{"compute", SecondsOf::compute},
                    Name{"communication", SecondsOf::communication},
                    Name{"launch", SecondsOf::launch},
                    Name{"bubbles", SecondsOf::bubbles},
                    Name{"gradients", SecondsOf::gradients},
                    Name{"optimizer", SecondsOf::optimizer},
                    Name{"host transfers", SecondsOf::host_transfers},
                    Name{"hand-over", SecondsOf::hand_over},
                    Name{"refit", SecondsOf::weight_sync},
                    Name{"transfer", SecondsOf::transfer},
                    Name{"rule", SecondsOf::rule},
                    Name{"fused schedule", SecondsOf::fused_schedule},
                    Name{"until the threshold", SecondsOf::until_threshold},
                    Name{"migration", SecondsOf::migration},
                    Name{"tail, beside scoring", SecondsOf::tail},
                    Name{"scoring of the rest", SecondsOf::rest},
                    Name{"within another step", SecondsOf::nothing},
                    Name{"moving weights", SecondsOf::moving_weights},
                    Name{"between iterations", SecondsOf::between_iterations},
                    Name{"hidden by fusion", SecondsOf::hidden_by_fusion},
                    Name{"idle", SecondsOf::idle}};
}

}  // namespace dovetail::predict
