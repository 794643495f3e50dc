#include "runtime/run/run_command.h"

#include <c10/core/Device.h>
#include <c10/core/InferenceMode.h>
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/prediction.h"
#include "answer/runs/training_run.h"
#include "answer/text/text.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/result.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_results.h"
#include "cluster/cluster.h"
#include "control/models.h"
#include "control/ranks/rank_exchange.h"
#include "control/reward_process.h"
#include "control/run/run.h"
#include "control/run/run_checks.h"
#include "control/run/run_state.h"
#include "control/run_settings.h"
#include "llm/counts.h"
#include "pipeline/formats/schedule_file.h"
#include "plan/job.h"
#include "plan/job_text.h"
#include "plan/plan_file.h"
#include "records/checkpoints.h"
#include "records/metric_table.h"
#include "records/run_folder.h"
#include "records/training_phases.h"
#include "runtime/model/device.h"
#include "runtime/model/tensor.h"
#include "runtime/ranks/device_transport.h"
#include "runtime/ranks/gloo_collectives.h"
#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/nccl.h"
#include "runtime/ranks/rank_note.h"
#include "runtime/ranks/run_rank.h"
#include "runtime/run/rank_models.h"
#include "runtime/run/run_reporter.h"
#include "runtime/run/torch_models.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {
namespace {

/// Keeps freed tensor memory for the next tensors of a micro-batch. By default the allocator returns each large block
/// to the kernel, and its pages must be faulted in again. Must precede the first tensor.
void keep_freed_memory() {
#ifdef __GLIBC__
  // Largest value that glibc accepts. Larger blocks are mapped separately and returned immediately.
  constexpr int max_in_heap = 32 << 20;
  constexpr int max_kept = 512 << 20;
  mallopt(M_MMAP_THRESHOLD, max_in_heap);
  mallopt(M_TRIM_THRESHOLD, max_kept);
#endif
}

/// Connections between the ranks of a run.
struct RankConnections {
  std::unique_ptr<transport::Transport> transport;
  std::unique_ptr<transport::Collectives> collectives;  ///< must not outlive `transport`
};

/// Connects this rank, which computes on `device`, to all others. With NCCL, returns an Error if another rank uses this
/// GPU. REQUIRES: check_nccl() if `carrier` is NCCL.
base::Result<RankConnections> connect_ranks(const RankSession& session, transport::CarrierKind carrier,
                                            transport::CollectiveKind sums, const at::Device& device,
                                            transport::Deadline deadline) {
  RankConnections connections;
  DOVETAIL_TRY(connections.transport, connect_gloo(session.place, session.store, session.monitor, deadline));
  ConnectDevices by_nccl;
  if (carrier == transport::CarrierKind::nccl) {
    DOVETAIL_CHECK(claim_gpu(session.place, session.store, device));
    by_nccl = connect_by_nccl(session.place, session.store, session.monitor, device);
    connections.transport = make_device_transport(std::move(connections.transport), by_nccl, &session.monitor);
  }
  if (sums == transport::CollectiveKind::ordered)
    connections.collectives = std::make_unique<transport::OrderedCollectives>(*connections.transport);
  else if (by_nccl)
    connections.collectives = make_device_collectives(*connections.transport, by_nccl);
  else
    connections.collectives = make_gloo_collectives(session.place, session.store, *connections.transport);
  return connections;
}

namespace fs = std::filesystem;
using base::Result;
using base::Status;

/// Returns an Error if the run has passed its first checkpoint but has no checkpoint left: starting over would lose the
/// rows of its iterations.
Status check_restart(const RunArguments& arguments, std::int64_t every) {
  const fs::path path = fs::path(arguments.output) / records::metrics_file_name;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  DOVETAIL_TRY(const records::MetricTable rows, records::read_metrics(path.string()));
  // The row of an iteration is written before its checkpoint.
  if (every == 0 || rows.rows() <= every) return {};
  return base::Error{
      base::Failure::bad_input, arguments.output, 0, 0,
      fmt::format(
          "{} iterations are done, but no checkpoint is left to resume; use another folder, or remove {} from this one",
          rows.rows(), records::metrics_file_name)};
}

/// Returns the checkpoint to continue from, or nullopt if the run starts from the beginning.
Result<std::optional<records::OpenedCheckpoint>> find_checkpoint(const RunArguments& arguments,
                                                                 const control::RunSettings& settings,
                                                                 const records::CheckpointPlace& place) {
  if (!arguments.resume) return std::optional<records::OpenedCheckpoint>();
  DOVETAIL_TRY(std::optional<records::OpenedCheckpoint> checkpoint,
               records::open_newest(place, [](const std::string& text) { cli::print_warning(text); }));
  if (checkpoint) return checkpoint;
  DOVETAIL_CHECK(check_restart(arguments, settings.checkpoint.every));
  cli::print_note("there is no checkpoint yet; the run starts from the beginning");
  return checkpoint;
}

/// Returns the initial state, with the models loaded: from the newest checkpoint if the run is resumed, otherwise the
/// first state. `rank_exchange` is null for a single rank; otherwise all ranks continue from rank 0's checkpoint.
/// Returns an Error if rows without a checkpoint would be lost.
Result<control::RunState> initial_state_of(const RunArguments& arguments, const control::RunSettings& settings,
                                           const records::CheckpointPlace& place, control::RankExchange* rank_exchange,
                                           control::Models& models) {
  std::optional<records::OpenedCheckpoint> found;
  if (rank_exchange == nullptr || rank_exchange->rank() == 0) {
    DOVETAIL_TRY(found, find_checkpoint(arguments, settings, place));
  }
  std::string folder = found ? found->folder : "";
  if (rank_exchange != nullptr) {
    DOVETAIL_TRY(folder, rank_exchange->broadcast(folder));
    DOVETAIL_TRY(const std::string state, rank_exchange->broadcast(found ? control::state_to_json(found->state) : ""));
    if (!folder.empty() && !found) {
      DOVETAIL_TRY(control::RunState received, control::parse_state(state, folder));
      found = records::OpenedCheckpoint{folder, std::move(received)};
    }
  }
  if (!found) return control::initial_state(settings);
  DOVETAIL_CHECK(models.load(folder));
  return std::move(found->state);
}

/// Returns the fingerprint that `--resume` checks: everything that affects the numbers except the device count.
Result<std::string> run_hash(const control::RunJob& run) {
  DOVETAIL_TRY(const std::string inputs, control::hash_of_inputs(run.settings));
  plan::Job job = run.job;
  job.cluster.groups.resize(1);
  job.cluster.groups.front().nodes = 1;
  job.cluster.groups.front().devices_per_node = 1;
  return base::sha256_hex(plan::job_hash(job) + control::hash_of(run.settings) + inputs);
}

Result<plan::Plan> read_plan_file(const std::string& path, const plan::Job& job) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  return plan::parse_plan(content, path, job);
}

