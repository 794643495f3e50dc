// dovetail simulate: a plan played event by event, and where every second of every device goes.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/plan_search.h"
#include "cli/progress_line.h"
#include "cli/schedule_format.h"
#include "cli/simulation_report.h"
#include "place/bound/bound.h"
#include "place/rank/rank.h"
#include "place/simulation/inter_stage.h"
#include "place/space/search_space.h"
#include "plan/plan_file.h"
#include "report/html.h"
#include "report/iteration_page.h"
#include "report/iteration_picture.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  PlanArguments plan;
  PlanSearchArguments search;
  std::string fuse = "as-planned";
  int iterations = static_cast<int>(place::SimulationOptions{}.most_iterations);
  int draws = place::SimulationOptions{}.draws;
  int fused_iterations = static_cast<int>(place::FusedSearch{}.iterations);
  std::optional<std::string> output;
};

/// What is played, and the bound that comes with it where it was searched.
struct Chosen {
  plan::Plan plan;
  std::optional<double> bound;
};

/// What no plan of the job can beat; nothing where there is none at all.
std::optional<double> bound_of(const place::Ground& ground, const place::RankOptions& options) {
  const place::SearchSpace space =
      place::make_search_space(ground, place::search_meshes(ground.job), {options.means}, options.search.threads);
  if (place::impossible_task(space)) return std::nullopt;
  return place::period_bound(space) + ground.software.efficiency.iteration;
}

base::Result<Chosen> choose(const Arguments& arguments, const place::Ground& ground, ProgressLine& line) {
  const plan::Job& job = ground.job;
  DOVETAIL_TRY(const place::RankOptions options, rank_options(arguments.search, job.placements, line));
  if (arguments.plan.plan) {
    DOVETAIL_TRY(const std::string text, base::read_file(*arguments.plan.plan));
    DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(text, base::display_path(*arguments.plan.plan), job));
    if (plan::is_for_another_job(plan, job))
      print_note("the plan was made for another job, or for this one before it was changed; what follows is of this job");
    return Chosen{std::move(plan), bound_of(ground, options)};
  }
  auto ranking = place::rank_plans(ground, options);
  if (!ranking.ok()) {
    base::Error error = std::move(ranking).error();
    if (error.path.empty()) error.path = base::display_path(arguments.plan.job);
    return error;
  }
  if (ranking->plans.empty())
    return base::Error{base::Failure::infeasible, base::display_path(arguments.plan.job), 0, 0,
                       "no plan of this job fits; dovetail fit says what is missing, and --plan plays one that does not"};
  return Chosen{ranking->plans.front().plan, ranking->bound > 0 ? std::optional(ranking->bound) : std::nullopt};
}

/// What of a plan is to be fused, and what is said where it cannot be.
struct Asked {
  const place::Ground& ground;
  const Arguments& arguments;
  plan::Plan& plan;
  std::vector<std::string>& notes;
};

void fuse_training(const Asked& asked) {
  plan::Plan& plan = asked.plan;
  if (plan.fusion.training) return;
  const std::optional<plan::TrainPair> pair = plan::train_pair(asked.ground.job);
  const std::optional<std::string> fault =
      pair ? plan::find_training_fault(asked.ground.job, *pair, plan.tasks[(*pair)[0]], plan.tasks[(*pair)[1]])
           : "no two trainings of different models can run together: there is nothing to fuse with";
  if (fault)
    asked.notes.push_back("training is not fused: " + *fault);
  else
    plan.fusion.training = pair;
}

/// With the threshold that is the best of those simulated.
void fuse_generation(const Asked& asked) {
  plan::Plan& plan = asked.plan;
  if (plan.fusion.threshold) return;
  constexpr double any = 0.5;
  if (const auto fault = plan::find_threshold_fault(any, asked.ground.job, plan.tasks)) {
    asked.notes.push_back("generation is not fused with inference: " + *fault);
    return;
  }
  const simulate::ThresholdChoice choice =
      place::simulated_thresholds(asked.ground, plan, asked.arguments.search.budget.seed, asked.arguments.draws);
  plan.fusion.threshold = choice.points[choice.best].threshold;
  asked.notes.push_back(
      plan.fusion.threshold
          ? fmt::format("generation and inference are fused at {:g}% unfinished samples: {} in place of {}, the best of {} thresholds",
                        *plan.fusion.threshold * 100, seconds_text(static_cast<double>(choice.points[choice.best].value.count()) * 1e-9),
                        seconds_text(static_cast<double>(choice.points.front().value.count()) * 1e-9), choice.points.size() - 1)
          : "generation is not fused with inference: no threshold makes both stages shorter than one after the other");
}

/// Gives the plan the fusion that was asked for; says why where it cannot be.
void fuse_as_asked(const Asked& asked) {
  const std::string& fuse = asked.arguments.fuse;
  if (fuse == "as-planned") return;
  if (fuse == "none" || fuse == "inter") asked.plan.fusion.training = std::nullopt;
  if (fuse == "none" || fuse == "intra") asked.plan.fusion.threshold = std::nullopt;
  if (fuse == "intra" || fuse == "both") fuse_training(asked);
  if (fuse == "inter" || fuse == "both") fuse_generation(asked);
}

