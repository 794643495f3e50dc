#include "runtime/profile/profile_command.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "answer/words/text.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "control/run/run_checks.h"
#include "report/text/table.h"
#include "runtime/model/out_of_memory.h"
#include "runtime/model/threads.h"
#include "runtime/profile/model_times.h"
#include "runtime/profile/profile_text.h"
#include "runtime/ranks/gloo_transport.h"

namespace dovetail::runtime {
namespace {

using base::Result;
using base::Status;

/// A model that is measured: layers of several roles are often alike.
struct ModelToMeasure {
  std::string role;
  llm::Transformer shape;
  llm::Computation computation;
  bool generates = false;
};

/// Whether the layers of both are one, and the words; a head of a value is no work to speak of.
bool is_alike(llm::Transformer a, const llm::Transformer& b) {
  a.name = b.name;
  a.head = b.head;
  a.tied_embeddings = b.tied_embeddings;
  return a == b;
}

std::vector<ModelToMeasure> models_of(const plan::Job& job, const std::vector<control::RunModel>& opened) {
  std::set<std::string> generating;
  for (const workflow::Task& task : job.workflow.tasks)
    if (task.kind == workflow::TaskKind::generate) generating.insert(task.role);
  std::vector<ModelToMeasure> models;
  for (const control::RunModel& model : opened) {
    const bool generates = generating.contains(model.role);
    ModelToMeasure found{model.role, model.shape, model.computation, generates};
    found.shape.head = llm::Head::language_model;
    const auto known = std::find_if(models.begin(), models.end(),
                                    [&](const ModelToMeasure& other) { return is_alike(other.shape, found.shape); });
    if (known == models.end()) {
      models.push_back(std::move(found));
    } else if (generates) {
      *known = std::move(found);
    }
  }
  return models;
}

/// Ascending, within the model's context, each at least half as long again as the one before.
std::vector<std::int64_t> apart_within(std::vector<double> lengths, std::int64_t context) {
  std::sort(lengths.begin(), lengths.end());
  std::vector<std::int64_t> apart;
  for (const double length : lengths) {
    const std::int64_t whole = std::min(std::max<std::int64_t>(8, static_cast<std::int64_t>(length)), context);
    if (apart.empty() || 2 * whole >= 3 * apart.back()) apart.push_back(whole);
  }
  return apart;
}

TimesGrid grid_of(const plan::Job& job, const ModelToMeasure& model) {
  const workflow::Workload& load = job.workload;
  const double prompt = load.prompt_length.mean();
  const double whole = prompt + load.response_length.mean();
  const auto longest = static_cast<double>(load.max_sequence());
  TimesGrid grid;
  grid.scored = load.response_length.mean() / whole;
  grid.lengths = apart_within({whole / 2, whole, longest}, model.computation.context);
  constexpr std::int64_t max_tokens = 4096;
  for (std::int64_t count = 1; count <= 64 && count * grid.lengths.back() <= max_tokens; count *= 2)
    grid.sequences.push_back(count);
  if (grid.sequences.empty()) grid.sequences.push_back(1);
  if (!model.generates) return grid;
  // What is decoded stays within the context.
  grid.contexts = apart_within({prompt, whole}, std::max<std::int64_t>(1, model.computation.context - decode_steps));
  for (std::int64_t batch = 1; batch <= std::min<std::int64_t>(64, load.samples()); batch *= 4)
    grid.batches.push_back(batch);
  return grid;
}

std::int64_t memory_of_machine() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

/// All ranks measure the same at once; each has its own figures.
Result<MeasuredMachine> measure_all(const ProfileArguments& arguments, const control::RunJob& run,
                                    transport::Transport* transport) {
  const c10::InferenceMode no_autograd;
  use_threads(arguments.threads);
  DOVETAIL_TRY(const std::vector<control::RunModel> opened, control::open_models(run));
  MeasuredMachine measured;
  measured.gpu = run.job.cluster.groups.front().gpu.name;
  measured.profile.name = run.job.name;
  measured.ranks = transport == nullptr ? 1 : transport->ranks();
  measured.memory = memory_of_machine() / measured.ranks;
  const bool reports = transport == nullptr || transport->rank() == 0;
  // Numbers of barriers are smaller than those of links.
  std::uint32_t barriers = 0;
  const auto together = [&](const std::string& next) -> Status {
    if (reports) cli::print_error(fmt::format("measuring {}\n", next));
    return transport == nullptr
               ? Status()
               : transport::barrier(*transport, barriers++, transport::Clock::now() + arguments.timeout);
  };
  DOVETAIL_CHECK(together("memory and products"));
  measured.speed = measure_speed();
  for (const ModelToMeasure& model : models_of(run.job, opened)) {
    DOVETAIL_CHECK(together("the model of " + model.role));
    DOVETAIL_TRY(cost::LayerProfile layer, measure_model(model.shape, model.computation, grid_of(run.job, model)));
    measured.profile.layers.push_back(std::move(layer));
    measured.computations.push_back(model.computation);
  }
  if (transport != nullptr) {
    DOVETAIL_CHECK(together("links"));
    constexpr std::uint32_t links_begin = 1 << 10;
    DOVETAIL_TRY(measured.profile.links, measure_links(*transport, links_begin, arguments.timeout));
  }
  return measured;
}

/// Where memory runs out, an Error says so.
Result<MeasuredMachine> measure(const ProfileArguments& arguments, const control::RunJob& run,
                                transport::Transport* transport) {
  MeasuredMachine measured;
  DOVETAIL_CHECK(unless_out_of_memory(
      [&]() -> Status {
        DOVETAIL_TRY(measured, measure_all(arguments, run, transport));
        return {};
      },
      [] {
        return base::Error{
            base::Failure::io, "", 0, 0,
            "memory ran out while the job's models were measured; accepted: fewer ranks, or a smaller model"};
      }));
  return measured;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

std::string summary_of(const MeasuredMachine& measured) {
  std::string text = fmt::format("{}: each reads {:.1f} GB/s and multiplies {:.0f} GFLOP/s while all work",
                                 answer::counted(measured.ranks, "rank"), measured.speed.bytes_per_second / 1e9,
                                 measured.speed.flops_per_second / 1e9);
  if (const auto link = cost::measured_link(measured.profile))
    text += fmt::format("; a message takes {:.0f} us and {:.2g} GB/s", 1e6 * link->latency, link->bandwidth / 1e9);
  text += "\n";
  using report::Align;
  std::vector<std::vector<std::string>> rows;
  for (const cost::LayerProfile& layer : measured.profile.layers) {
    const cost::ProfilePoint& forward = layer.forward.back().points.back();
    rows.push_back(
        {fmt::format("{} x {}", layer.model.layers, layer.model.hidden), fmt::format("{:.0f}", forward.amount),
         milliseconds(forward.seconds), milliseconds(layer.backward.back().points.back().seconds),
         milliseconds(layer.head.forward.back().seconds), fmt::format("{:.1f} GB/s", *layer.optimizer_bandwidth / 1e9),
         layer.decode.empty() ? "" : milliseconds(layer.decode.back().points.back().seconds)});
  }
  return text + report::render_table({{"layers x width", Align::left},
                                      {"tokens", Align::right},
                                      {"layer forward", Align::right},
                                      {"backward", Align::right},
                                      {"head forward", Align::right},
                                      {"optimizer", Align::right},
                                      {"decode step", Align::right}},
                                     rows);
}

Status measure_and_write(const ProfileArguments& arguments, transport::Transport* transport) {
  DOVETAIL_TRY(const control::RunJob run, control::read_run_job(arguments.job));
  DOVETAIL_TRY(const MeasuredMachine measured, measure(arguments, run, transport));
  if (transport != nullptr && transport->rank() != 0) return {};
  DOVETAIL_CHECK(base::write_file(arguments.output, profile_text(measured)));
  cli::print(summary_of(measured));
  cli::print_error(fmt::format("written: {}\n", arguments.output));
  return {};
}

}  // namespace

Status check_profile(const ProfileArguments& arguments) {
  DOVETAIL_TRY(const control::RunJob run, control::read_run_job(arguments.job));
  const auto opened = control::open_models(run);
  return opened.ok() ? Status() : Status(opened.error());
}

int run_profile(const ProfileArguments& arguments) {
  const auto exit_code_of = [](const Status& status) {
    return status.ok() ? static_cast<int>(cli::exit_done) : cli::report_failure(status.error(), "dovetail-train");
  };
  const auto place = find_rank_place(environment_variables());
  if (!place.ok()) return exit_code_of(place.error());
  if (!*place || (*place)->ranks == 1) return exit_code_of(measure_and_write(arguments, nullptr));
  return run_rank("dovetail-train profile", arguments.timeout, [&](RankSession& session) -> Status {
    DOVETAIL_TRY(
        const std::unique_ptr<transport::Transport> transport,
        connect_gloo(session.place, session.store, session.watch, transport::Clock::now() + arguments.timeout));
    session.watch.note({"the profile"});
    return measure_and_write(arguments, transport.get());
  });
}

}  // namespace dovetail::runtime