std::optional<std::size_t> train_task_of(const plan::Job& job, const std::string& role) {
  const auto id = workflow::find_role(job.workflow, role);
  const auto task = job.workflow.trained_by[id->index()];
  return task ? std::optional(task->index()) : std::nullopt;
}

std::vector<RoleSetup> setups_of(std::vector<control::RunModel> models, const control::RunJob& run,
                                 const plan::Plan& plan, bool reports) {
  std::vector<RoleSetup> setups;
  for (control::RunModel& model : models) {
    const auto id = static_cast<std::uint64_t>(workflow::find_role(run.job.workflow, model.role)->value);
    if (reports && !model.checkpoint && model.like.empty())
      cli::print_note(fmt::format("{} starts with random weights", model.role));
    const auto task = train_task_of(run.job, model.role);
    setups.push_back({.name = std::move(model.role),
                      .shape = std::move(model.shape),
                      .computation = std::move(model.computation),
                      .checkpoint = std::move(model.checkpoint),
                      .like = std::move(model.like),
                      .folder = std::move(model.folder),
                      .seed = base::scatter(run.settings.seed) ^ id,
                      .trained = model.trained,
                      .recomputation = task ? plan.tasks[*task].layout.recomputation : llm::Recomputation::none});
  }
  return setups;
}

