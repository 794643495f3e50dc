// Compares configurations known to fit or to run out of memory with Dovetail's verdicts.
//
// Rows whose source omits a decisive setting, and rows with conflicting reports, are printed separately and not scored.
// docs/accuracy.md explains the rows with a wrong verdict.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fit_or_oom_rows.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/software.h"
#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;
using bench::FitRow;
using bench::Outcome;

/// Share of fitting runs that may be rejected.
constexpr double max_rejected = 0.1;

/// Verdict of the model on a row, for the task with the least margin.
struct Verdict {
  bool fits = true;
  std::string task;
  predict::TaskMemory tightest;
  std::string parts;  ///< see max_parts
};

std::string gigabytes(std::int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) * 1e-9); }

/// Lists the largest parts, which a user would change.
std::string max_parts(const predict::TaskMemory& memory, const workflow::Workflow& workflow) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t part = 0; part < std::min(shown, memory.parts.size()); ++part)
    text += fmt::format("{}{} {}", part == 0 ? "" : ", ", name_of(memory.parts[part], workflow),
                        gigabytes(memory.parts[part].bytes));
  return text;
}

/// Returns the value, or ends the program: rows are our own jobs and plans.
template <class Value>
Value must(base::Result<Value> result) {
  if (result.ok()) return std::move(*result);
  fmt::print(stderr, "{}\n", base::to_text(result.error()));
  std::exit(2);
}

Verdict verdict_of(const FitRow& row) {
  const plan::Job job = must(plan::parse_job(row.job, row.source));
  const plan::Plan plan = must(plan::parse_plan(row.plan, row.source, job));
  const std::vector<predict::TaskMemory> memory =
      predict::task_memory(predict::scenario_of(job, must(predict::software_of(job))), plan);
  Verdict verdict;
  for (std::size_t task = 0; task < memory.size(); ++task) {
    if (job.workflow.tasks[task].kind == workflow::TaskKind::rule) continue;
    verdict.fits = verdict.fits && memory[task].fits();
    if (!verdict.task.empty() && memory[task].margin() >= verdict.tightest.margin()) continue;
    verdict.task = job.workflow.tasks[task].name;
    verdict.tightest = memory[task];
  }
  verdict.parts = max_parts(verdict.tightest, job.workflow);
  return verdict;
}

std::string text_of(Outcome outcome) {
  return outcome == Outcome::fits ? "fits" : outcome == Outcome::out_of_memory ? "fails" : "undecided";
}

std::string happened_in(const FitRow& row) {
  return row.happened.empty() ? text_of(row.outcome) : fmt::format("{}: {}", text_of(row.outcome), row.happened);
}

struct Score {
  int fitting = 0;
  int rejected = 0;  ///< rejected rows that fit
  int failing = 0;
  int accepted = 0;  ///< accepted rows that failed
};

Score print_scored(const std::vector<FitRow>& rows) {
  Score score;
  std::vector<std::vector<std::string>> table;
  for (const FitRow& row : rows) {
    if (!row.open.empty()) continue;
    const Verdict verdict = verdict_of(row);
    const bool did_fit = row.outcome == Outcome::fits;
    ++(did_fit ? score.fitting : score.failing);
    if (verdict.fits != did_fit) ++(did_fit ? score.rejected : score.accepted);
    table.push_back({row.source, row.what, happened_in(row), verdict.fits ? "fits" : "fails",
                     gigabytes(verdict.tightest.needed()), gigabytes(verdict.tightest.usable),
                     fmt::format("{} on {}", verdict.task, verdict.tightest.device), gigabytes(verdict.tightest.host),
                     verdict.fits == did_fit ? "right" : "WRONG", verdict.parts});
  }
  constexpr auto left = report::Align::left;
  fmt::print("GB; configurations with complete sources\n{}\n", report::render_table({{"source", left},
                                                                                     {"what", left},
                                                                                     {"happened", left},
                                                                                     {"Dovetail", left},
                                                                                     {"needed"},
                                                                                     {"usable"},
                                                                                     {"limiting task, device", left},
                                                                                     {"host"},
                                                                                     {"", left},
                                                                                     {"largest parts", left}},
                                                                                    table));
  return score;
}

void print_open(const std::vector<FitRow>& rows) {
  std::vector<std::vector<std::string>> table;
  for (const FitRow& row : rows)
    if (!row.open.empty()) table.push_back({row.source, row.what, happened_in(row), row.open});
  constexpr auto left = report::Align::left;
  fmt::print("\nnot scored: what the source leaves open, or why the row is undecided\n{}\n",
             report::render_table({{"source", left}, {"what", left}, {"happened", left}, {"open", left}}, table));
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments program("Compares configurations known to fit or to run out of memory with the memory model.");
  if (const auto code = program.parse(argc, argv)) return *code;
  bench::print_heading(argc, argv);
  const std::vector<FitRow> rows = bench::fit_rows();
  const Score score = print_scored(rows);
  print_open(rows);
  fmt::print("\n{} of {} configurations that failed are accepted; maximum: 0\n", score.accepted, score.failing);
  fmt::print("{} of {} configurations that fit are rejected; maximum: {:.0f}%\n", score.rejected, score.fitting,
             100 * max_rejected);
  const bool few_rejected = score.rejected <= max_rejected * score.fitting;
  return bench::print_met((score.accepted == 0 ? 1 : 0) + (few_rejected ? 1 : 0), 2);
}
