#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/json_object.h"
#include "base/utf8.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {

namespace {

using base::JsonObject;

std::string_view boolean_text(bool value) { return value ? "true" : "false"; }

std::string solver_text(const SolverRecord& solver) {
  JsonObject text;
  text.add("name", base::json_string(solver.name));
  if (solver.seed) text.add("seed", std::to_string(*solver.seed));
  if (solver.chains) text.add("chains", std::to_string(*solver.chains));
  if (solver.iterations) text.add("iterations", std::to_string(*solver.iterations));
  return text.text();
}

/// What the schedule says of itself, as members of its object.
std::string claims_text(const Claims& claims, TimeUnit unit) {
  JsonObject bounds;
  if (claims.bound_makespan) bounds.add("makespan", base::format_time(*claims.bound_makespan, unit));
  if (claims.bound_peak_activation) bounds.add("peak_activation", base::format_memory(*claims.bound_peak_activation));
  JsonObject optimal;
  if (claims.optimal_makespan) optimal.add("makespan", boolean_text(*claims.optimal_makespan));
  if (claims.optimal_peak_activation) optimal.add("peak_activation", boolean_text(*claims.optimal_peak_activation));

  JsonObject text;
  if (claims.makespan) text.add("makespan", base::format_time(*claims.makespan, unit));
  if (claims.peak_activation) text.add("peak_activation", base::format_memory(*claims.peak_activation));
  if (!bounds.empty()) text.add("bounds", bounds.text());
  if (!optimal.empty()) text.add("optimal", optimal.text());
  if (claims.solver) text.add("solver", solver_text(*claims.solver));
  if (claims.stopped_by) text.add("stopped_by", fmt::format("\"{}\"", name_of(*claims.stopped_by)));
  return text.members();
}

void append_op(std::string& text, const ScheduledOp& scheduled, TimeUnit unit) {
  const OpLabel& label = scheduled.label;
  fmt::format_to(std::back_inserter(text), "[\"{}\", {}, {}, {}, {}, {}, {}]", letter_of(label.kind), label.model.value,
                 label.replica.value, label.stage.value, label.microbatch.value,
                 base::format_time(scheduled.start, unit), base::format_time(scheduled.end, unit));
}

}  // namespace

std::string schedule_to_json(const Schedule& schedule) {
  const TimeUnit unit = schedule.problem.time_unit;
  std::string text = fmt::format("{{\"format\": \"{}\", \"time_unit\": \"{}\",\n \"problem\": {},\n", schedule_format,
                                 base::name_of(unit), problem_to_json(schedule.problem, 1));
  if (const std::string claims = claims_text(schedule.claims, unit); !claims.empty())
    text += fmt::format(" {},\n", claims);
  text +=
      " \"columns\": [\"op\", \"model\", \"replica\", \"stage\", \"microbatch\", \"start\", \"end\"],\n \"devices\": [";
  std::string_view device_separator = "\n  [";
  for (const auto& device : schedule.devices) {
    text += std::exchange(device_separator, ",\n  [");
    std::string_view op_separator = "";
    for (const ScheduledOp& scheduled : device) {
      text += std::exchange(op_separator, ", ");
      append_op(text, scheduled, unit);
    }
    text += ']';
  }
  return text + "\n ]}\n";
}

}  // namespace dovetail::pipeline
