#include <fmt/format.h>

#include "answer/runs/sweep.h"

namespace dovetail::answer {

std::string to_csv(const SweepAnswer& answer) {
  std::string text =
      "value,iteration_seconds,simulated_mean_seconds,simulated_least_seconds,simulated_most_seconds,samples_per_"
      "second,"
      "tokens_per_second_and_device,gpu_hours,price,fits,task,device,bytes,usable,"
      "migrating_draws,moved_samples,destination_instances,verdict\n";
  for (const study::SweepPoint& point : answer.sweep.points) {
    text += point.value ? fmt::format("{:.10g}", *point.value) : "";
    if (!point.figures) {
      text += ",,,,,,,,,,,,,,,,,\n";
      continue;
    }
    const study::SweepFigures& of = *point.figures;
    const std::string played =
        of.simulated ? fmt::format("{:.3f},{:.3f},{:.3f}", of.simulated->mean, of.simulated->least, of.simulated->most)
                     : ",,";
    const std::string moved = of.migrations ? fmt::format("{},{:.6g},{:.6g}", of.migrations->migrating,
                                                          of.migrations->samples, of.migrations->instances)
                                            : ",,";
    text += fmt::format(",{:.3f},{},{:.6f},{:.6f},{:.6f},{},{},{},{},{},{},{},{}\n", of.iteration_seconds, played,
                        of.samples_per_second, of.tokens_per_second, of.gpu_hours,
                        of.price ? fmt::format("{:.6f}", *of.price) : "", of.fits() ? "yes" : "no",
                        answer.scenario.job.workflow.tasks[of.fullest].name, of.device, of.needed, of.usable, moved,
                        name_of(of.fit));
  }
  return text;
}

}  // namespace dovetail::answer
