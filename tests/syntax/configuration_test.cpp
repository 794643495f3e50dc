#include "syntax/configuration.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace dovetail::syntax {
namespace {

using Files = std::map<std::string, std::string>;

base::Result<SettingTree> composed(const Files& files, const std::vector<std::string>& words = {}) {
  ConfigurationRequest request;
  request.path = "/conf/main.yaml";
  request.sources = {"run.sh"};
  request.read = [&](const std::string& path) -> base::Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return base::bad_input("the file does not exist");
    return found->second;
  };
  for (const std::string& word : words)
    request.words.push_back({.text = text_of(word), .place = {.source = 0, .line = 9, .column = 2}, .condition = {}});
  return compose_configuration(request);
}

std::string json_of(const base::Result<SettingTree>& tree) {
  return tree.ok() ? to_json(tree->root) : base::to_text(tree.error());
}

std::string resolved(const std::string& yaml, const std::map<std::string, std::string>& environment = {}) {
  base::Result<SettingTree> tree = composed({{"/conf/main.yaml", yaml}});
  if (!tree.ok()) return base::to_text(tree.error());
  const base::Status status = resolve(*tree, environment);
  return status.ok() ? to_json(tree->root) : base::to_text(status.error());
}

TEST(Configuration, ParentsAreMergedBelow) {
  const Files files{{"/conf/main.yaml", "defaults: ../base/root.yaml\na: {b: 2, c: 3}\nlist: [1]\n"},
                    {"/base/root.yaml", "defaults: [one.yaml, two.yaml]\na: {b: 1, d: 4}\nlist: [7, 8]\n"},
                    {"/base/one.yaml", "x: 1\ny: 1\n"},
                    {"/base/two.yaml", "y: 2\n"}};
  EXPECT_EQ(json_of(composed(files)), R"({"x":1,"y":2,"a":{"b":2,"d":4,"c":3},"list":[1]})");
  const base::Result<SettingTree> tree = composed(files, {"a.b=5"});
  EXPECT_EQ(tree->sources, (std::vector<std::string>{"run.sh", "/conf/main.yaml", "/base/root.yaml", "/base/one.yaml",
                                                     "/base/two.yaml"}));
  EXPECT_EQ(find_setting(tree->root, "a.b")->place, (Place{.source = 0, .line = 9, .column = 2}));
  EXPECT_EQ(find_setting(tree->root, "a.c")->place, (Place{.source = 1, .line = 2, .column = 14}));
  EXPECT_EQ(find_setting(tree->root, "a.d")->place, (Place{.source = 2, .line = 2, .column = 14}));
  EXPECT_EQ(find_setting(tree->root, "list[0]")->text, "1");
}

TEST(Configuration, OverridesChooseGroups) {
  const Files files{
      {"/conf/main.yaml",
       "defaults:\n  - engine: small\n  - actor@roles.actor: ${engine}_actor\n  - optional extra: none\n  - _self_\n"
       "roles: {actor: {lr: 1}}\n"},
      {"/conf/engine/small.yaml", "# @package _global_\nsize: 1\n"},
      {"/conf/engine/large.yaml", "# @package _global_\nsize: 9\n"},
      {"/conf/actor/small_actor.yaml", "defaults:\n  - ../optim@optim: adam\n  - common\n  - _self_\nkind: s\n"},
      {"/conf/actor/large_actor.yaml", "defaults: [common]\nkind: l\n"},
      {"/conf/actor/common.yaml", "kind: c\nbatch: 4\nlr: 0\n"},
      {"/conf/optim/adam.yaml", "beta: 0.9\n"}};
  EXPECT_EQ(json_of(composed(files)),
            R"({"size":1,"roles":{"actor":{"optim":{"beta":0.9},"kind":"s","batch":4,"lr":1}}})");
  EXPECT_EQ(json_of(composed(files, {"engine=large", "size=3"})),
            R"({"size":3,"roles":{"actor":{"kind":"l","batch":4,"lr":1}}})");
  EXPECT_EQ(
      json_of(composed(files, {"engine=other"})),
      "run.sh:9:2: cannot read `/conf/engine/other.yaml`: the file does not exist; accepted: a file below the root "
      "folder (--root)");
}