/// The plan without any fusion, with each by itself, and as it is.
base::Result<std::vector<FusionVariant>> variants_of(place::Simulator& simulator, const plan::Plan& plan, double seconds) {
  std::vector<FusionVariant> variants;
  if (!plan.fusion.any()) return variants;
  std::vector<std::pair<std::string, plan::Fusion>> tried{{"none", {}}};
  if (plan.fusion.threshold && plan.fusion.training) {
    tried.push_back({"intra", {std::nullopt, plan.fusion.training}});
    tried.push_back({"inter", {plan.fusion.threshold, std::nullopt}});
  }
  for (const auto& [name, fusion] : tried) {
    plan::Plan other = plan;
    other.fusion = fusion;
    DOVETAIL_TRY(const place::Simulation simulation, simulator.simulate(other));
    variants.push_back({name, simulation.iteration_seconds, false});
  }
  variants.push_back({!plan.fusion.training ? "inter" : !plan.fusion.threshold ? "intra" : "both", seconds, true});
  return variants;
}

/// How a file of this name is written; an Error for another name.
enum class OutputFormat { json, chrome, svg, html };
base::Result<OutputFormat> format_of(const std::string& path) {
  if (path.ends_with(".trace.json") || path.ends_with(".chrome.json")) return OutputFormat::chrome;
  if (path.ends_with(".json") || is_standard_output(path)) return OutputFormat::json;
  if (path.ends_with(".svg")) return OutputFormat::svg;
  if (path.ends_with(".html")) return OutputFormat::html;
  return base::bad_input(fmt::format("the extension of '{}' does not tell the format; accepted: .json, .trace.json, .svg, .html", path));
}

/// Before anything is simulated for it.
base::Status check_output(const std::string& path) {
  const auto format = format_of(path);
  if (!format.ok()) return format.error();
  return is_standard_output(path) ? base::Status() : base::check_writable(path);
}

report::IterationPicture picture_of(const SimulatedPlan& simulated) {
  const plan::Job& job = simulated.ground.job;
  report::IterationPicture picture{
      simulated.simulation.iteration.trace,
      {},
      {},
      fmt::format("{}, {}: {} an iteration", job.name, simulated.plan.placement, seconds_text(simulated.simulation.iteration_seconds))};
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
    picture.tasks.push_back(job.workflow.tasks[task].name);
    picture.roles.push_back(job.workflow.role_of[task] ? job.workflow.role_of[task]->value : -1);
  }
  return picture;
}

base::Status write(const std::string& path, const SimulatedPlan& simulated) {
  DOVETAIL_TRY(const OutputFormat format, format_of(path));
  const std::string text = format == OutputFormat::chrome ? report::render_iteration_trace(picture_of(simulated))
                           : format == OutputFormat::svg  ? report::render_iteration_svg(picture_of(simulated))
                           : format == OutputFormat::html ? report::render_html(report::iteration_page(picture_of(simulated)))
                                                          : to_json(simulated, true).dump() + "\n";
  const auto written = write_output(path, text);
  return written.ok() ? base::Status() : written.error();
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_CHECK(check_output_options(arguments.output, std::nullopt, arguments.plan.json));
  if (arguments.output) DOVETAIL_CHECK(check_output(*arguments.output));
  DOVETAIL_TRY(const plan::Job job, load_job(arguments.plan.job));
  DOVETAIL_TRY(const place::Software software, load_software(job, arguments.plan.job));
  const place::Ground ground = place::ground_of(job, software);
  std::optional<ProgressLine> line(job.name);
  DOVETAIL_TRY(Chosen chosen, choose(arguments, ground, *line));
  std::vector<std::string> notes;
  line->update(std::string_view("choosing what is fused"));
  fuse_as_asked({ground, arguments, chosen.plan, notes});

  const parallel::Cancellation& cancellation = stop_on_interrupt();
  place::SimulationOptions options;
  options.seed = arguments.search.budget.seed;
  options.draws = arguments.draws;
  options.most_iterations = static_cast<std::size_t>(arguments.iterations);
  options.fused = {arguments.fused_iterations, std::nullopt, &cancellation};
  options.on_progress = [&line](std::string_view work) { line->update(work); };
  place::Simulator simulator(ground, options);
  DOVETAIL_TRY(place::Simulation simulation, simulator.simulate(chosen.plan));
  DOVETAIL_TRY(std::vector<FusionVariant> variants, variants_of(simulator, chosen.plan, simulation.iteration_seconds));
  line.reset();
  // The bound is one on plans whose tasks do not run in each other's gaps.
  if (chosen.plan.fusion.any()) chosen.bound = std::nullopt;
  const SimulatedPlan simulated{ground,          chosen.plan, options.seed, chosen.bound, std::move(simulation), std::move(variants),
                                std::move(notes)};
  if (arguments.plan.json)
    print_json(to_json(simulated, false));
  else
    print_beside(arguments.output, to_text(simulated));
  if (arguments.output) DOVETAIL_CHECK(write(*arguments.output, simulated));
  return cancellation.requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "simulate", "play a plan event by event: where every second of every device goes",
                                  "  dovetail simulate examples/jobs/ppo-7b.yaml --plan examples/jobs/ppo-7b.plan.yaml\n"
                                  "  dovetail simulate examples/jobs/rlhfuse-33b-13b.yaml --fuse both -o iteration.trace.json");
  add_plan_arguments(*command, arguments->plan, "play this plan, a dovetail/plan@1 file, in place of the best that is found");
  add_choice_option(*command, "--fuse", arguments->fuse, "as-planned|none|intra|inter|both",
                    "stage fusion: what the plan says, nothing, the trainings, generation with scoring, or both");
  add_count_option(*command, "--draws", arguments->draws, 1, 1000, "how often the lengths of all samples are drawn and played");
  add_count_option(*command, "--most-iterations", arguments->iterations, 2, 100'000, "to play until they repeat");
  add_count_option(*command, "--fused-iterations", arguments->fused_iterations, 1, 1'000'000'000,
                   "of the search for the fused training's schedule");
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write what every device does there: .json, .svg, .html, or .trace.json for Perfetto and chrome://tracing");
  add_plan_search_arguments(*command, arguments->search);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
