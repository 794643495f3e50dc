#include "trainers/export/yaml_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dovetail::trainers {
namespace {

using testing::HasSubstr;

syntax::SettingTree resolved_tree() {
  syntax::SettingTree tree;
  syntax::Setting four;
  four.kind = syntax::Setting::Kind::number;
  four.text = "4";
  put_setting(tree.root, "shared.size", four);
  put_setting(tree.root, "role.config.size", four);
  return tree;
}

/// Returns the file with the edits, or the error.
std::string edited_yaml(const std::string& content, const std::vector<YamlEdit>& edits) {
  const auto text = edit_yaml(content, "run.yaml", edits, resolved_tree());
  return text.ok() ? *text : base::to_text(text.error());
}

TEST(EditYaml, ChangesValuesInPlace) {
  EXPECT_EQ(edited_yaml("a:\n  b: 1  # why\n  c: 2\n", {{"a.b", "4"}}), "a:\n  b: 4  # why\n  c: 2\n");
  EXPECT_EQ(edited_yaml("a:   \"x:d4\"   # why\n", {{"a", "x:d8"}}), "a:   \"x:d8\"   # why\n");
  EXPECT_EQ(edited_yaml("a: 'it''s'\n", {{"a", "it's not"}}), "a: 'it''s not'\n");
  EXPECT_EQ(edited_yaml("'a b': 1\n\"c\": x # y", {{"c", "z"}}), "'a b': 1\n\"c\": z # y");
  EXPECT_EQ(edited_yaml("a: [1, {b: 2}, \"]\"]\n", {{"a", "null"}}), "a: null\n");
  EXPECT_EQ(edited_yaml("a: ${b.c}\r\nb: {c: 1}\r\n", {{"a", "2"}}), "a: 2\r\nb: {c: 1}\r\n");
  EXPECT_EQ(edited_yaml("\xEF\xBB\xBF"
                        "a: 1\n",
                        {{"a", "2"}}),
            "\xEF\xBB\xBF"
            "a: 2\n");
}

TEST(EditYaml, ChangesValuesInBrackets) {
  EXPECT_EQ(edited_yaml("a: {b: 1, c: x y, d: }\n", {{"a.c", "z"}, {"a.d", "5"}}), "a: {b: 1, c: z, d: 5 }\n");
  EXPECT_EQ(edited_yaml("a: {b: {c: 1}, d: 2}\n", {{"a.b.e", "list(range(0, 8))"}}),
            "a: {b: {e: \"list(range(0, 8))\", c: 1}, d: 2}\n");
  EXPECT_EQ(edited_yaml("a: {}\n", {{"a.b.c", "1"}}), "a: {b: {c: 1}}\n");
}

TEST(EditYaml, AddsNewKeysToTheirMap) {
  EXPECT_EQ(edited_yaml("a:\n    b: 1  # one\n    c:\n      d: 2\n\ne: 3\n", {{"a.f", "4"}}),
            "a:\n    b: 1  # one\n    f: 4\n    c:\n      d: 2\n\ne: 3\n");
  EXPECT_EQ(edited_yaml("a:\n  c:\n    d: 2\n", {{"a.b.x", "true"}}), "a:\n  b:\n    x: true\n  c:\n    d: 2\n");
  EXPECT_EQ(edited_yaml("a: 1", {{"b", "2"}}), "a: 1\nb: 2");
  EXPECT_EQ(edited_yaml("a:\nb: 1\n", {{"a.c", "2"}}), "a: {c: 2}\nb: 1\n");
  EXPECT_EQ(edited_yaml("a: ~\nb: 1\n", {{"a.c", "2"}}), "a: {c: 2}\nb: 1\n");
}

TEST(EditYaml, ReplacesReferencesToMaps) {
  EXPECT_EQ(edited_yaml("shared: {size: 4}\nrole:\n  config: ${shared}\n", {{"role.config.size", "8"}}),
            "shared: {size: 4}\nrole:\n  config: {size: 8}\n");
  EXPECT_EQ(edited_yaml("shared: &it {size: 4}\nrole:\n  config: *it\n", {{"role.config.size", "8"}}),
            "shared: &it {size: 4}\nrole:\n  config: {size: 8}\n");
  EXPECT_EQ(edited_yaml("shared: &it {size: 4}\nrole:\n  <<: *it\n  b: 1\n", {{"role.size", "8"}}),
            "shared: &it {size: 4}\nrole:\n  <<: *it\n  b: 1\n  size: 8\n");
}

TEST(EditYaml, AddsCommentsAbove) {
  EXPECT_EQ(edited_yaml("a:\n  b: 1\n", {{"a.b", "2", "slower"}, {"a.c", "3", "larger"}}),
            "a:\n  # slower\n  b: 2\n  # larger\n  c: 3\n");
  EXPECT_EQ(edited_yaml("a: {b: 1}\n", {{"a.b", "2", "slower"}}), "# slower\na: {b: 2}\n");
  EXPECT_EQ(edited_yaml("a: 1\n", {{"a", "1", "slower"}}), "a: 1\n");
}

TEST(EditYaml, RejectsSharedAndMultiLineValues) {
  EXPECT_THAT(edited_yaml("a: &it {b: 1}\nc: *it\n", {{"a.b", "2"}}),
              HasSubstr("`a.b` shares its value with other keys by an anchor"));
  EXPECT_THAT(edited_yaml("a: |\n  text\n  more\nb: 1\n", {{"a", "2"}}),
              HasSubstr("run.yaml:1:4: the value has an anchor or extends over several lines"));
  EXPECT_THAT(edited_yaml("a: one\n  two\n", {{"a", "2"}}),
              HasSubstr("the value has an anchor or extends over several lines"));
  EXPECT_THAT(edited_yaml("a: 3\n", {{"a.b", "2"}}), HasSubstr("`a` is not a map; accepted: a map with `b`"));
  EXPECT_THAT(edited_yaml("a: ${unknown}\n", {{"a.b", "2"}}), HasSubstr("`a` does not refer to a known map"));
  EXPECT_THAT(edited_yaml("- 1\n", {{"a", "2"}}), HasSubstr("the file is not a map"));
  EXPECT_THAT(edited_yaml("a: [\n", {{"a", "2"}}), HasSubstr("not valid YAML"));
}

}  // namespace
}  // namespace dovetail::trainers
