#include "runtime/profile/profile_command.h"

#include <c10/core/InferenceMode.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/text/text.h"
#include "base/enum_names.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "control/run/run_checks.h"
#include "cost/profile.h"
#include "llm/computation.h"
#include "report/text/table.h"
#include "runtime/model/device.h"
#include "runtime/model/tensor.h"
#include "runtime/profile/measured_times.h"
#include "runtime/ranks/gloo_transport.h"

namespace dovetail::runtime {
namespace {

using json = nlohmann::ordered_json;

double rounded(double value) { return std::stod(fmt::format("{:.3e}", value)); }

json amounts_of(const std::vector<cost::ProfilePoint>& points) {
  json all = json::array();
  for (const cost::ProfilePoint& point : points) all.push_back(static_cast<std::int64_t>(point.amount));
  return all;
}

json seconds_of(const std::vector<cost::ProfilePoint>& points) {
  json all = json::array();
  for (const cost::ProfilePoint& point : points) all.push_back(rounded(point.seconds));
  return all;
}

json table_of(const cost::ProfileTable& table, const char* length, const char* amounts) {
  json all = json::array();
  for (const cost::ProfileCurve& curve : table)
    all.push_back({{length, static_cast<std::int64_t>(curve.length)},
                   {amounts, amounts_of(curve.points)},
                   {"seconds", seconds_of(curve.points)}});
  return all;
}

json end_of(const cost::EndProfile& end) {
  return {{"tokens", amounts_of(end.forward)},
          {"forward", seconds_of(end.forward)},
          {"backward", seconds_of(end.backward)}};
}

json layer_of(const cost::LayerProfile& layer, const llm::Computation& computation, const std::string& gpu) {
  json fields = {{"model", json::parse(llm::config_text(layer.model, computation))},
                 {"gpu", gpu},
                 {"precision", "fp32"},
                 {"forward", table_of(layer.forward, "length", "tokens")},
                 {"backward", table_of(layer.backward, "length", "tokens")}};
  if (!layer.decode.empty()) fields["decode"] = table_of(layer.decode, "context", "sequences");
  fields["embedding"] = end_of(layer.embedding);
  fields["head"] = end_of(layer.head);
  fields["optimizer"] = rounded(*layer.optimizer_bandwidth);
  return fields;
}

json cluster_of(const MeasuredMachine& measured) {
  json gpu = {{"name", measured.gpu},
              {"memory", measured.memory},
              {"bandwidth", rounded(measured.speed.bytes_per_second)},
              {"bf16", rounded(measured.speed.flops_per_second)}};
  if (const auto link = cost::measured_link(measured.profile)) gpu["link"] = rounded(link->bandwidth);
  return {{"nodes", 1}, {"gpus_per_node", measured.ranks}, {"gpu", gpu}};
}

/// Formats JSON, with each value that fits on a line on one line.
std::string on_lines(const json& value, const std::string& indent = "") {
  constexpr std::size_t max_columns = 120;
  std::string line = value.dump();
  if (!value.is_structured() || indent.size() + line.size() <= max_columns) return line;
  const std::string inner = indent + "  ";
  std::string text(1, value.is_object() ? '{' : '[');
  const char* between = "\n";
  for (const auto& [key, part] : value.items()) {
    text += between + inner;
    if (value.is_object()) text += json(key).dump() + ": ";
    text += on_lines(part, inner);
    between = ",\n";
  }
  return text + "\n" + indent + (value.is_object() ? '}' : ']');
}

using base::Result;
using base::Status;

/// Model to measure. Roles often share a model's layers.
struct ModelToMeasure {
  std::string role;
  llm::Transformer shape;
  llm::Computation computation;
  bool generates = false;
};

/// Whether both models have equal layers and embeddings. A scalar head costs next to nothing.
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

/// Returns ascending lengths within the model's context, each at least 1.5 times the previous one.
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
  // Decoding must stay within the context.
  grid.contexts = apart_within({prompt, whole}, std::max<std::int64_t>(1, model.computation.context - decode_steps));
  for (std::int64_t batch = 1; batch <= std::min<std::int64_t>(64, load.samples()); batch *= 4)
    grid.batches.push_back(batch);
  return grid;
}

std::int64_t memory_of_machine() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

/// All ranks measure the same at once. Each returns its own figures.
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
  // Barriers use smaller numbers than links.
  std::uint32_t barriers = 0;
  const auto together = [&](const std::string& next) -> Status {
    if (reports) cli::print_error(fmt::format("measuring {}\n", next));
    return transport == nullptr
               ? Status()
               : transport::barrier(*transport, barriers++, transport::Clock::now() + arguments.timeout);
  };
  DOVETAIL_CHECK(together("memory and matrix products"));
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

/// Measures, and returns an Error if memory runs out.
Result<MeasuredMachine> measure(const ProfileArguments& arguments, const control::RunJob& run,
                                transport::Transport* transport) {
  MeasuredMachine measured;
  DOVETAIL_CHECK(unless_out_of_memory(
      [&]() -> Status {
        DOVETAIL_TRY(measured, measure_all(arguments, run, transport));
        return {};
      },
      [] {
        return base::Error{base::Failure::io, "", 0, 0,
                           "out of memory while measuring the job's models; use fewer ranks or a smaller model"};
      }));
  return measured;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

std::string summary_of(const MeasuredMachine& measured) {
  std::string text = fmt::format("{}: each reads {:.1f} GB/s and computes {:.0f} GFLOP/s while all are busy",
                                 answer::counted(measured.ranks, "rank"), measured.speed.bytes_per_second / 1e9,
                                 measured.speed.flops_per_second / 1e9);
  if (const auto link = cost::measured_link(measured.profile))
    text +=
        fmt::format("; message latency {:.0f} us, bandwidth {:.2g} GB/s", 1e6 * link->latency, link->bandwidth / 1e9);
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
  return text + report::render_table({{"layers x hidden", Align::left},
                                      {"tokens", Align::right},
                                      {"layer forward", Align::right},
                                      {"layer backward", Align::right},
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

std::string profile_text(const MeasuredMachine& measured) {
  json fields = {{"format", cost::profile_format}, {"name", measured.profile.name}, {"layers", json::array()}};
  for (std::size_t i = 0; i < measured.profile.layers.size(); ++i)
    fields["layers"].push_back(layer_of(measured.profile.layers[i], measured.computations[i], measured.gpu));
  for (const cost::LinkProfile& link : measured.profile.links)
    fields["links"].push_back({{"work", base::enum_name(link.work)},
                               {"ranks", link.ranks},
                               {"bytes", amounts_of(link.points)},
                               {"seconds", seconds_of(link.points)}});
  fields["cluster"] = cluster_of(measured);
  return on_lines(fields) + "\n";
}

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
        connect_gloo(session.place, session.store, session.monitor, transport::Clock::now() + arguments.timeout));
    session.monitor.note({"profiling"});
    return measure_and_write(arguments, transport.get());
  });
}

}  // namespace dovetail::runtime
