// Shows how a training framework gets a schedule from Dovetail: it describes its pipelines, searches for a few seconds,
// gives each rank its actions, and saves the file. Usage: embed [SECONDS [FILE]]
#include <dovetail/base/file.h>
#include <dovetail/fuse/solve.h>
#include <dovetail/parallel/for_each_index.h>
#include <dovetail/pipeline/formats/schedule_file.h>
#include <dovetail/pipeline/problem/problem.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace base = dovetail::base;
namespace fuse = dovetail::fuse;
namespace pipeline = dovetail::pipeline;

namespace {

dovetail::parallel::Cancellation cancellation;

constexpr base::Ticks milliseconds(std::int64_t count) {
  return base::Ticks(count * 1'000'000);
}  // times are integers in nanoseconds
constexpr base::Memory tenths_of_gib(std::int64_t count) {
  return base::Memory(count * 100'000);
}  // memory is in millionths, here of a GiB

/// An actor and a critic on the same four devices, in opposite directions. Omitted members have the defaults of a
/// problem file: no transfer delays, no optimizer steps, one value for all stages.
pipeline::Problem actor_and_critic() {
  pipeline::Problem problem;
  problem.time_unit = base::TimeUnit::ms;
  problem.devices = 4;
  problem.capacity.emplace(4, tenths_of_gib(160));

  pipeline::Model& actor = problem.models.emplace_back();
  actor.name = "actor";
  actor.microbatches = 8;
  actor.replicas = {pipeline::device_list({0, 1, 2, 3})};
  actor.forward = {milliseconds(30), milliseconds(30), milliseconds(30),
                   milliseconds(36)};  // the last stage has the LM head
  actor.backward = {milliseconds(60), milliseconds(60), milliseconds(60), milliseconds(72)};
  actor.activation = {tenths_of_gib(20)};

  pipeline::Model& critic = problem.models.emplace_back();
  critic.name = "critic";
  critic.microbatches = 8;
  critic.replicas = {pipeline::device_list({3, 2, 1, 0})};
  critic.forward = {milliseconds(20)};
  critic.backward = {milliseconds(40)};
  critic.activation = {tenths_of_gib(10)};
  return pipeline::with_defaults(problem);
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::signal(SIGINT, [](int) { cancellation.request(); });  // Ctrl-C: return the best so far

  fuse::SolveOptions options;
  options.time_limit_seconds = argument_count > 1 ? std::atof(arguments[1]) : 5;
  options.threads = dovetail::parallel::default_thread_count();
  options.cancellation = &cancellation;
  options.on_progress = [](const fuse::Progress& progress) {
    std::fprintf(stderr, "best so far: %s ms, %s GiB\n",
                 base::format_time(progress.makespan, base::TimeUnit::ms).c_str(),
                 base::format_memory(progress.peak_activation).c_str());
  };

  const auto solved = fuse::solve(actor_and_critic(), "auto", options);
  if (!solved.ok()) {
    std::fprintf(stderr, "%s\n", to_text(solved.error()).c_str());
    return EXIT_FAILURE;
  }

  const pipeline::Schedule& schedule = solved->schedule;
  const pipeline::Evaluation& costs = solved->solution.evaluation;
  std::printf("makespan %s ms, at least %s; peak activation %s GiB\n",
              base::format_time(costs.makespan, base::TimeUnit::ms).c_str(),
              base::format_time(solved->bounds.makespan, base::TimeUnit::ms).c_str(),
              base::format_memory(costs.peak_activation).c_str());
  for (std::size_t rank = 0; rank < schedule.devices.size(); ++rank) {
    std::printf("rank %zu:", rank);
    for (const pipeline::ScheduledOp& op : schedule.devices[rank])  // in the rank's execution order
      std::printf(" %s:%s", schedule.problem.models[op.label.model.index()].name.c_str(),
                  pipeline::short_name(op.label).c_str());
    std::printf("\n");
  }

  const std::string path = argument_count > 2 ? arguments[2] : "schedule.json";
  const base::Status written = base::write_file(path, pipeline::schedule_to_json(schedule));
  if (!written.ok()) std::fprintf(stderr, "%s\n", to_text(written.error()).c_str());
  return written.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
