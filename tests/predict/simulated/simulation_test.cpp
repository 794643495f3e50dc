#include "predict/simulated/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fuse/solve.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/working_memory.h"
#include "simulate/trace.h"
#include "support/jobs.h"
#include "support/spaces.h"
#include "workflow/workflow.h"

namespace dovetail::predict {
namespace {

using simulate::BarKind;

/// A job with its scenario.
struct Case {
  explicit Case(plan::Job of) : job(std::move(of)), scenario(scenario_of(job, software_of(job).value())) {}
  Case(const Case&) = delete;

  Simulation simulate(const plan::Plan& plan, SimulationOptions options = {}) const {
    return Simulator(scenario, std::move(options)).simulate(plan).value();
  }
  std::size_t task(std::string_view name) const { return workflow::find_task(job.workflow, name)->index(); }

  plan::Job job;
  Scenario scenario;
};

double seconds_of(const plan::ActivityTime& time) { return base::seconds_of_ticks(time.end - time.begin); }

constexpr double whole_ns = 2e-8;  // max error in seconds of rounding each op to integer ns

/// Checks that all devices work or wait for a reason, and hold no more than the closed-form account.
void expect_sound(const Case& of, const Simulation& simulation) {
  const simulate::Trace& trace = simulation.iteration.trace;
  EXPECT_EQ(simulate::find_fault(trace), std::nullopt);
  std::size_t devices = 0;
  std::int64_t most = 0;
  for (const TaskMemory& memory : simulation.closed.memory) most = std::max(most, memory.needed());
  for (const simulate::Lane& lane : trace.lanes) {
    devices += lane.devices.size();
    const std::vector<simulate::Use> uses = simulate::uses_of(lane);
    EXPECT_EQ(simulate::busy_time(uses) + simulate::idle_time(uses), trace.end);
    EXPECT_LE(simulate::peak_of(lane).second, most);
  }
  EXPECT_EQ(devices, static_cast<std::size_t>(cluster::device_count(of.job.cluster)));
}

TEST(Simulation, AgreesWithTheClosedFormForEqualLengths) {
  const Case of(test::grpo_job());
  const Simulation simulation = of.simulate(test::co_located(of.job));
  expect_sound(of, simulation);
  EXPECT_TRUE(simulation.iteration.steady);
  for (std::size_t activity = 0; activity < simulation.closed.graph.activities.size(); ++activity) {
    const bool generates =
        simulation.closed.graph.activities[activity].kind == plan::Activity::Kind::task &&
        of.job.workflow.tasks[simulation.closed.graph.activities[activity].task].kind == workflow::TaskKind::generate;
    // For generation, the closed form uses averages.
    const double tolerance = generates ? 0.02 * simulation.closed.activities[activity].seconds : 100 * whole_ns;
    EXPECT_NEAR(seconds_of(simulation.iteration.activities[activity]), simulation.closed.activities[activity].seconds,
                tolerance)
        << activity;
  }
  EXPECT_NEAR(simulation.iteration_seconds, simulation.closed.iteration_seconds,
              0.02 * simulation.closed.iteration_seconds);
}

/// PPO with separate devices for each role. A trainer that waits for each call leaves most of them idle.
plan::Job pools_job(const std::string& software, int steps) {
  return plan::parse_job(
             "format: dovetail/job@1\nname: pools\nalgorithm: {name: ppo, reward: rule}\nsoftware: " + software +
                 "\nmodels: {actor: qwen3-1.7b, critic: qwen3-1.7b}\nworkload: {prompts: 32, "
                 "samples_per_prompt: 4, mini_batches: 2, prompt_length: 2048, response_length: 256, "
                 "steps_off_policy: " +
                 std::to_string(steps) + "}\ncluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
             "pools.yaml")
      .value();
}

plan::Plan pools_plan(const plan::Job& job) {
  const std::string cut = ", layout: {dp: 2, zero: 3}, micro_batch: {tokens: 4096}}\n";
  return plan::parse_plan(
             "format: dovetail/plan@1\ntasks:\n"
             "  - {task: actor_generate, devices: 6-7, layout: {dp: 2}}\n"
             "  - {task: actor_train, devices: 0-1" +
                 cut + "  - {task: critic_infer, devices: 2-3" + cut + "  - {task: critic_train, devices: 2-3" + cut +
                 "  - {task: reference_infer, devices: 4-5" + cut,
             "plan.yaml", job)
      .value();
}

/// The simulation waits for the same tasks as the closed form. In the trainer's own order, the iteration is the sum of
/// its calls.
TEST(Simulation, KeepsTheOrderOfTheFramework) {
  for (const int steps : {0, 1}) {
    const Case of(pools_job("{framework: areal}", steps));
    const Simulation simulated = of.simulate(pools_plan(of.job));
    EXPECT_NEAR(simulated.iteration_seconds, simulated.closed.iteration_seconds,
                0.02 * simulated.closed.iteration_seconds);
    double calls = 0;
    for (const char* const name : {"critic_infer", "reference_infer", "actor_train", "critic_train"})
      calls += seconds_of(simulated.iteration.activities[of.task(name)]);
    const double generation = seconds_of(simulated.iteration.activities[of.task("actor_generate")]);
    EXPECT_GE(simulated.iteration_seconds, steps == 0 ? generation + calls : std::max(generation, calls));
    const auto& times = simulated.iteration.activities;
    EXPECT_GE(times[of.task("reference_infer")].begin, times[of.task("critic_infer")].end);
    EXPECT_GE(times[of.task("critic_train")].begin, times[of.task("actor_train")].end);
    const Case ideal(pools_job("{training: fsdp2}", steps));
    EXPECT_LT(ideal.simulate(pools_plan(ideal.job)).iteration_seconds, 0.98 * simulated.iteration_seconds) << steps;
  }
}

plan::Job prefetching(plan::Job job) {
  job.software.prefetch = true;
  return job;
}

/// If host transfers overlap with other tasks, a device may hold what fits in its memory.
void expect_sound_within(const Case& of, const Simulation& simulation) {
  EXPECT_EQ(simulate::find_fault(simulation.iteration.trace), std::nullopt);
  for (const simulate::Lane& lane : simulation.iteration.trace.lanes) {
    const std::vector<simulate::Use> uses = simulate::uses_of(lane);
    EXPECT_EQ(simulate::busy_time(uses) + simulate::idle_time(uses), simulation.iteration.trace.end);
    EXPECT_LE(simulate::peak_of(lane).second,
              cluster::gpu_of(of.job.cluster, base::DeviceId(lane.devices.front())).usable_memory);
  }
}

TEST(Simulation, PrefetchesAsTheClosedFormDoes) {
  // Host links at full speed, and so slow that the iteration is as long as a load and its pass.
  for (const double slower : {1.0, 1000.0}) {
    plan::Job job = prefetching(test::grpo_job());
    job.cluster.groups[0].gpu.host_bandwidth /= slower;
    const Case of(job);
    const std::string swaps = slower > 1 ? "" : R"(, "offload": ["optimizer"])";
    const plan::Plan plan = test::co_located(of.job, swaps, R"(, "offload": ["weights"])");
    const Simulation simulation = of.simulate(plan);
    expect_sound_within(of, simulation);
    int transfers = 0;
    for (std::size_t activity = 0; activity < simulation.closed.graph.activities.size(); ++activity) {
      if (!plan::is_host_transfer(simulation.closed.graph.activities[activity])) continue;
      ++transfers;
      EXPECT_NEAR(seconds_of(simulation.iteration.activities[activity]), simulation.closed.activities[activity].seconds,
                  whole_ns);
    }
    EXPECT_EQ(transfers, slower > 1 ? 1 : 3);
    const std::vector<simulate::Use> uses = simulate::uses_of(simulation.iteration.trace);
    EXPECT_EQ(simulate::time_of(uses, BarKind::loading), base::Ticks(0)) << "devices work meanwhile";
    EXPECT_EQ(simulate::time_of(uses, BarKind::transfer) > base::Ticks(0), slower > 1)
        << "except transfers that nothing hides";
    // Generation differs.
    const std::size_t generate = of.task("actor_generate");
    const double generation = slower > 1 ? 0
                                         : seconds_of(simulation.iteration.activities[generate]) -
                                               simulation.closed.activities[generate].seconds;
    EXPECT_NEAR(simulation.iteration_seconds - simulation.closed.iteration_seconds, generation, 100 * whole_ns);
  }
}

TEST(Simulation, PrefetchingStaysWithinAnyMemory) {
  const plan::Job plain = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  const plan::Plan plan = [&] {
    plan::Plan made = test::pipelined_on_16(plain);
    for (plan::TaskPlan& planned : made.tasks) planned.offload.optimizer = planned.offload.gradients = true;
    return made;
  }();
  std::int64_t needed = 0;
  for (const TaskMemory& memory : estimate(scenario_of(plain, software_of(plain).value()), plan).memory)
    needed = std::max(needed, memory.needed());
  double least = 0;
  double most = 0;
  for (std::int64_t headroom = 0; headroom <= 16; ++headroom) {
    plan::Job job = prefetching(plain);
    for (cluster::NodeGroup& group : job.cluster.groups) group.gpu.usable_memory = needed + (headroom << 28);
    const Case of(job);
    const Simulation simulation = of.simulate(plan);
    expect_sound_within(of, simulation);
    (headroom == 0 ? most : least) = simulation.closed.iteration_seconds;
  }
  EXPECT_LT(least, most) << "more memory hides more";
}

RC_GTEST_PROP(Simulation, PrefetchingNeverHoldsMoreThanDevicesHave, ()) {
  static const test::Place place(
      test::small_job("ppo", "actor: qwen3-4b, reward: qwen3-1.7b", "nodes: 2, gpus_per_node: 8, gpu: H100"));
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const bool together = *rc::gen::arbitrary<bool>();
  plan::Plan plan = planner::plan_of(
      place.space,
      together ? test::random_co_located_selection(place.space, random) : test::random_selection(place.space, random),
      "custom");
  for (plan::TaskPlan& planned : plan.tasks) {
    planned.offload.weights = *rc::gen::arbitrary<bool>();
    planned.offload.optimizer = *rc::gen::arbitrary<bool>();
  }
  plan::Job job = prefetching(place.job);
  std::int64_t needed = 0;
  for (const TaskMemory& memory : task_memory(place.scenario, plan)) needed = std::max(needed, memory.needed());
  const std::int64_t usable = needed + *rc::gen::inRange<std::int64_t>(0, std::int64_t{8} << 30);
  for (cluster::NodeGroup& group : job.cluster.groups) group.gpu.usable_memory = usable;
  for (cluster::NodeGroup& group : job.cluster.groups) group.gpu.host_bandwidth /= *rc::gen::element(1.0, 30.0);
  const Case of(job);
  const auto simulation = Simulator(of.scenario, {}).simulate(plan);
  RC_PRE(simulation.ok());
  RC_CLASSIFY(simulation->closed.graph.activities.size() > iteration_graph(job, plan).activities.size(), "some apart");
  const simulate::Trace& trace = simulation->iteration.trace;
  RC_ASSERT(simulate::find_fault(trace) == std::nullopt);
  for (const simulate::Lane& lane : trace.lanes) {
    const std::vector<simulate::Use> uses = simulate::uses_of(lane);
    RC_ASSERT(simulate::busy_time(uses) + simulate::idle_time(uses) == trace.end);
    RC_ASSERT(simulate::peak_of(lane).second <= usable);
  }
}

RC_GTEST_PROP(Simulation, FusedGenerationNeverHoldsMoreThanItsTasksDo, ()) {
  static const test::Place place(
      test::small_job("ppo", "actor: qwen3-1.7b, reward: qwen3-4b", "nodes: 1, gpus_per_node: 8, gpu: H100"));
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  plan::Plan plan = planner::plan_of(place.space, test::random_co_located_selection(place.space, random), "custom");
  for (plan::TaskPlan& planned : plan.tasks) planned.offload.weights = *rc::gen::arbitrary<bool>();
  plan.tasks[0].layout.data = 4;
  plan.tasks[0].layout.tensor = 2;
  plan.tasks[0].layout.pipeline = 1;
  plan.tasks[0].engine.memory_utilization = 0.1;
  plan.fusion.threshold = *rc::gen::element(0.05, 0.2, 0.5);
  RC_PRE(!plan::find_fault(plan, place.job));
  std::int64_t needed = 0;
  for (const TaskMemory& memory : task_memory(place.scenario, plan)) needed = std::max(needed, memory.needed());
  const auto simulation = Simulator(place.scenario, {}).simulate(plan);
  RC_PRE(simulation.ok());
  RC_CLASSIFY(simulation->migrations.front().has_value(), "something migrates");
  for (const simulate::Lane& lane : simulation->iteration.trace.lanes)
    RC_ASSERT(simulate::peak_of(lane).second <= needed);
}

TEST(Simulation, NoWaitingForDataOnSeparateDevicesOffPolicy) {
  const Case on(test::grpo_job());
  const Case off(test::grpo_job(1));
  const Simulation waiting = on.simulate(test::separated(on.job));
  const Simulation ahead = off.simulate(test::separated(off.job));
  expect_sound(on, waiting);
  expect_sound(off, ahead);
  EXPECT_LT(ahead.iteration_seconds, waiting.iteration_seconds);
  EXPECT_NEAR(ahead.iteration_seconds, ahead.closed.iteration_seconds, 0.02 * ahead.closed.iteration_seconds);
  const auto share_of_waiting = [](const Simulation& simulation) {
    const std::vector<simulate::Use> uses = simulate::uses_of(simulation.iteration.trace);
    return static_cast<double>(simulate::time_of(uses, BarKind::dependency).count()) /
           static_cast<double>(simulation.iteration.trace.end.count());
  };
  EXPECT_LT(share_of_waiting(ahead), share_of_waiting(waiting));
}

/// Returns the seconds of the reallocation to the generate task, which uses the trained weights: simulated, and by the
/// closed form.
std::pair<double, double> reallocation_seconds_of(const Case& of, plan::Plan plan) {
  plan.tasks[of.task("actor_generate")].engine.own_weights = false;
  const Simulation simulation = of.simulate(plan);
  expect_sound(of, simulation);
  for (std::size_t activity = of.job.workflow.tasks.size(); activity < simulation.closed.graph.activities.size();
       ++activity)
    if (simulation.closed.graph.activities[activity].task == of.task("actor_generate"))
      return {seconds_of(simulation.iteration.activities[activity]), simulation.closed.activities[activity].seconds};
  return {0, 0};
}

TEST(Simulation, MovesWeightsAsFastAsTheBusiestLink) {
  const Case of(test::grpo_job());
  EXPECT_EQ(reallocation_seconds_of(of, test::co_located(of.job)), std::pair(0.0, 0.0))
      << "the weights are already there";
  // Each device of one half sends its copy to one of the other.
  const auto [apart, closed] = reallocation_seconds_of(of, test::separated(of.job));
  EXPECT_GT(apart, 0);
  EXPECT_NEAR(apart, closed, 0.01 * closed);
  EXPECT_GE(apart, closed - whole_ns);
}

TEST(Simulation, AnEngineThatCopiesItsWeightsMovesThemBothWays) {
  plan::Job job = test::grpo_job();
  plan::Plan plan = test::co_located(job);
  plan.tasks[workflow::find_task(job.workflow, "actor_generate")->index()].offload.weights = true;
  const Case discards(job);
  job.software.engine_sleep = plan::EngineSleep::copies;
  const Case copies(job);
  const std::size_t generate = copies.task("actor_generate");
  const Simulation without = discards.simulate(plan);
  const Simulation with = copies.simulate(plan);
  expect_sound(copies, with);
  const cost::Machine machine =
      cost::machine_of(job.cluster, plan.tasks[generate].mesh, copies.scenario.software.efficiency);
  const double both_ways = 2 * cost::host_seconds(machine, 2.0 * 596'049'920, copies.scenario.software.efficiency);
  EXPECT_NEAR(with.closed.activities[generate].seconds - without.closed.activities[generate].seconds, both_ways, 1e-9);
  EXPECT_NEAR(seconds_of(with.iteration.activities[generate]) - seconds_of(without.iteration.activities[generate]),
              both_ways, whole_ns);
}

plan::Plan pipelined(const Case& of,
                     const std::string& train = R"("layout": {"tp": 2, "pp": 4}, "micro_batch": {"sequences": 2})") {
  const std::string infer = R"("layout": {"dp": 2, "tp": 2, "pp": 2}, "micro_batch": {"sequences": 4})";
  std::string text = R"({"format": "dovetail/plan@1", "tasks": [)";
  for (const workflow::Task& task : of.job.workflow.tasks) {
    if (task.kind == workflow::TaskKind::rule) continue;
    const std::string more = task.kind == workflow::TaskKind::generate ? R"("layout": {"dp": 4, "tp": 2})"
                             : task.kind == workflow::TaskKind::train  ? train
                                                                       : infer;
    text += test::task_text(task.name, "0-7", more) + ",\n";
  }
  text.erase(text.size() - 2);
  return plan::parse_plan(text + "]}", "plan.json", of.job).value();
}

TEST(Simulation, TrainsByTheRealSchedule) {
  const Case of(test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  const plan::Plan plan = pipelined(of);
  const Simulation simulation = of.simulate(plan);
  expect_sound(of, simulation);
  for (const char* name : {"actor_train", "critic_train"}) {
    const std::size_t task = of.task(name);
    const double scheduled = scheduled_training_seconds(of.scenario, {task, plan.tasks[task]}).value();
    EXPECT_NEAR(seconds_of(simulation.iteration.activities[task]),
                scheduled + overhead_seconds(of.scenario, task, plan.tasks[task]).sum(), whole_ns);
  }
  // Each stage works as long as its passes. The rest are bubbles and messages.
  const std::vector<simulate::Use> uses = simulate::uses_of(simulation.iteration.trace);
  EXPECT_GT(simulate::time_of(uses, BarKind::bubble).count(), 0);
  EXPECT_GT(simulate::time_of(uses, BarKind::launch).count(), 0);
}

TEST(Simulation, InferenceAgreesWithTheClosedForm) {
  const Case of(test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  const Simulation simulation = of.simulate(pipelined(of));
  for (const char* name : {"reward_infer", "reference_infer", "critic_infer"}) {
    const std::size_t task = of.task(name);
    // Rounding up to integer micro-batches makes them smaller, so they fill and drain the pipeline faster.
    EXPECT_NEAR(seconds_of(simulation.iteration.activities[task]), simulation.closed.activities[task].seconds,
                0.02 * simulation.closed.activities[task].seconds);
    EXPECT_LE(seconds_of(simulation.iteration.activities[task]), simulation.closed.activities[task].seconds + whole_ns);
  }
}

TEST(Simulation, FusedTrainingIsOneScheduleOfBoth) {
  const Case of(test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  plan::Plan plan = pipelined(of);
  Simulator simulator(of.scenario, {});
  const Simulation apart = simulator.simulate(plan).value();
  plan.fusion.training = plan::train_pair(of.job);
  const Simulation fused = simulator.simulate(plan).value();
  expect_sound(of, fused);
  ASSERT_TRUE(fused.training);
  EXPECT_GE(fused.training->trace.end, fused.training->bound);
  EXPECT_LE(fused.training->trace.end, fused.training->apart);
  EXPECT_LT(fused.iteration_seconds, apart.iteration_seconds);
  // It contains all passes of both.
  const auto work = [](const Simulation& simulation, BarKind bar_kind) {
    return static_cast<double>(simulate::time_of(simulate::uses_of(simulation.iteration.trace), bar_kind).count());
  };
  EXPECT_NEAR(work(fused, BarKind::forward), work(apart, BarKind::forward), 0.01 * work(apart, BarKind::forward));
  EXPECT_NEAR(work(fused, BarKind::backward), work(apart, BarKind::backward), 0.01 * work(apart, BarKind::backward));
}

TEST(Simulation, FusedTrainingAgreesWithTheScheduleCommand) {
  const Case of(test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  plan::Plan plan = pipelined(of);
  plan.fusion.training = plan::train_pair(of.job);
  const auto [first, second] = *plan.fusion.training;
  const pipeline::FusedLayouts fused =
      fused_training_problem(of.scenario, {first, plan.tasks[first]}, {second, plan.tasks[second]}).value();
  fuse::SolveOptions options;
  options.chains = 1;
  options.iterations = FusedSearch{}.iterations;
  const double headroom = static_cast<double>(activation_headroom(of.scenario, plan)) /
                          fullest_over_average(of.scenario, *plan.fusion.training, plan);
  options.memory_cap = base::Memory(static_cast<std::int64_t>(headroom));
  const fuse::Solved scheduled = fuse::solve(fused.problem, "auto", options).value();
  const Simulation simulated = Simulator(of.scenario, {}).simulate(plan).value();
  ASSERT_TRUE(simulated.training);
  EXPECT_EQ(simulated.training->trace.end, scheduled.solution.evaluation.makespan);
  EXPECT_EQ(simulated.training->peak, scheduled.solution.evaluation.peak_activation.count());
  EXPECT_EQ(simulated.training->bound, scheduled.bounds.makespan);
}

TEST(Simulation, FusedGenerationScoresWithinItsActivity) {
  const Case of(test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  plan::Plan plan = pipelined(of);
  plan.fusion.threshold = 0.2;
  const Simulation simulation = of.simulate(plan);
  expect_sound(of, simulation);
  for (const char* name : {"reward_infer", "reference_infer", "critic_infer"}) {
    const plan::ActivityTime& time = simulation.iteration.activities[of.task(name)];
    EXPECT_EQ(time.begin, time.end) << "the work is within generation";
  }
  EXPECT_GT(simulate::time_of(simulate::uses_of(simulation.iteration.trace), BarKind::infer).count(), 0);
}

TEST(Simulation, WithoutMigrationItEqualsTheUnfusedPlan) {
  plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100");
  job.workload.response_length = workflow::LengthDistribution::fixed(512);
  const Case of(std::move(job));
  plan::Plan plan = pipelined(of);
  const Simulation plain = of.simulate(plan);
  plan.fusion.threshold = 0.2;
  const Simulation fused = of.simulate(plan);
  expect_sound(of, fused);
  EXPECT_EQ(fused.draws, plain.draws) << "responses of one length end together";
  const auto sums = [](const Simulation& simulation) {
    std::map<BarKind, base::Ticks> time;
    for (const simulate::Use& use : simulate::uses_of(simulation.iteration.trace)) time[use.bar_kind] += use.time;
    return time;
  };
  EXPECT_EQ(sums(fused), sums(plain));
}

/// Generation and the reference on eight devices, inference by the reward model and the critic on eight others.
plan::Plan inference_elsewhere(const Case& of) {
  plan::Plan plan = test::pipelined_on_16(of.job);
  for (plan::TaskPlan& task : plan.tasks) {
    task.mesh = {0, 8};
    task.layout.data = 8 / task.layout.pipeline;
  }
  for (const char* name : {"reward_infer", "critic_infer", "critic_train"}) plan.tasks[of.task(name)].mesh = {8, 8};
  return plan;
}

TEST(Simulation, InferenceElsewhereWaitsForGenerationOnly) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  const Case drawn(job);
  plan::Plan plan = inference_elsewhere(drawn);
  plan.fusion.threshold = 0.4;
  const Simulation fused = drawn.simulate(plan);
  expect_sound(drawn, fused);
  const plan::ActivityTime& stage = fused.iteration.activities[drawn.task("actor_generate")];
  EXPECT_LT(fused.iteration.activities[drawn.task("reward_infer")].begin, stage.end) << "the reference still scores";
  EXPECT_LT(fused.closed.timing.activities[drawn.task("reward_infer")].begin,
            fused.closed.timing.activities[drawn.task("reference_infer")].end);
  job.workload.response_length = workflow::LengthDistribution::fixed(512);
  const Case equal(std::move(job));
  const Simulation nothing_migrates = equal.simulate(plan);
  plan.fusion.threshold.reset();
  EXPECT_EQ(nothing_migrates.draws, equal.simulate(plan).draws);
}

TEST(Simulation, IsRepeatableAndDependsOnTheSeed) {
  const Case of(test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100"));
  const plan::Plan plan = pipelined(of);
  SimulationOptions options;
  options.draws = 3;
  const Simulation once = of.simulate(plan, options);
  EXPECT_EQ(once.draws, of.simulate(plan, options).draws);
  EXPECT_EQ(once.draws.size(), 3U);
  EXPECT_NE(once.draws[0], once.draws[1]);
  options.seed = 2;
  EXPECT_NE(once.draws, of.simulate(plan, options).draws);
}

TEST(Simulation, PlansThatFitNeverHoldMoreThanTheirDevicesHave) {
  const plan::Job ppo = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: A100-80");
  for (const plan::Job& job :
       {test::grpo_job(), test::grpo_job(1), ppo, prefetching(ppo), prefetching(test::grpo_job(1))}) {
    const Case of(job);
    const planner::Ranking ranking = planner::rank_plans(of.scenario, test::quick_options()).value();
    ASSERT_FALSE(ranking.plans.empty());
    for (const planner::RankedPlan& ranked : ranking.plans) {
      const Simulation simulation = of.simulate(ranked.plan);
      if (!job.software.prefetch) expect_sound(of, simulation);
      expect_sound_within(of, simulation);
    }
  }
}

}  // namespace
}  // namespace dovetail::predict
