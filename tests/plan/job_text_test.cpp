#include "plan/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::plan {
namespace {

using testing::HasSubstr;

std::string on(int devices, std::string_view content) {
  const auto text = job_on_devices(content, "job.yaml", devices);
  return text.ok() ? *text : to_text(text.error());
}

TEST(JobText, SaysItsDevicesAnew) {
  EXPECT_EQ(on(4, "name: x\ncluster: {nodes: 2, gpus_per_node: 8, gpu: H100}  # here\nmore: 8\n"),
            "name: x\ncluster: {nodes: 1, gpus_per_node: 4, gpu: H100}  # here\nmore: 8\n");
  EXPECT_EQ(on(16, "cluster:\n  gpus_per_node: 1\n  gpu: H100\n  nodes: 1\n"),
            "cluster:\n  gpus_per_node: 16\n  gpu: H100\n  nodes: 1\n");
  EXPECT_EQ(on(2, "{\"cluster\": {\"nodes\": 1, \"gpus_per_node\": 1}}"),
            "{\"cluster\": {\"nodes\": 1, \"gpus_per_node\": 2}}");
}

TEST(JobText, RefusesDevicesThatAreNoPlainNumbers) {
  EXPECT_THAT(on(2, "cluster: {groups: [{nodes: 1, gpus_per_node: 1}]}"),
              HasSubstr("job.yaml:1:10: the job's devices cannot be said anew; accepted: `cluster: {nodes: 1, "
                        "gpus_per_node: 2, ...}`"));
  EXPECT_THAT(on(2, "n: &n 1\ncluster: {nodes: *n, gpus_per_node: 1}"), HasSubstr("cannot be said anew"));
  EXPECT_THAT(on(2, "name: x"), HasSubstr("job.yaml:1:1: the job's devices"));
  EXPECT_THAT(on(2, "cluster: ["), HasSubstr("job.yaml"));
}

}  // namespace
}  // namespace dovetail::plan