TEST(Configuration, DefaultsOverrideGroups) {
  const auto with = [](const std::string& entry, const std::vector<std::string>& words = {}) {
    return json_of(composed(
        {{"/conf/main.yaml", "defaults:\n  - base\n  - _self_\n  - " + entry + "\n"},
         {"/conf/base.yaml",
          "defaults:\n  - engine: small\n  - optional engine@spare: small\n  - _self_\n  - override engine: fast\n"},
         {"/conf/engine/small.yaml", "size: 1\n"},
         {"/conf/engine/large.yaml", "size: 9\n"},
         {"/conf/engine/fast.yaml", "speed: 2\n"}},
        words));
  };
  EXPECT_EQ(with("override engine: large"), R"({"engine":{"size":9},"spare":{"size":1}})");
  EXPECT_EQ(with("override /engine@spare: large"), R"({"engine":{"speed":2},"spare":{"size":9}})");
  EXPECT_EQ(with("override engine: [large, fast]"), R"({"engine":{"size":9,"speed":2},"spare":{"size":1}})");
  EXPECT_EQ(with("override engine: null"), R"({"spare":{"size":1}})");
  EXPECT_EQ(with("override engine: large", {"engine=small"}), R"({"engine":{"size":1},"spare":{"size":1}})");
  // Only the entry with the group decides whether the file may be missing.
  EXPECT_EQ(with("optional override engine: missing"),
            "/conf/main.yaml:4:5: cannot read `/conf/engine/missing.yaml`: the file does not exist; accepted: a file "
            "below the root folder (--root)");
  EXPECT_EQ(with("override engine@spare: missing"), R"({"engine":{"speed":2}})");
}

TEST(Configuration, ScalarsFollowPyYaml) {
  EXPECT_EQ(resolved("a: True\nb: 'True'\nc: on\nd: 1_000\ne: \"no\"\nf: null\ng: 1e-6\nh: ~\ni: Yes please\n"),
            R"({"a":true,"b":"True","c":true,"d":1000,"e":"no","f":null,"g":1e-6,"h":null,"i":"Yes please"})");
  EXPECT_EQ(resolved("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n"),
            R"({"base":{"x":1,"y":2},"use":{"x":1,"y":3}})");
}

TEST(Configuration, OverrideMarkerReplacesAMap) {
  const Files files{{"/conf/main.yaml", "defaults: root.yaml\na:\n  _override_: true\n  b: 2\n"},
                    {"/conf/root.yaml", "a: {b: 1, c: 1}\n"}};
  EXPECT_EQ(json_of(composed(files)), R"({"a":{"b":2}})");
}

TEST(Configuration, InterpolationsAreResolved) {
  EXPECT_EQ(resolved("a: {b: 4, c: \"${.b}\", d: {e: \"${..b}\", f: \"${a.c}\"}}\nm: \"${a.d}\"\nt: n-${a.b}-x\n"),
            R"({"a":{"b":4,"c":4,"d":{"e":4,"f":4}},"m":{"e":4,"f":4},"t":"n-4-x"})");
  EXPECT_EQ(resolved("a: ${oc.env:HOME}\nb: ${oc.env:NONE,3}\nc: ${oc.env:NONE,null}\n", {{"HOME", "/home"}}),
            R"({"a":"/home","b":3,"c":null})");
  EXPECT_EQ(resolved("x: 3\na: ${oc.select:x,1}\nb: ${oc.select:y.z,[1]}\nc: ${oc.select:y}\nd: ${oc.select:y,${x}}\n"),
            R"({"x":3,"a":3,"b":[1],"c":null,"d":3})");
  EXPECT_EQ(resolved("x: 3\na: ${mul:${x}, 4}\nb: ${mul:${mul:${x},2},${.x}}\nc: ${max:${x},7}\n"),
            R"({"x":3,"a":12,"b":18,"c":7})");
  EXPECT_EQ(resolved("a: ${b.c}\nb: ${d}\nd: {c: 5}\n"), R"({"a":5,"b":{"c":5},"d":{"c":5}})");
  EXPECT_EQ(resolved("a: '\\${b}'\n"), R"({"a":"${b}"})");
}

