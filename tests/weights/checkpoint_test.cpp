#include "weights/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace dovetail::weights {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

void write_numbers(const std::string& path, const std::vector<std::string>& names) {
  static const std::string data = "12345678";
  std::vector<StoredTensor> tensors;
  for (const std::string& name : names)
    tensors.push_back({name, ElementType::f32, {2, 1}, std::as_bytes(std::span(data))});
  ASSERT_TRUE(write_safetensors(path, tensors).ok());
}

std::string error_of(const TemporaryFolder& folder) {
  const auto checkpoint = Checkpoint::open(folder.path());
  return checkpoint.ok() ? "no error" : to_text(checkpoint.error());
}

TEST(Checkpoint, ReadsOneFile) {
  const TemporaryFolder folder;
  write_numbers(folder.file("model.safetensors"), {"b", "a"});
  const auto checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << to_text(checkpoint.error());
  EXPECT_THAT(checkpoint->names(), ElementsAre("a", "b"));
  EXPECT_EQ(checkpoint->find("c"), nullptr);
  EXPECT_THAT(checkpoint->find("a")->shape, ElementsAre(2, 1));
}

TEST(Checkpoint, ReadsSeveralFilesWithAnIndex) {
  const TemporaryFolder folder;
  write_numbers(folder.file("model-00001-of-00002.safetensors"), {"b", "a"});
  write_numbers(folder.file("model-00002-of-00002.safetensors"), {"c"});
  folder.write("model.safetensors.index.json",
               R"({"metadata": {"total_size": 24}, "weight_map": {"a": "model-00001-of-00002.safetensors",
                   "c": "model-00002-of-00002.safetensors", "b": "model-00001-of-00002.safetensors"}})");
  const auto checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << to_text(checkpoint.error());
  EXPECT_THAT(checkpoint->names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(checkpoint->files().size(), 2U);
  EXPECT_THAT(checkpoint->file_of("c").path(), testing::EndsWith("00002-of-00002.safetensors"));
  EXPECT_NE(checkpoint->find("c"), nullptr);
}

TEST(Checkpoint, ReportsOtherFormats) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of(folder), folder.path() +
                                  ": the folder has no safetensors weights; accepted: model.safetensors, or "
                                  "model.safetensors.index.json and the files that it names");
  folder.write("pytorch_model.bin", "");
  EXPECT_THAT(error_of(folder), HasSubstr("it has pytorch_model.bin, which is not supported; accepted: "));
  folder.write("model.gguf", "");
  EXPECT_THAT(error_of(folder), HasSubstr("weights; it has pytorch_model.bin, which is not supported; it has "
                                          "model.gguf, which is not supported; accepted: "));
}

TEST(Checkpoint, RejectsAnInvalidIndex) {
  const TemporaryFolder folder;
  write_numbers(folder.file("one.safetensors"), {"a"});
  const auto error_with = [&](const std::string& index) {
    folder.write("model.safetensors.index.json", index);
    return error_of(folder);
  };
  EXPECT_EQ(error_with(R"({"weight_map": {"a": "one.safetensors"}})"), "no error");
  EXPECT_THAT(
      error_with(R"({"weight_map": {"b": "one.safetensors"}})"),
      HasSubstr("one.safetensors: the file lacks tensor `b`, which model.safetensors.index.json assigns to it"));
  EXPECT_THAT(error_with(R"({"weight_map": {"a": "two.safetensors"}})"), HasSubstr("two.safetensors: cannot be read"));
  for (const char* outside : {"../one.safetensors", "/etc/passwd", "", ".", "..", "sub/one.safetensors"})
    EXPECT_THAT(error_with(R"({"weight_map": {"a": ")" + std::string(outside) + "\"}}"),
                HasSubstr("accepted: the name of a file in this folder"))
        << outside;
  EXPECT_THAT(error_with(R"({"weight_map": {"a": 1}})"), HasSubstr("the file of tensor `a` is 1"));
  EXPECT_THAT(error_with(R"({"weight_map": []})"), HasSubstr("`weight_map` is a list; accepted: a map"));
  EXPECT_THAT(error_with("{}"), HasSubstr("needs the key `weight_map`"));
}

}  // namespace
}  // namespace dovetail::weights
