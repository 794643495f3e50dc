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
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "control/run/run_checks.h"
#include "report/text/table.h"
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

/// With a language model's head, whatever the role has: that of a value is no work to speak of.
llm::Transformer with_vocabulary(llm::Transformer shape) {
  shape.name.clear();
  shape.head = llm::Head::language_model;
  return shape;
}

std::vector<ModelToMeasure> models_of(const plan::Job& job, const std::vector<control::RunModel>& opened) {
  std::set<std::string> generating;
  for (const workflow::Task& task : job.workflow.tasks)
    if (task.kind == workflow::TaskKind::generate) generating.insert(task.role);
  std::vector<ModelToMeasure> models;
  for (const control::RunModel& model : opened) {
    const llm::Transformer shape = with_vocabulary(model.shape);
    const auto known =
        std::find_if(models.begin(), models.end(), [&](const ModelToMeasure& other) { return other.shape == shape; });
    ModelToMeasure& found =
        known != models.end() ? *known : models.emplace_back(ModelToMeasure{model.role, shape, model.computation});
    found.generates = found.generates || generating.contains(model.role);
  }
  return models;
}

/// Ascending, within what the model's positions allow, each at least half as long again as the one before.
std::vector<std::int64_t> apart_within(std::vector<double> lengths, const llm::Transformer& shape) {
  constexpr double least = 8;
  const double most = shape.positions > 0 ? static_cast<double>(shape.positions) : 1e6;
  std::sort(lengths.begin(), lengths.end());
  std::vector<std::int64_t> apart;
  for (const double length : lengths) {
    const auto whole = static_cast<std::int64_t>(std::clamp(length, least, most));
    if (apart.empty() || 2 * whole >= 3 * apart.back()) apart.push_back(whole);
  }
  return apart;
}

TimesGrid grid_of(const plan::Job& job, const ModelToMeasure& model) {
  const workflow::Workload& load = job.workload;
  const double prompt = load.prompt_length.mean();
  const double whole = prompt + load.response_length.mean();
  const auto longest = static_cast<double>(load.prompt_length.longest() + load.response_length.longest());
  TimesGrid grid;
  grid.lengths = apart_within({whole / 2, whole, longest}, model.shape);
  constexpr std::int64_t max_tokens = 4096;
  for (std::int64_t count = 1; count <= 64 && count * grid.lengths.back() <= max_tokens; count *= 2)
    grid.sequences.push_back(count);
  if (grid.sequences.empty()) grid.sequences.push_back(1);
  if (!model.generates) return grid;
  grid.contexts = apart_within({prompt, whole}, model.shape);
  for (std::int64_t batch = 1; batch <= std::min<std::int64_t>(64, load.samples()); batch *= 4)
    grid.batches.push_back(batch);
  return grid;
}

std::int64_t memory_of_machine() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

/// All ranks measure the same at once; each has its own figures.
Result<MeasuredMachine> measure(const ProfileArguments& arguments, const control::RunJob& run,
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
    measured.profile.layers.push_back(measure_model(model.shape, model.computation, grid_of(run.job, model)));
    measured.computations.push_back(model.computation);
  }
  if (transport != nullptr) {
    DOVETAIL_CHECK(together("links"));
    constexpr std::uint32_t links_begin = 1 << 10;
    DOVETAIL_TRY(measured.profile.links, measure_links(*transport, links_begin, arguments.timeout));
  }
  return measured;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

std::string summary_of(const MeasuredMachine& measured) {
  std::string text =
      fmt::format("{}: reads {:.1f} GB/s, multiplies {:.0f} GFLOP/s", answer::counted(measured.ranks, "rank"),
                  measured.speed.bytes_per_second / 1e9, measured.speed.flops_per_second / 1e9);
  if (const auto link = cost::measured_link(measured.profile))
    text += fmt::format("; a message takes {:.0f} us and {:.2g} GB/s", 1e6 * link->latency, link->bandwidth / 1e9);
  text += ", each while all work\n";
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
  DOVETAIL_TRY(const control::RunJob run, control::read_run_job(arguments.job, arguments.ranks));
  DOVETAIL_TRY(const MeasuredMachine measured, measure(arguments, run, transport));
  if (transport != nullptr && transport->rank() != 0) return {};
  DOVETAIL_CHECK(base::write_file(arguments.output, profile_text(measured)));
  cli::print(summary_of(measured));
  cli::print_error(fmt::format("written: {}\n", arguments.output));
  return {};
}

}  // namespace

Status check_profile(const ProfileArguments& arguments, int ranks) {
  if (arguments.ranks != ranks)
    return base::bad_input(fmt::format("--ranks is {}, and there are {}; accepted: as many", arguments.ranks,
                                       answer::counted(ranks, "rank")));
  DOVETAIL_TRY(const control::RunJob run, control::read_run_job(arguments.job, arguments.ranks));
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