TEST(Configuration, UnresolvedInterpolationsAreUnknown) {
  base::Result<SettingTree> tree =
      composed({{"/conf/main.yaml", "a: ${b}\nb: ${a}\nc: ${no.such}\nd: ${other:1}\ne: ${oc.env:N}\nf: 1\n"}});
  ASSERT_TRUE(resolve(*tree, {}).ok());
  for (const char* name : {"a", "c", "d", "e"})
    EXPECT_EQ(find_setting(tree->root, name)->kind, Setting::Kind::unknown) << name;
  EXPECT_EQ(find_setting(tree->root, "f")->text, "1");
  EXPECT_EQ(base::to_text(unknown_error(tree->sources, *find_setting(tree->root, "e")->unknown)),
            "/conf/main.yaml:5:4: environment variable `N` is unknown; accepted: `--env N=VALUE`");
  EXPECT_EQ(find_setting(tree->root, "c")->unknown->what, "`no.such`, a missing key,");
}

TEST(Configuration, ErrorsHaveAPlace) {
  EXPECT_EQ(json_of(composed({{"/conf/main.yaml", "a: 1\ndefaults: missing.yaml\n"}})),
            "/conf/main.yaml:2:11: cannot read `/conf/missing.yaml`: the file does not exist; accepted: a file below "
            "the root folder (--root)");
  EXPECT_EQ(
      json_of(composed({{"/conf/main.yaml", "defaults: main.yaml\n"}})),
      "/conf/main.yaml:1:1: `defaults` form a cycle, nest too deeply or include too many files; remove the cycle or "
      "some of the files");
  EXPECT_EQ(json_of(composed({{"/conf/main.yaml", "- 1\n"}})),
            "/conf/main.yaml:1:1: the file is not a map; accepted: a map from keys to values");
  EXPECT_EQ(json_of(composed({{"/conf/main.yaml", "defaults: [[a]]\n"}})),
            "/conf/main.yaml:1:12: an entry of `defaults` is neither a name nor a group; accepted: `NAME`, `GROUP: "
            "NAME` or `_self_`");
}

TEST(Configuration, GrowthIsBounded) {
  std::string yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) yaml += ", " + last;
    yaml += "]\n";
  }
  EXPECT_NE(json_of(composed({{"/conf/main.yaml", yaml}})).find("too many values"), std::string::npos);
  // The map and the list are values, too.
  std::string items = "1";
  for (int i = 1; i < 99'998; ++i) items += ",1";
  EXPECT_TRUE(composed({{"/conf/main.yaml", "a: [" + items + "]\n"}}).ok());
  EXPECT_EQ(json_of(composed({{"/conf/main.yaml", "a: [" + items + ",1]\n"}})),
            "/conf/main.yaml:1:1: the file has too many values; accepted: at most 100000");
  std::string doubling = "a0: 0123456789\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "${a" + std::to_string(i - 1) + "}";
    doubling += "a" + std::to_string(i) + ": x" + last + last + "\n";
  }
  EXPECT_FALSE(resolved(doubling).empty());
}

TEST(Configuration, BranchingCyclesAreTooLarge) {
  const std::string too_large =
      "/conf/main.yaml:1:1: the configuration is too large after interpolation; check it for circular references";
  EXPECT_EQ(resolved("a: {b: '${a}', c: '${a}'}\n"), too_large);
  EXPECT_EQ(resolved("a: ['${b}', '${b}']\nb: {x: '${a}', y: '${a}'}\n"), too_large);
  // Many references to one map are accepted.
  std::string wide = "a: {b: 1, c: '${a.b}', d: '${a.c}'}\n";
  for (int i = 0; i < 500; ++i) wide += "a" + std::to_string(i) + ": '${a}'\n";
  EXPECT_NE(resolved(wide).find(R"("a499":{"b":1,"c":1,"d":1})"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::syntax