/// Returns the memory available for the KV cache of a generation: the engine's share of memory less the weights of all
/// models.
std::int64_t cache_bytes_of(const control::RunJob& run, const plan::Plan& plan) {
  double bytes = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    if (run.job.workflow.tasks[i].kind == workflow::TaskKind::generate)
      bytes = static_cast<double>(run.job.cluster.groups.front().gpu.usable_memory) *
              plan.tasks[i].engine.memory_utilization;
  for (const llm::Transformer& model : run.job.models)
    bytes -= static_cast<double>(llm::count_parameters(model).all) * sizeof(float);
  return static_cast<std::int64_t>(std::max(0.0, bytes));
}

Status write_if_missing(const fs::path& file, const Result<std::string>& content) {
  std::error_code error;
  if (fs::exists(file, error)) return {};
  if (!content.ok()) return content.error();
  return base::write_file(file.string(), *content);
}

/// Writes job and plan into the run directory unless they are there.
Status write_inputs(const RunArguments& arguments, const control::RunJob& run) {
  const fs::path folder = arguments.output;
  DOVETAIL_CHECK(write_if_missing(folder / control::plan_file_name, base::read_file(arguments.plan)));
  const fs::path job = folder / control::job_file_name;
  const Result<std::string> seen = plan::job_seen_from(run.text, run.path, arguments.output);
  // `--ranks` changes the job, so an existing file is overwritten.
  if (arguments.ranks && seen.ok()) return base::write_file(job.string(), *seen);
  return write_if_missing(job, seen);
}

Status export_trained(const RunArguments& arguments, const control::RunJob& run, const control::Models& models) {
  const workflow::Workflow& workflow = run.job.workflow;
  for (std::size_t i = 0; i < workflow.roles.size(); ++i)
    if (workflow.trained_by[i])
      DOVETAIL_CHECK(models.export_role(workflow.roles[i].name,
                                        (fs::path(arguments.output) / "export" / workflow.roles[i].name).string()));
  return {};
}

/// Returns the maximum of TaskMemory::needed over the tasks of the plan; nullopt if it cannot be predicted.
std::optional<std::int64_t> predicted_memory(const RunArguments& arguments, const control::RunJob& run) {
  const auto predicted = answer::predict_plan({run.path, run.text}, answer::Input{arguments.plan}, true, {});
  if (!predicted.ok()) return std::nullopt;
  std::int64_t bytes = 0;
  for (const predict::TaskMemory& memory : predicted->estimate.memory) bytes = std::max(bytes, memory.needed());
  return bytes;
}

/// Rank that computes a run, alone or with others.
struct RunRank {
  const parallel::Cancellation& cancellation;
  control::RankExchange* rank_exchange = nullptr;  ///< null if alone
  transport::Collectives* collectives = nullptr;   ///< null if alone
  at::Device device = at::kCPU;

  bool reports() const { return rank_exchange == nullptr || rank_exchange->rank() == 0; }
};

/// Inputs of a run, read before it starts.
struct OpenedRun {
  const control::RunJob& run;
  const plan::Plan& plan;
  const predict::Scenario& scenario;
  control::ModelLimits limits;
  control::RunInputs inputs;
};

/// Models of this rank.
struct MadeModels {
  std::unique_ptr<control::Models> models;
  RankModels* of_ranks = nullptr;  ///< same object if there are several ranks, otherwise null
};

