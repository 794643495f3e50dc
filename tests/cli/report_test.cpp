#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/job_files.h"
#include "cli/run_program.h"
#include "cli/schedule_files.h"

namespace dovetail::cli {
namespace {

using testing::HasSubstr;

class Report : public WithScheduleFiles {};

TEST_F(Report, WritesOnePage) {
  const std::string input = schedule("exp5", "list", "a.json");
  const std::string output = folder.file("a.html");
  const ProgramResult result = run_program({"report", input, "-o", output, "--title", "A & B"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "written: " + output + "; open it in a browser\n");
  const std::string page = content_of(output);
  EXPECT_THAT(page, HasSubstr("<title>A &amp; B</title>"));
  EXPECT_THAT(page, HasSubstr("\"format\": \"dovetail/report@1\""));
  EXPECT_EQ(run_program({"report", input, "-o", "-", "--title", "A & B"}).out, page);
}

TEST_F(Report, ReadsEveryFormat) {
  for (const std::string file :
       {"tests/data/flexfusion/trace_exp5.txt", "tests/data/pytorch/interleaved_2rank_4stage_8mb.csv"}) {
    const ProgramResult result = run_program({"report", repository_file(file), "-o", "-"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"makespan\"")) << file;
  }
  const std::string trace = folder.file("a.trace.json");
  ASSERT_EQ(run_program({"convert", schedule("exp5", "list", "a.json"), trace}).exit_code, 0);
  EXPECT_THAT(run_program({"report", trace, "-o", "-"}).out, HasSubstr("A Chrome trace."));
}

TEST_F(Report, ShowsSeveralFilesSideBySide) {
  const ProgramResult result =
      run_program({"report", schedule("exp5", "list", "a.json"), schedule("exp5", "greedy", "b.json"), "-o", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Side by side"));
}

TEST_F(Report, OverlaysTwoTimelines) {
  const std::string a = schedule("exp5", "list", "a.json");
  const std::string b = schedule("exp5", "greedy", "b.json");
  const ProgramResult result = run_program({"report", "--overlay", a, b, "-o", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Differences by bar"));
  const ProgramResult alone = run_program({"report", "--overlay", a, "-o", "-"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.err, "dovetail: --overlay needs exactly two timelines, got 1\n");
}

TEST_F(Report, NotesIncompleteTraces) {
  const std::string trace = folder.write(
      "t.json",
      R"([{"ph":"B","pid":1,"tid":1,"ts":0,"name":"a"},{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"b"}])");
  const ProgramResult result = run_program({"report", trace, "-o", folder.file("t.html")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("slices that never end (1)"));
}

TEST_F(Report, ReportsErrorLocationAndWritesNothing) {
  const std::string output = folder.file("a.html");
  const std::string trace =
      folder.write("t.json", "{\"traceEvents\": [\n  {\"ph\": \"X\", \"ts\": 0, \"dur\": \"long\"}]}");
  const ProgramResult result = run_program({"report", trace, "-o", output});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("t.json:2:"));
  EXPECT_THAT(result.err, HasSubstr("accepted: a number of microseconds"));
  EXPECT_EQ(content_of(output), "");
  EXPECT_THAT(run_program({"report", "exp5"}).err, HasSubstr("is a problem, not a schedule"));
  EXPECT_EQ(run_program({"report", trace, "-o", folder.file("nowhere/a.html")}).exit_code, 1);
}

TEST_F(Report, RejectsOtherExtensions) {
  const std::string file = schedule("exp5", "list", "a.json");
  for (const char* name : {"a.svg", "a.SVG", "a.csv", "a.yaml", "a"}) {
    const ProgramResult result = run_program({"report", file, "-o", folder.file(name)});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.err, HasSubstr("-o must end in .html or .htm"));
    EXPECT_EQ(content_of(folder.file(name)), "");
  }
  EXPECT_EQ(run_program({"report", file, "-o", folder.file("a.htm")}).exit_code, 0);
  EXPECT_THAT(run_program({"report", "-", "-"}).err, HasSubstr("standard input can be read only once"));
}

/// A job and its plan, reported with an instant search.
class JobReport : public testing::Test {
 protected:
  ProgramResult report(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"report", job,         "--chains", "2",  "--iterations",
                                       "500",    "--threads", "1",        "-o", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TemporaryFolder folder;
  std::string job = folder.write("job.yaml", small_job);
  std::string plan = folder.write("plan.json", small_plan);
};

TEST_F(JobReport, DetectsAJobByItsFormat) {
  const ProgramResult result = report({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const std::string title : {"Timeline", "Activities", "Where the time goes", "Idle time by cause",
                                  "Gain from stage fusion", "Does it fit?", "Ranked plans", "Plan"})
    EXPECT_THAT(result.out, HasSubstr("\"title\": \"" + title + "\"")) << title;
}

TEST_F(JobReport, ShowsTheGivenPlanReproducibly) {
  const ProgramResult result = report({"--plan", plan});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"title\": \"small, co-located\""));
  EXPECT_THAT(result.out, HasSubstr("\"shown\""));
  EXPECT_EQ(report({"--plan", plan}).out, result.out);
}

TEST_F(JobReport, ComparesAndOverlaysPlans) {
  const std::string other = folder.write("other.json", small_plan);
  const ProgramResult both = report({"--plan", plan, "--plan", other});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("Side by side"));
  const ProgramResult overlay = report({"--plan", plan, "--plan", other, "--overlay"});
  EXPECT_EQ(overlay.exit_code, 0) << overlay.err;
  EXPECT_THAT(overlay.out, HasSubstr("All matched bars are equal")) << "they are the same plan";
  const ProgramResult one = report({"--plan", plan, "--overlay"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.err, HasSubstr("--overlay needs exactly two timelines, got 1\n"));
}

TEST_F(JobReport, OverlaysItsTraceWithTheJob) {
  const std::string trace = folder.file("iteration.trace.json");
  ASSERT_EQ(run_program({"simulate", job, "--plan", plan, "-o", trace}).exit_code, 0);
  const ProgramResult result = report({"--plan", plan, trace, "--overlay"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("All matched bars are equal"));
}

TEST_F(JobReport, OverlaysTimelinesThatBeginWithOtherSteps) {
  const std::string pairs = folder.write("pairs.yaml", R"(format: dovetail/job@1
algorithm: dpo
models: {actor: qwen3-0.6b}
workload: {prompts: 64, prompt_length: 128, response_length: 256}
cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}
)");
  const ProgramResult result = report({pairs, "--overlay"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Both are aligned at the start of reference_infer. A is rotated by"));
}

TEST_F(JobReport, OverlaysPlansWhoseIterationsOverlap) {
  std::string async = small_job;
  async.replace(async.find("response_length: 512"), 20, "response_length: 512, steps_off_policy: 1");
  job = folder.write("async.yaml", async);
  const std::string apart =
      folder.write("apart.json", R"({"format": "dovetail/plan@1", "placement": "disaggregated", "tasks": [
  {"task": "actor_generate", "devices": "0-3", "layout": {"dp": 4}, "engine": {"memory_utilization": 0.5}},
  {"task": "actor_infer", "devices": "4-7", "layout": {"dp": 4}, "micro_batch": {"sequences": 4}},
  {"task": "reference_infer", "devices": "4-7", "layout": {"dp": 4}, "micro_batch": {"sequences": 4}},
  {"task": "actor_train", "devices": "4-7", "layout": {"dp": 4, "zero": 1}, "micro_batch": {"sequences": 4}}
]}
)");
  const ProgramResult plans = report({"--plan", plan, "--plan", apart, "--overlay"});
  EXPECT_EQ(plans.exit_code, 0) << plans.err;
  // Both begin with new weights.
  EXPECT_THAT(plans.out, HasSubstr(R"(["reallocation for actor_generate","0.0 ms","0.0 ms","0.0 ms",)"));
  const std::string trace = folder.file("apart.trace.json");
  ASSERT_EQ(run_program({"simulate", job, "--plan", apart, "-o", trace}).exit_code, 0);
  const ProgramResult own = report({"--plan", apart, trace, "--overlay"});
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_THAT(own.out, HasSubstr("All matched bars are equal"));
  const ProgramResult other = report({"--plan", plan, trace, "--overlay"});
  EXPECT_THAT(other.out, HasSubstr("\"device 5 · A\""));
  EXPECT_THAT(other.out, HasSubstr("\"device 5 · B\"")) << "which is one of devices 4-7 in the trace";
}

TEST_F(JobReport, ShowsTheConfigurationOfALaunchScript) {
  const std::string script = std::string(DOVETAIL_SOURCE_DIR) + "/examples/trainers/verl-grpo.sh";
  job = script;
  const ProgramResult result = report({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("The plan of the trainer's configuration: "));
  const ProgramResult named = report({"--gpu", "H200"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_NE(named.out, result.out);
}

TEST_F(JobReport, ReportsMissingInputs) {
  const ProgramResult alone = run_program({"report", plan, "-o", "-"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.err, plan + ": a plan needs its job; use dovetail report JOB --plan " + plan + "\n");
  const std::string trace = folder.write("t.json", R"([{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"b"}])");
  const ProgramResult no_job = run_program({"report", trace, "--plan", plan, "-o", "-"});
  EXPECT_EQ(no_job.exit_code, 2);
  EXPECT_THAT(no_job.err, HasSubstr("--plan needs exactly one job among the files, got 0"));
  const ProgramResult broken =
      run_program({"report", folder.write("bad.yaml", "format: dovetail/job@1\nname: 3\nmodel: x\n"), "-o", "-"});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("bad.yaml:3:1"));
}

}  // namespace
}  // namespace dovetail::cli
