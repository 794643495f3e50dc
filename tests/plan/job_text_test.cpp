#include "plan/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.h"

namespace dovetail::plan {
namespace {

using testing::HasSubstr;

std::string on(int devices, std::string_view content) {
  const auto text = job_on_devices(content, "job.yaml", devices);
  return text.ok() ? *text : to_text(text.error());
}

TEST(JobText, ReplacesTheDevices) {
  EXPECT_EQ(on(4, "name: x\ncluster: {nodes: 2, gpus_per_node: 8, gpu: H100}  # here\nmore: 8\n"),
            "name: x\ncluster: {nodes: 1, gpus_per_node: 4, gpu: H100}  # here\nmore: 8\n");
  EXPECT_EQ(on(16, "cluster:\n  gpus_per_node: 1\n  gpu: H100\n  nodes: 1\n"),
            "cluster:\n  gpus_per_node: 16\n  gpu: H100\n  nodes: 1\n");
  EXPECT_EQ(on(2, "{\"cluster\": {\"nodes\": 1, \"gpus_per_node\": 1}}"),
            "{\"cluster\": {\"nodes\": 1, \"gpus_per_node\": 2}}");
}

TEST(JobText, RejectsDevicesThatAreNotPlainNumbers) {
  EXPECT_THAT(
      on(2, "cluster: {groups: [{nodes: 1, gpus_per_node: 1}]}"),
      HasSubstr("job.yaml:1:10: cannot change the number of devices in this job; accepted: `cluster: {nodes: 1, "
                "gpus_per_node: 2, ...}`"));
  EXPECT_THAT(on(2, "n: &n 1\ncluster: {nodes: *n, gpus_per_node: 1}"),
              HasSubstr("cannot change the number of devices"));
  EXPECT_THAT(on(2, "name: x"), HasSubstr("job.yaml:1:1: cannot change the number of devices in this job"));
  EXPECT_THAT(on(2, "cluster: ["), HasSubstr("job.yaml"));
}

std::string folder_of(std::string_view content, const std::string& path) {
  const base::Document document = base::parse_yaml_or_json(content, path).value();
  const auto folder = read_job_folder(document.root(), path);
  return folder.ok() ? *folder : to_text(folder.error());
}

TEST(FolderOfAJob, IsTheFilesFolderByDefault) {
  EXPECT_EQ(folder_of("format: x", "jobs/job.yaml"), "jobs");
  EXPECT_EQ(folder_of("format: x", "job.yaml"), "");
  EXPECT_EQ(folder_of("folder: ../models", "jobs/job.yaml"), "models");
  EXPECT_EQ(folder_of("folder: /data", "jobs/job.yaml"), "/data");
  EXPECT_THAT(folder_of("folder: [a]", "jobs/job.yaml"), HasSubstr("jobs/job.yaml:1:9: `folder` is a list"));
  EXPECT_THAT(folder_of("folder: ''", "jobs/job.yaml"), HasSubstr("accepted: the folder"));
}

TEST(FolderOfAJob, OfACopyLeadsToTheSameFolder) {
  for (const char* const content : {
           "format: x\nname: y\n",
           "# a comment {\n---\nformat: x\nname: y\n",
           "  format: x\n  name: y\n",
           "\xEF\xBB\xBF"
           "format: x\nname: y\n",
           "format: x\n",
           "{format: x, name: y}",
           "{\"format\": \"x\", \"name\": \"y\"}",
           "{\n  \"format\": \"x\",\n  \"name\": \"y\"\n}\n",
           "format: x\nfolder: ../jobs\nname: y\n",
           "format: x\nfolder: ../jobs/#1,2/..\nname: y\n",
           "format: x\nfolder: \"../jobs\"   # here\nname: y\n",
           "{folder: '../jobs', format: x, name: y}",
           "{name: é, folder: ../jobs}",
           "{\"name\": \"é\", \"folder\": \"../jobs\", \"format\": \"x\"}",
           "{\"name\": \"é\", \"folder\": \"../j\\u006fbs\"}",
       }) {
    for (const char* const target : {"runs/first", "jobs", "", "/elsewhere"}) {
      const auto seen = job_seen_from(content, "jobs/job.yaml", target);
      ASSERT_TRUE(seen.ok()) << content << to_text(seen.error());
      const std::string copy = (std::filesystem::path(target) / "job.yaml").string();
      const auto document = base::parse_yaml_or_json(*seen, copy);
      ASSERT_TRUE(document.ok()) << *seen << to_text(document.error());
      const std::string folder = read_job_folder(document->root(), copy).value();
      const auto file_in = [](const std::filesystem::path& of) {
        return (std::filesystem::absolute(of) / "file").lexically_normal().string();
      };
      EXPECT_EQ(file_in(folder), file_in("jobs")) << *seen;
      // Everything else is unchanged.
      const base::Document before = base::parse_yaml_or_json(content, "before").value();
      for (std::size_t i = 0; i < before.root().size(); ++i) {
        if (before.root().key(i) == "folder") continue;
        EXPECT_EQ(document->root().find(before.root().key(i))->text(), before.root().value(i).text());
      }
      EXPECT_EQ(document->root().size(), before.root().size() + (before.root().find("folder") ? 0 : 1));
    }
  }
}

TEST(FolderOfAJob, OtherNotationsAreRejected) {
  for (const char* const content :
       {"format: x\nfolder: '../it''s'\n", "format: x\nfolder: &f ../jobs\n", "format: x\nfolder: >-\n  ../jobs\n"}) {
    const auto seen = job_seen_from(content, "jobs/job.yaml", "runs/first");
    if (seen.ok()) continue;
    EXPECT_THAT(to_text(seen.error()), HasSubstr("accepted: one plain or quoted string")) << content;
  }
}

}  // namespace
}  // namespace dovetail::plan