/// Converts a GPU failure into an Error. An exception of libtorch on the CPU is a bug.
Status unless_gpu_fails(const RunRank& rank, const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    if (rank.device.is_cpu()) throw;
    return base::Error{
        base::Failure::lost, "", 0, 0,
        fmt::format("rank {} is lost: its GPU failed: {}", rank.rank_exchange->rank(), reason_of(error))};
  }
}

/// Updates `account`, which must outlive the models.
Result<MadeModels> make_models(std::vector<RoleSetup> setups, const OpenedRun& opened, const RunRank& rank,
                               MemoryAccount& account) {
  const std::int64_t cache_bytes = cache_bytes_of(opened.run, opened.plan);
  if (rank.rank_exchange == nullptr) {
    auto models = std::make_unique<TorchModels>(std::move(setups), cache_bytes, Stepping::here, rank.device);
    models->add_held(account);
    return MadeModels{std::move(models), nullptr};
  }
  const execute::Guard guard = [&](const std::function<Status()>& work) {
    return unless_gpu_fails(rank, [&] { return within_memory(account, opened.run.job.workflow, work); });
  };
  DOVETAIL_TRY(auto models, RankModels::make(std::move(setups), cache_bytes, opened.scenario, opened.plan,
                                             {*rank.rank_exchange, *rank.collectives, rank.device, guard}));
  models->add_held(account);
  RankModels* const of_ranks = models.get();
  return MadeModels{std::move(models), of_ranks};
}

/// Writes the schedule of fused train tasks into the run directory. Without fused tasks or ranks, removes the schedule
/// and measurements of an earlier run.
Status write_schedule(const std::string& folder, RankModels* models) {
  const fs::path file = fs::path(folder) / "schedule.json";
  std::optional<pipeline::Schedule> fused;
  if (models != nullptr) {
    DOVETAIL_TRY(fused, models->fused_schedule());
  } else {
    DOVETAIL_CHECK(records::remove_training_phases(folder));
  }
  if (fused) return base::write_file(file.string(), pipeline::schedule_to_json(*fused));
  std::error_code error;
  fs::remove(file, error);
  if (error) return base::Error{base::Failure::io, file.string(), 0, 0, "cannot be removed: " + error.message()};
  return {};
}

/// Writes the results of a run that has ended into its directory.
Status write_results(const std::string& folder, RankModels* models) {
  DOVETAIL_CHECK(write_schedule(folder, models));
  if (models != nullptr)
    if (const auto phases = models->measured_phases(); !phases.empty())
      DOVETAIL_CHECK(records::write_training_phases(folder, phases));
  return cli::write_run_results(folder);
}

/// Returns the reward command on one rank, whose rewards all ranks use.
control::RewardFunction reward_function_of(control::RewardProcesses* rewards, const RunRank& rank) {
  const control::RewardFunction own = [rewards](std::span<const control::Response> responses,
                                                const parallel::Cancellation* cancellation) {
    return rewards->rewards_of(responses, cancellation);
  };
  return rank.rank_exchange == nullptr ? own : control::shared_reward_function(own, *rank.rank_exchange);
}

