#include "plan/not_modelled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "plan/job_canonical.h"
#include "plan/jobs.h"
#include "plan/plan_file.h"

namespace dovetail::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Job small_job() {
  return parse_job(
             "{format: dovetail/job@1, algorithm: sft, models: {actor: llama-3.2-1b}, cluster: {nodes: 1, "
             "gpus_per_node: 8, gpu: H100}, workload: {prompts: 64, prompt_length: 100, response_length: 500}}",
             "small.yaml")
      .value();
}

const std::string tasks =
    "format: dovetail/plan@1\ntasks:\n  - {task: actor_train, devices: 0-7, layout: {dp: 8}, micro_batch: {count: "
    "1}}\n";

std::string error_with(const std::string& value) {
  const auto plan = parse_plan(tasks + "not_modelled: " + value + "\n", "plan.yaml", small_job());
  return plan.ok() ? "no error" : base::to_text(plan.error());
}

const NotModelled fp8{"rollout.quantization", "fp8: counted as bf16, the real run is faster"};
const NotModelled judge{"", "an engine judges: counted as a forward pass"};

TEST(NotModelled, IsReadFromAPlan) {
  const Plan plan =
      parse_plan(tasks +
                     "not_modelled:\n  - {key: rollout.quantization, what: 'fp8: counted as bf16, the real "
                     "run is faster'}\n  - {what: 'an engine judges: counted as a forward pass'}\n",
                 "plan.yaml", small_job())
          .value();
  EXPECT_THAT(plan.not_modelled, ElementsAre(fp8, judge));
  EXPECT_THAT(parse_plan(tasks, "plan.yaml", small_job())->not_modelled, IsEmpty());
  EXPECT_EQ(to_text(fp8), "rollout.quantization: fp8: counted as bf16, the real run is faster");
  EXPECT_EQ(to_text(judge), "an engine judges: counted as a forward pass");
}

TEST(NotModelled, NamesAMistake) {
  const std::string accepted = "; accepted: a list of maps with the keys `key` and `what`";
  EXPECT_EQ(error_with("fp8"), "plan.yaml:4:15: `not_modelled` is the string `fp8`" + accepted);
  EXPECT_EQ(error_with("[fp8]"),
            "plan.yaml:4:16: an item of `not_modelled` must be a map, not the string `fp8`; accepted keys: key, what");
  EXPECT_EQ(error_with("[{key: a}]"),
            "plan.yaml:4:16: an item of `not_modelled` needs the key `what`; accepted: what: \"fp8: counted as bf16\"");
  EXPECT_EQ(error_with("[{what: 3}]"), "plan.yaml:4:23: `what` is 3; accepted: a name");
  EXPECT_EQ(error_with("[{what: ''}]"), "plan.yaml:4:23: `what` is the string ``; accepted: a name");
  EXPECT_THAT(error_with("[{what: \"a\\nb\"}]"), HasSubstr("plan.yaml:4:23: `what` is"));
  EXPECT_THAT(error_with("[{what: a, setting: b}]"), HasSubstr("plan.yaml:4:26: unknown key `setting`"));
  EXPECT_EQ(error_with("[]"), "no error");
}

/// It is no part of what a plan does, nor of which job that is.
TEST(NotModelled, ChangesNeitherPlanNorJob) {
  Job job = small_job();
  const Plan plan = parse_plan(tasks, "plan.yaml", job).value();
  Plan more = plan;
  more.not_modelled = {fp8};
  EXPECT_EQ(more, plan);
  const std::string hash = job_hash(job);
  job.not_modelled = {judge};
  EXPECT_EQ(job_hash(job), hash);
}

TEST(NotModelled, IsWrittenOfThePlanAndOfItsJob) {
  Job job = small_job();
  Plan plan = parse_plan(tasks, "plan.yaml", job).value();
  EXPECT_THAT(plan_to_json(plan, job), Not(HasSubstr("not_modelled")));
  plan.not_modelled = {fp8};
  job.not_modelled = {fp8, judge};
  const std::string text = plan_to_json(plan, job);
  EXPECT_THAT(text, HasSubstr("\"not_modelled\": [\n  {\"key\": \"rollout.quantization\", \"what\": "));
  EXPECT_THAT(parse_plan(text, "plan.json", small_job())->not_modelled, ElementsAre(fp8, judge));
  std::string changed = text;
  changed.replace(changed.find("is faster"), 9, "is slower");
  EXPECT_FALSE(parse_plan(changed, "plan.json", small_job()).ok()) << "the file's hash is of all members";
}

RC_GTEST_PROP(NotModelled, IsReadBackAsItWasWritten, ()) {
  const Job job = small_job();
  Plan plan = parse_plan(tasks, "plan.yaml", job).value();
  const auto name = [] { return base::visible(*rc::gen::nonEmpty<std::string>()); };
  for (int left = *rc::gen::inRange(0, 5); left > 0; --left)
    plan.not_modelled.push_back({*rc::gen::arbitrary<bool>() ? name() : "", name()});
  plan.not_modelled = joined({}, plan.not_modelled);
  const auto read_back = parse_plan(plan_to_json(plan, job), "plan.json", job);
  if (!read_back.ok()) RC_FAIL(base::to_text(read_back.error()));
  RC_ASSERT(read_back->not_modelled == plan.not_modelled);
}

}  // namespace
}  // namespace dovetail::plan
