#include "records/checkpoint_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/canonical_json.h"
#include "base/sha256.h"
#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Manifest example() {
  return {std::string(64, 'a'),
          20,
          true,
          {{"actor.state", 12, std::string(64, '1')}, {"state.json", 3, std::string(64, '2')}}};
}

std::string text_with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos);
  return text.replace(place, from.size(), to);
}

/// A text with the hash of its other members.
std::string hashed(const std::string& members) {
  const std::string hash = base::sha256_hex(base::canonical_json("{" + members + "}"));
  return "{" + members + ", \"hash\": \"" + hash + "\"}";
}

TEST(CheckpointManifest, IsReadAsItWasWritten) {
  const std::string text = manifest_to_json(example());
  const auto manifest = parse_manifest(text, "m");
  ASSERT_TRUE(manifest.ok()) << to_text(manifest.error());
  EXPECT_EQ(*manifest, example());
}

// The schema's test, in Python, reads the same text.
TEST(CheckpointManifest, IsWrittenLikeThis) {
  EXPECT_EQ(
      manifest_to_json(example()),
      R"({"format": "dovetail/checkpoint@1", "hash": "83f90aeb99d15d8ca64ea5dd3c869105d868d611cff94b75f6dcf7397475b7ad", )"
      R"("run": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "iteration": 20, "best": true, )"
      R"("files": [
  {"name": "actor.state", "bytes": 12, "sha256": "1111111111111111111111111111111111111111111111111111111111111111"},
  {"name": "state.json", "bytes": 3, "sha256": "2222222222222222222222222222222222222222222222222222222222222222"}]}
)");
}

TEST(CheckpointManifest, AnyOtherByteIsFound) {
  const std::string text = manifest_to_json(example());
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char flip : {'\x01', '\x02', '\x10', '\x40'}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const auto manifest = parse_manifest(damaged, "m");
      // White space says nothing.
      EXPECT_TRUE(!manifest.ok() || *manifest == example()) << i << " " << damaged;
    }
  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_FALSE(parse_manifest(std::string_view(text).substr(0, length), "m").ok()) << length;
}

TEST(CheckpointManifest, WhatIsWrongIsSaidAtItsPlace) {
  const std::string hash(64, 'a');
  const auto error_of = [](const std::string& text) { return to_text(parse_manifest(text, "m").error()); };
  EXPECT_THAT(error_of("{}"), HasSubstr("m:1:1"));
  EXPECT_THAT(error_of(R"({"format": "dovetail/plan@1"})"), HasSubstr("dovetail/checkpoint@1"));
  const std::string text = manifest_to_json(example());
  EXPECT_THAT(error_of(text_with(text, "20", "21")), HasSubstr("the manifest is damaged"));
  EXPECT_THAT(error_of(text_with(text, "\"best\"", "\"bets\"")), HasSubstr("bets"));
  const auto member_error = [&](const std::string& run, const std::string& iteration, const std::string& best,
                                const std::string& files) {
    return error_of(hashed(R"("format": "dovetail/checkpoint@1", "run": )" + run + R"(, "iteration": )" + iteration +
                           R"(, "best": )" + best + R"(, "files": )" + files));
  };
  const std::string run = "\"" + hash + "\"";
  EXPECT_THAT(member_error("[]", "1", "true", "[]"), HasSubstr("`run` is a list"));
  EXPECT_THAT(member_error("\"x\"", "1", "true", "[]"), HasSubstr("`run` is the string `x`"));
  EXPECT_THAT(member_error(run, "-1", "true", "[]"), HasSubstr("`iteration`"));
  EXPECT_THAT(member_error(run, "1", "1", "[]"), HasSubstr("`best`"));
  EXPECT_THAT(member_error(run, "1", "true", "{}"), HasSubstr("`files` is a map"));
  EXPECT_THAT(member_error(run, "1", "true", "[3]"), HasSubstr("a file"));
  const auto file = [&](const std::string& name) {
    return R"([{"name": ")" + name + R"(", "bytes": 1, "sha256": )" + run + "}]";
  };
  for (const std::string name : {"../state.json", "/etc/passwd", "..", ".", "manifest.json"})
    EXPECT_THAT(member_error(run, "1", "true", file(name)), HasSubstr("that of another file of the folder")) << name;
}

TEST(CheckpointManifest, FilesAreDescribedInTheirOrder) {
  const test::TemporaryFolder folder;
  folder.write("b", "bb");
  folder.write("a", "");
  folder.write("manifest.json", "not one of them");
  const auto files = files_of(folder.path());
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(*files,
              ElementsAre(ManifestFile{"a", 0, base::sha256_hex("")}, ManifestFile{"b", 2, base::sha256_hex("bb")}));
  const Manifest manifest{std::string(64, 'a'), 1, false, *files};
  EXPECT_TRUE(check_files(manifest, folder.path()).ok());
  folder.write("b", "bc");
  EXPECT_THAT(to_text(check_files(manifest, folder.path()).error()), HasSubstr("/b: the file is damaged: its SHA-256"));
  folder.write("b", "bbb");
  EXPECT_THAT(to_text(check_files(manifest, folder.path()).error()), HasSubstr("it has 3 bytes, 2 were written"));
}

TEST(CheckpointManifest, AFolderWithinIsAnError) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("inner"));
  EXPECT_FALSE(files_of(folder.path()).ok());
  EXPECT_FALSE(files_of(folder.file("none")).ok());
}

}  // namespace
}  // namespace dovetail::records
