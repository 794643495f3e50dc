// dovetail simulate: simulates a plan event by event.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

ProgramResult simulate(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> arguments{"simulate", folder.write("job.yaml", small_job), "--plan",
                                     folder.write("plan.json", small_plan)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

TEST(Simulate, ReportsTimeByUse) {
  const TemporaryFolder folder;
  const ProgramResult result = simulate(folder, {});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\niteration +[0-9.]+ s simulated; [0-9.]+ s analytical \\([+-][0-9.]+%\\)\n"));
  EXPECT_THAT(
      result.out,
      ContainsRegex("\nsteady state    reached after [0-9]+ iterations?: each later one repeats the previous one\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nactor_train +0-7 "));
  EXPECT_THAT(result.out, ContainsRegex("\ndecode +actor_generate +[0-9.]+ m?s +[0-9.]+%\n"));
  EXPECT_THAT(result.out, HasSubstr("\nGroups of devices with the same activities, most idle first:\n"));
}

TEST(Simulate, JsonAddsUp) {
  const TemporaryFolder folder;
  const ProgramResult result = simulate(folder, {"--json", "--draws", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["format"], "dovetail/simulation@1");
  EXPECT_EQ(object["draws"].size(), 2U);
  EXPECT_NEAR(object["iteration_seconds"].get<double>(),
              (object["draws"][0].get<double>() + object["draws"][1].get<double>()) / 2, 1e-5);
  double all = 0;
  for (const json& use : object["uses"]) all += use["device_seconds"].get<double>();
  EXPECT_NEAR(all, 8 * object["draws"][0].get<double>() * object["iterations_shown"].get<double>(), 1e-3);
  for (const json& group : object["devices"]) {
    EXPECT_NEAR(group["busy_seconds"].get<double>() + group["idle_seconds"].get<double>(),
                object["draws"][0].get<double>(), 5e-9);
    EXPECT_LE(group["peak_bytes"].get<std::int64_t>(), group["usable_bytes"].get<std::int64_t>());
    EXPECT_FALSE(group.contains("spans")) << "these are for files";
  }
}

TEST(Simulate, NeverOverwritesItsInput) {
  const TemporaryFolder folder;
  const ProgramResult result = simulate(folder, {"-o", folder.file("plan.json")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("would overwrite the input"));
  EXPECT_EQ(content_of(folder.file("plan.json")), small_plan);
}

TEST(Simulate, WritesTheTimelineAsJsonTraceAndPicture) {
  const TemporaryFolder folder;
  for (const char* name : {"iteration.json", "iteration.trace.json", "iteration.svg"}) {
    const ProgramResult result = simulate(folder, {"-o", folder.file(name)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  const json object = json::parse(content_of(folder.file("iteration.json")));
  const json& group = object["devices"][0];
  std::int64_t now = 0;
  for (const json& span : group["spans"]) {
    EXPECT_EQ(span[0].get<std::int64_t>(), now);
    now = span[1].get<std::int64_t>();
  }
  const json trace = json::parse(content_of(folder.file("iteration.trace.json")));
  EXPECT_GT(trace["traceEvents"].size(), group["spans"].size());
  EXPECT_THAT(content_of(folder.file("iteration.svg")), testing::StartsWith("<svg"));
  EXPECT_THAT(content_of(folder.file("iteration.svg")), HasSubstr("decode of actor_generate"));
}

TEST(Simulate, JsonOnStandardOutputHoldsTheTimeline) {
  const TemporaryFolder folder;
  ASSERT_EQ(simulate(folder, {"-o", folder.file("iteration.json")}).exit_code, 0);
  const json both = json::parse(simulate(folder, {"--json", "-o", "-"}).out);
  EXPECT_EQ(both["output"], json::parse(content_of(folder.file("iteration.json"))));
  EXPECT_FALSE(both["devices"][0].contains("spans"));
}

TEST(Simulate, PrintedPlanCanBeReused) {
  const TemporaryFolder folder;
  const json first = json::parse(simulate(folder, {"--json"}).out);
  const std::string again = folder.write("again.json", first["plan"].dump());
  EXPECT_EQ(json::parse(run_program({"simulate", folder.file("job.yaml"), "--plan", again, "--json"}).out), first);
}

TEST(Simulate, WritesHostTransfers) {
  const TemporaryFolder folder;
  const std::string examples = DOVETAIL_SOURCE_DIR "/examples/jobs/";
  const std::string job =
      folder.write("job.yaml", content_of(examples + "ppo-7b.yaml") + "\nsoftware: {prefetch: true}\n");
  const ProgramResult result = run_program({"simulate", job, "--plan", examples + "ppo-7b.plan.yaml", "--fuse", "none",
                                            "-o", folder.file("iteration.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json links = json::parse(content_of(folder.file("iteration.json"))).at("host_links");
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0]["devices"], "0-7");
  ASSERT_FALSE(links[0]["spans"].empty());
  for (const json& span : links[0]["spans"]) EXPECT_EQ(span[2], "loading");
}

TEST(Simulate, IsReproducible) {
  const TemporaryFolder folder;
  EXPECT_EQ(simulate(folder, {"--json"}).out, simulate(folder, {"--json"}).out);
  EXPECT_NE(simulate(folder, {"--json"}).out, simulate(folder, {"--json", "--seed", "2"}).out);
}

TEST(Simulate, ExplainsMissingFusion) {
  const TemporaryFolder folder;
  const ProgramResult result = simulate(folder, {"--fuse", "intra"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("training is not fused: no two trainings of different models can run at the same time"));
}

TEST(Simulate, SearchesAPlanIfNoneIsGiven) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(
      {"simulate", folder.write("job.yaml", small_job), "--chains", "2", "--iterations", "500", "--threads", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\nlower bound +[0-9.]+ m?s( for plans with no more fusion than "
                                        "this one)? \\(analytical model\\)"));
  EXPECT_THAT(result.out, ContainsRegex("\nPlan \\(the first one of dovetail plan\\):\ntask +devices +layout "));
}

TEST(Simulate, BoundsFusedPlans) {
  const TemporaryFolder folder;
  std::string tailed = small_job;
  tailed.replace(tailed.find("response_length: 512"), 20, "response_length: {p50: 300, p90: 800, cap: 1024}");
  const std::string job = folder.write("job.yaml", tailed);
  const std::string plan = folder.write("plan.json", small_plan);
  const auto bound = [&](const char* fuse) {
    const json object = json::parse(run_program({"simulate", job, "--plan", plan, "--fuse", fuse, "--json"}).out);
    EXPECT_LE(object["bound_seconds"], object["closed_form_seconds"]) << fuse;
    return object["bound_seconds"].get<double>();
  };
  EXPECT_LT(bound("inter"), bound("none"));
}

TEST(Simulate, BoundsFusedPlansAgainstTheJob) {
  const TemporaryFolder folder;
  std::string forbidden = small_job;
  forbidden.replace(forbidden.find("response_length: 512"), 20, "response_length: {p50: 300, p90: 800, cap: 1024}");
  forbidden +=
      "fixed: {fusion: {inter_stage: false}, actor_generate: {devices: 0-7}, reference_infer: {devices: 0-7}}\n";
  const std::string job = folder.write("job.yaml", forbidden);
  const auto found = [&](const char* fuse) {
    return json::parse(run_program({"simulate", job, "--fuse", fuse, "--chains", "1", "--iterations", "500",
                                    "--threads", "1", "--json"})
                           .out);
  };
  const json fused = found("inter");
  ASSERT_EQ(fused["notes"].size(), 2U) << fused["notes"];
  EXPECT_THAT(fused["notes"][0], HasSubstr("generation and inference are fused at"));
  EXPECT_THAT(fused["notes"][1], HasSubstr("--fuse overrides the fusion that the job fixes"));
  EXPECT_LE(fused["bound_seconds"], fused["closed_form_seconds"]);
  EXPECT_LT(fused["bound_seconds"], found("none")["bound_seconds"]);
}

TEST(Simulate, NamesTheDrawThatIsShown) {
  const TemporaryFolder folder;
  EXPECT_THAT(simulate(folder, {"--draws", "2"}).out,
              HasSubstr("; activities, times and memory below are of the first draw ("));
  EXPECT_THAT(simulate(folder, {"--draws", "1"}).out, Not(HasSubstr("of the first draw (")));
}

TEST(Simulate, FoundPlanIsTheFirstOfDovetailPlan) {
  const TemporaryFolder folder;
  std::string tied = small_job;
  tied.replace(tied.find("response_length: 512"), 20, "response_length: {p50: 300, p90: 800, cap: 1024}");
  const std::string job = folder.write("job.yaml", tied);
  const std::vector<std::string> search{"--chains", "2", "--iterations", "2000"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), search.begin(), search.end());
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string path = folder.file("best.json");
  run({"plan", job, "-o", path});
  const json simulated = json::parse(run({"simulate", job, "--json"}));
  EXPECT_EQ(simulated["iteration_seconds"],
            json::parse(run({"simulate", job, "--plan", path, "--json"}))["iteration_seconds"]);
  const json ranking = json::parse(run({"plan", job, "--json"}));
  ASSERT_TRUE(ranking["plans"][1].contains("simulated_seconds")) << "a job without ties shows nothing";
  EXPECT_EQ(json::parse(run({"fit", job, "--json"}))["fastest"]["iteration_seconds"],
            ranking["plans"][0]["iteration_seconds"]);
}

TEST(Simulate, ReportsErrorsBeforeTheSimulation) {
  const TemporaryFolder folder;
  const ProgramResult format = simulate(folder, {"-o", folder.file("iteration.png")});
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_THAT(format.err, HasSubstr("use .json, .trace.json, .svg"));
  EXPECT_EQ(format.out, "");
  EXPECT_EQ(simulate(folder, {"--fuse", "all"}).exit_code, 2);
  EXPECT_EQ(simulate(folder, {"--draws", "0"}).exit_code, 2);
  EXPECT_EQ(simulate(folder, {"-o", folder.file("none/iteration.svg")}).exit_code, 1);
  EXPECT_THAT(run_program({"simulate", "-", "--plan", "-"}).err, HasSubstr("standard input can be read only once"));
}

}  // namespace
}  // namespace dovetail::cli