/// Runs the job and writes the run directory.
Status run_and_report(const RunArguments& arguments, const control::RunSetup& setup, const OpenedRun& opened,
                      const RunRank& rank, const records::CheckpointPlace& place, const MadeModels& made,
                      control::RunState& state, MemoryAccount& account) {
  control::Models& models = *made.models;
  DOVETAIL_CHECK(write_inputs(arguments, opened.run));
  DOVETAIL_CHECK(write_schedule(arguments.output, made.of_ranks));
  DOVETAIL_TRY(records::RunFolder folder,
               records::RunFolder::open(arguments.output, state.iterations, state.is_to_be_evaluated));
  RunReporter reporter(folder, place, models, setup, account);
  if (state.iterations >= setup.iterations)
    cli::print_note(fmt::format(
        "nothing to train: {} iterations are done, and the run ends after {}; to continue, raise --iterations",
        state.iterations, setup.iterations));
  const Status ended = control::run(setup, models, reporter.sink(), state,
                                    rank.rank_exchange == nullptr ? &rank.cancellation : &rank.rank_exchange->agreed());
  begin_phase(account, setup.iterations, "the end");
  if (ended.ok()) DOVETAIL_CHECK(export_trained(arguments, opened.run, models));
  const Status written = write_results(arguments.output, made.of_ranks);
  if (!written.ok()) cli::print_warning("cannot write the run's report: " + base::to_text(written.error()));
  if (!ended.ok()) return ended;
  const std::string report = written.ok() ? arguments.output + "/report.html; " : "";
  cli::print_error(fmt::format("done: {}trained models in {}/export\n", report, arguments.output));
  return {};
}

/// Reads the models and trains. Keeps `account` up to date.
Status train(const RunArguments& arguments, control::RunJob& run, const plan::Plan& plan,
             const predict::Scenario& scenario, const RunRank& rank, MemoryAccount& account) {
  DOVETAIL_TRY(std::vector<control::RunModel> models_read, control::open_models(run));
  const control::ModelLimits limits = control::limits_of(models_read);
  DOVETAIL_TRY(control::RunInputs inputs, control::read_inputs(run.settings, run.job.workflow.name, limits,
                                                               run.job.workload.response_length.longest()));
  if (arguments.iterations) {
    run.settings.iterations = arguments.iterations;
    run.settings.epochs.reset();
  }
  const OpenedRun opened{run, plan, scenario, limits, std::move(inputs)};
  DOVETAIL_TRY(const MadeModels made,
               make_models(setups_of(std::move(models_read), run, plan, rank.reports()), opened, rank, account));
  DOVETAIL_TRY(const std::string hash, run_hash(run));
  const records::CheckpointPlace place{(fs::path(arguments.output) / "checkpoints").string(), hash,
                                       run.settings.checkpoint.keep};
  std::optional<records::FolderLock> lock;
  std::optional<control::RewardProcesses> rewards;
  if (rank.reports()) {
    DOVETAIL_TRY(lock, records::FolderLock::take(arguments.output));
    if (run.settings.reward) {
      DOVETAIL_TRY(rewards, control::RewardProcesses::start(*run.settings.reward, run.settings.folder));
    }
  }
  DOVETAIL_TRY(control::RunState state,
               initial_state_of(arguments, run.settings, place, rank.rank_exchange, *made.models));
  const control::RunSetup setup{.job = run.job,
                                .plan = plan,
                                .settings = run.settings,
                                .inputs = opened.inputs,
                                .iterations = control::iterations_of(run.settings, run.job, opened.inputs),
                                .context = limits.context,
                                .reward_function = reward_function_of(rewards ? &*rewards : nullptr, rank)};
  if (rank.reports()) return run_and_report(arguments, setup, opened, rank, place, made, state, account);
  const Status ended =
      control::run(setup, *made.models, silent_sink(*made.models, account), state, &rank.rank_exchange->agreed());
  begin_phase(account, setup.iterations, "the end");
  return ended;
}

transport::CarrierKind carrier_of(const RunArguments& arguments) {
  if (arguments.carrier) return *arguments.carrier;
  return arguments.device == "cuda" ? transport::CarrierKind::nccl : transport::CarrierKind::gloo;
}

transport::CollectiveKind collectives_of(const RunArguments& arguments) {
  if (arguments.deterministic) return transport::CollectiveKind::ordered;
  return arguments.collectives.value_or(transport::default_collectives(carrier_of(arguments)));
}

