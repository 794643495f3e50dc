#include "fit_or_oom_rows.h"

#include <fmt/core.h>

#include <array>

#include "base/enum_names.h"
#include "data_rows.h"

namespace dovetail::bench {

constexpr auto names_of(Outcome) {
  return std::array{base::EnumName{"fits", Outcome::fits}, base::EnumName{"out_of_memory", Outcome::out_of_memory},
                    base::EnumName{"undecided", Outcome::undecided}};
}

namespace {

std::string job_of(const DataRow& row) {
  return fmt::format(
      "format: dovetail/job@1\nalgorithm: {}\nmodels: {{{}}}\nworkload: {{{}}}\ncluster: {{{}, host_memory: 4TB}}\n"
      "software: {{framework: any, training: {}}}\n",
      row.text("algorithm"), row.text("models"), row.text("workload"), row.text("cluster"), row.text("training"));
}

/// The columns named like a task hold the rest of its entry in the plan.
std::string plan_of(const DataRow& row) {
  std::string text = "format: dovetail/plan@1\ntasks:\n";
  for (const char* task : {"actor_generate", "reward_infer", "actor_infer", "reference_infer", "critic_infer",
                           "actor_train", "critic_train"})
    if (row.has(task)) text += fmt::format("  - {{task: {}, {}}}\n", task, row.text(task));
  return text;
}

}  // namespace

std::vector<FitRow> fit_rows() {
  std::vector<FitRow> rows;
  for (const DataRow& row : read_data("fit_or_oom.csv")) {
    rows.push_back({row.text("source"), row.text("run"), row.named<Outcome>("outcome"), row.text("observed"),
                    row.text("unknown_settings")});
    if (!rows.back().open.empty()) continue;
    rows.back().job = job_of(row);
    rows.back().plan = plan_of(row);
  }
  return rows;
}

}  // namespace dovetail::bench
