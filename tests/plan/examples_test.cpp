// The jobs of examples/jobs and the plans beside them: JOB.yaml, JOB.plan.json, JOB.WHICH.plan.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "plan/iteration_graph.h"
#include "plan/jobs.h"
#include "plan/plan_file.h"

namespace dovetail::plan {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(DOVETAIL_SOURCE_DIR) / "examples" / "jobs";

bool is_plan(const fs::path& path) { return path.stem().extension() == ".plan"; }

std::set<fs::path> files(bool plans) {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_plan(entry.path()) == plans) found.insert(entry.path());
  return found;
}

Job read_job(const fs::path& path) {
  const auto job = parse_job(base::read_file(path.string()).value(), path.string());
  EXPECT_TRUE(job.ok()) << base::to_text(job.error());
  return job.value();
}

TEST(ExampleJobs, AreJobs) {
  const auto jobs = files(false);
  EXPECT_GE(jobs.size(), 8U);
  for (const fs::path& path : jobs) EXPECT_EQ(read_job(path).name, path.stem());
}

TEST(ExampleJobs, PlansAreOfTheirJobs) {
  const auto plans = files(true);
  EXPECT_GE(plans.size(), 4U);
  for (const fs::path& path : plans) {
    const std::string name = path.filename().string();
    const Job job = read_job(folder / (name.substr(0, name.find('.')) + ".yaml"));
    const std::string content = base::read_file(path.string()).value();
    const auto plan = parse_plan(content, path.string(), job);
    ASSERT_TRUE(plan.ok()) << base::to_text(plan.error());
    EXPECT_GE(iteration_graph(job, *plan).activities.size(), job.workflow.tasks.size());
    // Those in JSON are as programs write them.
    if (path.extension() == ".json") {
      EXPECT_EQ(plan_to_json(*plan, job), content);
      EXPECT_FALSE(is_for_another_job(*plan, job));
    }
  }
}

TEST(ExampleJobs, SayWhatTheirCommentsSay) {
  const Job ppo = read_job(folder / "ppo-7b.yaml");
  EXPECT_EQ(ppo.workload.mini_batches, 4);
  EXPECT_EQ(model_of(ppo, *workflow::find_task(ppo.workflow, "critic_train")).name, "llama-2-7b");
  for (const char* name : {"rlhfuse-33b-13b.yaml", "rlhfuse-65b-33b.yaml"}) {
    const Job job = read_job(folder / name);
    EXPECT_EQ(cluster::device_count(job.cluster), 256);
    EXPECT_EQ(job.cluster.networks.front().bandwidth, 25e9);
    EXPECT_EQ(job.workload.optimizer_steps(), 8);
    EXPECT_EQ(job.workload.response_length.longest(), 1024);
  }
  const Job real = read_job(folder / "real-70b.yaml");
  EXPECT_EQ(real.workload.samples() * static_cast<std::int64_t>(real.workload.prompt_length.mean() + real.workload.response_length.mean()),
            131'072);
  const Job grpo = read_job(folder / "grpo-8b.yaml");
  EXPECT_EQ(grpo.workload.samples(), 2048);
  EXPECT_NEAR(grpo.workload.response_length.mean(), 1060, 0.5);
  EXPECT_TRUE(workflow::find_task(grpo.workflow, "actor_infer").has_value());
  EXPECT_NEAR(read_job(folder / "grpo-32b.yaml").workload.response_length.mean(), 3206, 0.5);
  const Job dpo = read_job(folder / "dpo-8b.yaml");
  EXPECT_EQ(dpo.models.front().adapter_rank, 64);
  EXPECT_EQ(cluster::gpu_of(read_job(folder / "reward-model-7b.yaml").cluster, cluster::DeviceId(16)).name, "A100-40");
}

TEST(FormatsPage, ItsExamplesAreAccepted) {
  const std::string page = base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/docs/formats.md").value();
  const auto block_from = [&page](std::string_view start) {
    const std::size_t begin = page.find(start) + start.find('\n') + 1;
    return page.substr(begin, page.find("```", begin) - begin);
  };
  const auto job = parse_job(block_from("```yaml\nformat: dovetail/job@1"), "formats.md");
  ASSERT_TRUE(job.ok()) << base::to_text(job.error());
  const auto plan = parse_plan(block_from("```json\n{\"format\": \"dovetail/plan@1\""), "formats.md", *job);
  ASSERT_TRUE(plan.ok()) << base::to_text(plan.error());
  EXPECT_EQ(plan_to_json(*plan, *job), block_from("```json\n{\"format\": \"dovetail/plan@1\""));
  // As the text says, one reallocation of the actor's weights and one of the critic's.
  EXPECT_EQ(iteration_graph(*job, *plan).activities.size(), job->workflow.tasks.size() + 2);
}

}  // namespace
}  // namespace dovetail::plan