/// Returns an Error if the compute device or the carrier of messages is not available.
Status check_carrier(const RunArguments& arguments, int ranks) {
  if (arguments.deterministic && arguments.collectives == transport::CollectiveKind::native)
    return base::bad_input("--deterministic requires --collectives ordered");
  DOVETAIL_CHECK(check_device(arguments.device));
  if (ranks == 1 || carrier_of(arguments) != transport::CarrierKind::nccl) return {};
  return arguments.device == "cuda" ? check_nccl() : answer::nccl_without_gpus();
}

/// Job with its plan.
struct PlannedRun {
  control::RunJob run;
  plan::Plan plan;
};

Result<PlannedRun> read_planned_run(const RunArguments& arguments, int ranks) {
  DOVETAIL_TRY(control::RunJob run, control::read_run_job(arguments.job, arguments.ranks));
  DOVETAIL_TRY(plan::Plan plan, read_plan_file(arguments.plan, run.job));
  const int devices = cluster::device_count(run.job.cluster);
  if (devices != ranks)
    return base::bad_input(fmt::format("the plan is for {}, but it is run by {}; start one rank per device",
                                       answer::counted(devices, "device"), answer::counted(ranks, "rank")));
  return PlannedRun{std::move(run), std::move(plan)};
}

Status run_on(const RunArguments& arguments, const RunRank& rank, MemoryAccount& account) {
  const c10::InferenceMode no_autograd;
  const int threads = arguments.deterministic ? 1 : arguments.threads;
  keep_freed_memory();
  count_memory();
  use_threads(threads);
  if (arguments.deterministic) compute_deterministically();
  DOVETAIL_TRY(PlannedRun planned,
               read_planned_run(arguments, rank.rank_exchange == nullptr ? 1 : rank.rank_exchange->ranks()));
  control::RunJob& run = planned.run;
  DOVETAIL_TRY(const predict::Scenario scenario, answer::scenario_for(run.job, {run.path, run.text}));
  account.predicted = predicted_memory(arguments, run);
  if (account.on_phase) account.on_phase(account);
  return within_memory(account, run.job.workflow, [&] {
    reserve_product_buffers(threads);
    return train(arguments, run, planned.plan, scenario, rank, account);
  });
}

}  // namespace

Status run_training(const RunArguments& arguments) {
  MemoryAccount account;
  RunRank alone{.cancellation = cli::stop_on_interrupt_apart()};
  constexpr int one = 1;
  DOVETAIL_CHECK(check_carrier(arguments, one));
  DOVETAIL_TRY(alone.device, find_device(arguments.device));
  return run_on(arguments, alone, account);
}

Status check_ranks(const RunArguments& arguments, int ranks) {
  DOVETAIL_CHECK(check_carrier(arguments, ranks));
  const auto planned = read_planned_run(arguments, ranks);
  return planned.ok() ? Status() : planned.error();
}

Status run_training_rank(const RunArguments& arguments, RankSession& session) {
  const parallel::Cancellation& cancellation = cli::stop_on_interrupt_apart();
  const transport::CarrierKind carrier = carrier_of(arguments);
  if (carrier == transport::CarrierKind::nccl) set_up_nccl();
  DOVETAIL_CHECK(check_carrier(arguments, session.place.ranks));
  DOVETAIL_TRY(const at::Device device, find_device(arguments.device, session.place.local_rank));
  DOVETAIL_TRY(const RankConnections connections, connect_ranks(session, carrier, collectives_of(arguments), device,
                                                                transport::Clock::now() + arguments.timeout));
  MemoryAccount account;
  account.on_phase = [&monitor = session.monitor](const MemoryAccount& now) {
    monitor.note({phase_text(now), now.predicted});
  };
  control::RankExchange rank_exchange(
      *connections.transport, &cancellation, arguments.timeout,
      [&account](std::string_view phase) { begin_phase(account, account.iteration, phase); });
  return run_on(arguments,
                {.cancellation = cancellation,
                 .rank_exchange = &rank_exchange,
                 .collectives = connections.collectives.get(),
                 .device = device},
                account);
}

}  // namespace dovetail::runtime
