#include "syntax/override.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dovetail::syntax {
namespace {

const std::vector<std::string> sources{"run.sh"};
const Place place{.source = 0, .line = 3, .column = 5};

Word word(std::string_view text) { return {.text = text_of(text), .place = place, .condition = {}}; }

std::string value(std::string_view text) {
  const base::Result<Setting> setting = parse_value(text, place, sources);
  return setting.ok() ? to_json(*setting) : base::to_text(setting.error());
}

TEST(Override, ValuesFollowHydra) {
  const std::vector<std::pair<std::string, std::string>> values{
      {"1", "1"},
      {"-1.5", "-1.5"},
      {"1e-6", "1e-6"},
      {"1_000", "1000"},
      {"", "\"\""},
      {"null", "null"},
      {"True", "true"},
      {"FALSE", "false"},
      {"None", "\"None\""},
      {"'1'", "\"1\""},
      {"\"a, b\"", "\"a, b\""},
      {"'it\\'s'", "\"it's\""},
      {"org/model-7B.v1:x", "\"org/model-7B.v1:x\""},
      {"two words", "\"two words\""},
      {"a\\,b", "\"a,b\""},
      {"[]", "[]"},
      {"[a, 'b c',[1,null]]", "[\"a\",\"b c\",[1,null]]"},
      {"['$HOME/x.parquet', \"y\"]", "[\"$HOME/x.parquet\",\"y\"]"},
      {"{a: 1, b: {c: [x]}}", "{\"a\":1,\"b\":{\"c\":[\"x\"]}}"},
      {"{}", "{}"},
      {"${a.b}", "\"${a.b}\""},
      {"x_${oc.env:A,{b}}_${c}", "\"x_${oc.env:A,{b}}_${c}\""},
  };
  for (const auto& [text, json] : values) EXPECT_EQ(value(text), json) << text;
}

TEST(Override, ErrorsInValuesHaveAPlace) {
  const std::vector<std::pair<std::string, std::string>> faults{
      {"a,b", "the value is a sweep over several runs; accepted: one value, with lists in `[...]`"},
      {"range(1,3)", "an unquoted `(` calls a Hydra function; accepted: a plain value, or text in quotes"},
      {"[a", "the list is not closed, or its items are not separated by commas; accepted: `[a, b]`"},
      {"{a}", "a key of the map has no value; accepted: `{key: value}`"},
      {"'a", "the quote is not closed; accepted: text in quotes"},
      {"'a'b", "unexpected text after a closing quote; accepted: quoted text alone"},
      {"a]", "unquoted text contains `]`; put the text in quotes"},
      {"${a", "`${` is not closed; accepted: `${key}`"},
      {"[1] 2", "unexpected text after the value; accepted: one value"},
  };
  for (const auto& [text, message] : faults) EXPECT_EQ(value(text), "run.sh:3:5: " + message) << text;
  EXPECT_NE(value(std::string(100'000, '[')).find("nested too deeply"), std::string::npos);
}

TEST(Override, FormsAreDistinguished) {
  const auto kind = [](std::string_view text) { return parse_override(word(text), sources)->kind; };
  EXPECT_EQ(kind("a.b=1"), Override::Kind::change);
  EXPECT_EQ(kind("+a.b=1"), Override::Kind::add);
  EXPECT_EQ(kind("++a.b=1"), Override::Kind::force);
  EXPECT_EQ(kind("~a.b"), Override::Kind::remove);
  const base::Result<Override> group = parse_override(word("actor@roles.actor=wide"), sources);
  EXPECT_EQ(group->key, "actor");
  EXPECT_EQ(group->package, "roles.actor");
  for (const char* text : {"--config-name=x", "a b=1", "plain", "=1", ".=1", "", "~", "~."}) {
    EXPECT_FALSE(is_override(word(text))) << text;
    EXPECT_FALSE(parse_override(word(text), sources).ok()) << text;
  }
  EXPECT_EQ(base::to_text(parse_override(word("+++a=1"), sources).error()),
            "run.sh:3:5: `+++a=1` is not an override; accepted: `key=value`, `+key=value`, `++key=value`, `~key`, "
            "`~key=value`");
}

TEST(Override, UnknownValuesStayUnknown) {
  Word unknown = word("a.n=");
  append(unknown.text,
         text_of(Unknown{.place = place, .what = "the output of `probe`", .variable = "N", .many = false}));
  const base::Result<Override> one = parse_override(unknown, sources);
  EXPECT_EQ(one->key, "a.n");
  EXPECT_EQ(one->value->kind, Setting::Kind::unknown);
  EXPECT_EQ(one->value->unknown->variable, "N");
  Word conditional = word("a.n=4");
  conditional.condition = Unknown{.place = place, .what = "whether", .variable = "M", .many = false};
  const base::Result<Override> other = parse_override(conditional, sources);
  EXPECT_EQ(other->value->text, "4");
  EXPECT_EQ(other->value->unknown->variable, "M");
}

std::string applied(const std::vector<std::string>& words) {
  SettingTree tree;
  tree.sources = sources;
  put_setting(tree.root, "a.b", *parse_value("1", place, sources));
  put_setting(tree.root, "files", *parse_value("[x, y]", place, sources));
  std::vector<Override> overrides;
  for (const std::string& text : words) overrides.push_back(*parse_override(word(text), sources));
  const base::Status status = apply_overrides(tree, overrides);
  return status.ok() ? to_json(tree.root) : base::to_text(status.error());
}

TEST(Override, ChangesTheTreeLikeHydra) {
  EXPECT_EQ(applied({"a.b=2", "+a.c.d=3", "++e=[1]", "files.1=z"}),
            R"({"a":{"b":2,"c":{"d":3}},"files":["x","z"],"e":[1]})");
  EXPECT_EQ(applied({"+a={c: 1}", "~files"}), R"({"a":{"b":1,"c":1}})");
  EXPECT_EQ(applied({"a.b=null", "+a.b=3", "+files=[z]"}), R"({"a":{"b":3},"files":["z"]})");
  EXPECT_EQ(applied({"a.c=1"}),
            "run.sh:3:5: there is no key `a.c`; accepted: an existing key, or `+a.c=...` to add it");
  EXPECT_EQ(applied({"+a.b=1"}), "run.sh:3:5: `a.b` already exists; accepted: `++a.b=...`, which replaces it");
  EXPECT_EQ(applied({"~a.b=1", "~files=[x,y]"}), R"({"a":{}})");
  EXPECT_EQ(applied({"~a.b=2"}),
            "run.sh:3:5: `a.b` does not have the value that the override removes; accepted: its current value, or "
            "`~a.b`");
  EXPECT_EQ(applied({"~x"}), "run.sh:3:5: cannot remove `x`; accepted: an existing key of a map");
  EXPECT_EQ(applied({"+files.9=z"}),
            "run.sh:3:5: `files.9` is inside a value that is not a map; accepted: a key of a map");
}

RC_GTEST_PROP(Override, QuotedTextsRoundTrip, (const std::string& text)) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  const base::Result<Setting> setting = parse_value(quoted + "'", place, sources);
  RC_ASSERT(setting.ok());
  RC_ASSERT(setting->text == text);
}

RC_GTEST_PROP(Override, RandomValuesAreReadOrRejected, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("a1.,:=[]{}'\"\\ $(")));
  const base::Result<Setting> setting = parse_value(text, place, sources);
  if (!setting.ok()) RC_ASSERT(setting.error().line == 3);
}

}  // namespace
}  // namespace dovetail::syntax
