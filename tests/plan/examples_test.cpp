// The jobs of examples/jobs with their plans: JOB.yaml, JOB.plan.json, JOB.WHICH.plan.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/document.h"
#include "base/file.h"
#include "plan/iteration_graph.h"
#include "plan/job.h"
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

TEST(ExampleJobs, Parse) {
  const auto jobs = files(false);
  EXPECT_GE(jobs.size(), 8U);
  for (const fs::path& path : jobs) EXPECT_EQ(read_job(path).name, path.stem());
}

TEST(ExampleJobs, PlansBelongToTheirJobs) {
  const auto plans = files(true);
  EXPECT_GE(plans.size(), 4U);
  for (const fs::path& path : plans) {
    const std::string name = path.filename().string();
    const Job job = read_job(folder / (name.substr(0, name.find('.')) + ".yaml"));
    const std::string content = base::read_file(path.string()).value();
    const auto plan = parse_plan(content, path.string(), job);
    ASSERT_TRUE(plan.ok()) << base::to_text(plan.error());
    EXPECT_GE(iteration_graph(job, *plan).activities.size(), job.workflow.tasks.size());
    // JSON plans are exactly as programs write them.
    if (path.extension() == ".json") {
      EXPECT_EQ(plan_to_json(*plan, job), content);
      EXPECT_FALSE(is_for_another_job(*plan, job));
    }
  }
}

/// The hash of a job file, or of a plan file, as computed today.
std::string hash_of(const fs::path& path) {
  if (!is_plan(path)) return job_hash(read_job(path));
  const std::string name = path.filename().string();
  const Job job = read_job(folder / (name.substr(0, name.find('.')) + ".yaml"));
  const Plan plan = parse_plan(base::read_file(path.string()).value(), path.string(), job).value();
  const auto written = base::parse_json(plan_to_json(plan, job), path.string()).value();
  return std::string(written.root().find("hash")->text());
}

// People keep plans for years, so hashes must not change between versions.
TEST(ExampleJobs, HashesDoNotChange) {
  const std::map<std::string, std::string> hashes{
      {"dpo-8b.yaml", "dc2a79a8e2528c7bee4170ebcf21de6216de3b86dc9d01d4937578fee8fe4629"},
      {"grpo-32b.plan.json", "9fe33966128c910f30907aa87ee4831eaada13ee27af1d38901b28487185e45f"},
      {"grpo-32b.yaml", "e2c89697b5b3875e0f138446c1adb35513a724d9bf57fbb4dcbd628fec8ae436"},
      {"grpo-8b-async.plan.json", "d3925d66725f99dd55c9c210b11195e75f34feb4764a2983701f20310a5b8dea"},
      {"grpo-8b-async.yaml", "349761ff1f3d9a221a89941e73956dda5d84b6f42803a506dac55bcf78b83c9b"},
      {"grpo-8b.plan.json", "0dca756c07e880560ae5470f9b76c654bb07365031a5055caee696390f762cc5"},
      {"grpo-8b.yaml", "90fb7e018d95fca012a1e4150fc02dc019cef0583498f0a6956049b715f8a374"},
      {"ppo-7b.plan.yaml", "545ac41e8d473a10b6daeb837c312a9e172b513f13934dc5a1fc6565098a9a99"},
      {"ppo-7b.yaml", "5a49e8c14e7f42e8c4387367dbeee7bffe024d4f936d5c5ea7c3ae6fd36bbf46"},
      {"real-70b.heuristic.plan.json", "da2d685bfcfff70844ffc322c0d8d05c7550616a09e98e4cabb38b5980b7b802"},
      {"real-70b.yaml", "b5ffe228f25c31740432630288d9196d7acc187f0643832837b3be73de3b7cdc"},
      {"reward-model-7b.yaml", "f7efea6de79dc103a19d157f8e331b244e582c70158870aa04557be8cf316165"},
      {"rlhfuse-33b-13b.plan.json", "a896361753ff489c715b0027fa697f536dc7848cdbb487347fda9457801438f2"},
      {"rlhfuse-33b-13b.yaml", "f955d51e0aaad4d4c146d1fcb0e4a676522cefcc2f5b48a29b1775994ca66ae7"},
      {"rlhfuse-65b-33b.yaml", "eeb750bfae48c4105fd4c68c54306eb5873d8c1aaa5b34f4694eea09c11da373"}};
  std::map<std::string, std::string> found;
  for (const bool plans : {false, true})
    for (const fs::path& path : files(plans)) found[path.filename().string()] = hash_of(path);
  EXPECT_EQ(found, hashes);
}

TEST(ExampleJobs, MatchTheirComments) {
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
  EXPECT_EQ(real.workload.samples() *
                static_cast<std::int64_t>(real.workload.prompt_length.mean() + real.workload.response_length.mean()),
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

TEST(FormatsPage, ExamplesAreAccepted) {
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
  // As the page says: one reallocation of the actor's weights and one of the critic's.
  EXPECT_EQ(iteration_graph(*job, *plan).activities.size(), job->workflow.tasks.size() + 2);
}

}  // namespace
}  // namespace dovetail::plan
