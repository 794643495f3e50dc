#include "base/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace dovetail::base {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string place(const Node& node) { return std::to_string(node.line()) + ":" + std::to_string(node.column()); }
std::string json_error(std::string_view content) { return to_text(parse_json(content, "f").error()); }
std::string yaml_error(std::string_view content) { return to_text(parse_yaml(content, "f").error()); }

/// A document as nlohmann's value, to compare with what nlohmann itself reads. Numbers are kept as their text.
nlohmann::json to_value(const Node& node) {
  if (node.is_list()) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < node.size(); ++i) list.push_back(to_value(node.item(i)));
    return list;
  }
  if (node.is_map()) {
    nlohmann::json map = nlohmann::json::object();
    for (std::size_t i = 0; i < node.size(); ++i) map[std::string(node.key(i))] = to_value(node.value(i));
    return map;
  }
  if (node.is_null()) return nullptr;
  if (node.is_boolean()) return node.text() == "true";
  if (node.is_number()) return nlohmann::json::parse(node.text());
  return std::string(node.text());
}

constexpr std::string_view sample_json =
    "{\"a\": 1,\n  \"b\": [true, null, \"x\\\"\\u00e9\"],\n  \"c\": {\"d\": -2.50e1}\n}\n";

void expect_sample(const Document& document) {
  const Node root = document.root();
  ASSERT_TRUE(root.is_map());
  ASSERT_EQ(root.size(), 3U);
  EXPECT_EQ(root.key(1), "b");
  EXPECT_EQ(place(root.key_node(1)), "2:3");
  EXPECT_EQ(root.find("a")->text(), "1");
  EXPECT_EQ(place(*root.find("a")), "1:7");
  const Node list = *root.find("b");
  ASSERT_TRUE(list.is_list());
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(list.item(0).is_boolean());
  EXPECT_TRUE(list.item(1).is_null());
  EXPECT_TRUE(list.item(2).is_string());
  EXPECT_EQ(list.item(2).text(), "x\"\xC3\xA9");
  EXPECT_EQ(place(list.item(2)), "2:21");
  const Node number = root.value(2).value(0);
  EXPECT_TRUE(number.is_number());
  EXPECT_EQ(number.text(), "-2.50e1");
  EXPECT_EQ(place(number), "3:14");
  EXPECT_EQ(root.find("d"), std::nullopt);
}

TEST(Document, JsonAndYamlReadTheSameWithPlaces) {
  expect_sample(parse_json(sample_json, "f").value());
  expect_sample(parse_yaml(sample_json, "f").value());
  expect_sample(parse_yaml_or_json(sample_json, "f").value());
}

TEST(Document, StoresItsPath) {
  EXPECT_EQ(parse_json("1", "a/b.json")->path(), "a/b.json");
  EXPECT_EQ(to_text(parse_json(" 1", "f")->root().error("is wrong")), "f:1:2: is wrong");
}

TEST(Document, StaysValidWhenMoved) {
  Document first = parse_json(sample_json, "f").value();
  const Document second = std::move(first);
  expect_sample(second);
}

TEST(Yaml, ResolvesPlainScalars) {
  const Document document =
      parse_yaml("[1, +2.5e3, .5, 5., '1', \"true\", true, True, no, ~, null, '', abc, 1_000, 0x10, .inf, 12:30]", "f")
          .value();
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < document.root().size(); ++i) kinds.emplace_back(document.root().item(i).kind_name());
  const std::string n = "a number", s = "a string";
  EXPECT_THAT(kinds, testing::ElementsAre(n, n, n, n, s, s, "true or false", s, s, "null", "null", s, s, s, s, s, s));
}

TEST(Yaml, BlockStyleHasPlaces) {
  const Document document = parse_yaml("# comment\na: 1\nb:\n  - x\n  - c: |\n      text\nd:\n", "f").value();
  const Node root = document.root();
  EXPECT_EQ(place(root), "2:1");
  EXPECT_EQ(place(root.find("b")->item(0)), "4:5");
  EXPECT_EQ(root.find("b")->item(1).find("c")->text(), "text\n");
  EXPECT_TRUE(root.find("d")->is_null());
}

TEST(Yaml, AliasesShareTheValueOfTheirAnchor) {
  const Document document = parse_yaml("a: &x [1, 2]\nb: *x\nc: &y 7\nd: *y\n", "f").value();
  EXPECT_EQ(document.root().find("b")->item(1).text(), "2");
  EXPECT_EQ(place(*document.root().find("b")), "1:4");
  EXPECT_EQ(document.root().find("d")->text(), "7");
  EXPECT_EQ(yaml_error("a: &x [1, *x]"),
            "f:1:11: an alias refers to a value that contains it; accepted: an alias of a value that ends before it");
  EXPECT_EQ(yaml_error("a: *x"),
            "f:1:4: not valid YAML: the referenced anchor is not defined; accepted: YAML 1.2 or JSON");
}

TEST(Yaml, AliasesOfAliasesTakeNoSpace) {
  // Written out, this would be 9^60 values.
  std::ostringstream content;
  content << "a0: &a0 [1]\n";
  for (int i = 1; i <= 60; ++i) {
    content << "a" << i << ": &a" << i << " [*a" << i - 1;
    for (int k = 0; k < 8; ++k) content << ", *a" << i - 1;
    content << "]\n";
  }
  EXPECT_EQ(parse_yaml(content.str(), "f")->root().find("a60")->size(), 9U);
}

TEST(Yaml, RejectsSeveralOrEmptyDocuments) {
  EXPECT_EQ(yaml_error("a: 1\n---\nb: 2\n"),
            "f:2:1: unexpected content after the end of the document; accepted: one YAML document per file");
  EXPECT_EQ(yaml_error("# only a comment\n"), "f:1:1: the file contains no value; accepted: a YAML or JSON document");
  EXPECT_EQ(parse_yaml("---\na: 1\n...\n", "f")->root().size(), 1U);
}

TEST(Yaml, ReportsSyntaxErrors) {
  EXPECT_EQ(yaml_error("a: [1, 2\nb: 3\n"),
            "f:2:2: not valid YAML: end of sequence flow not found; accepted: YAML 1.2 or JSON");
  EXPECT_THAT(yaml_error("[1, 2"), HasSubstr("not valid YAML: end of sequence flow not found"));
  EXPECT_EQ(yaml_error("a: 'b"), "f:1:6: not valid YAML: illegal EOF in scalar; accepted: YAML 1.2 or JSON");
  EXPECT_EQ(yaml_error("a: !!str 5"), "f:1:4: unsupported tag `tag:yaml.org,2002:str`; accepted: values without tags");
  EXPECT_EQ(yaml_error("? [a]\n: 1"), "f:1:3: a key is a list; accepted: a string");
  EXPECT_EQ(yaml_error("~: 1"), "f:1:1: a key is null; accepted: a string");
}

TEST(Json, ReportsSyntaxErrorsWithTheirPlace) {
  EXPECT_EQ(json_error("[1,,2]"),
            "f:1:4: not valid JSON: syntax error while parsing value - unexpected ','; expected '[', '{', or a "
            "literal; accepted: JSON "
            "(RFC 8259)");
  EXPECT_EQ(json_error("{\"a\"\n \"b\"}"),
            "f:2:2: not valid JSON: syntax error while parsing object separator - unexpected string literal; expected "
            "':'; accepted: JSON "
            "(RFC 8259)");
  EXPECT_EQ(json_error("[1, 2\n"),
            "f:2:1: not valid JSON: syntax error while parsing array - unexpected end of input; expected ']'; "
            "accepted: JSON (RFC 8259)");
  EXPECT_EQ(json_error("[1] 2"),
            "f:1:5: not valid JSON: syntax error while parsing value - unexpected number literal; expected end of "
            "input; accepted: JSON "
            "(RFC 8259)");
  EXPECT_EQ(json_error("[trux]"),
            "f:1:5: not valid JSON: syntax error while parsing value - invalid literal; accepted: JSON (RFC 8259)");
  EXPECT_EQ(json_error("[1e999]"), "f:1:2: the number is out of range; accepted: -1.79e308 to 1.79e308");
  EXPECT_EQ(
      json_error("\"a\nb\""),
      "f:1:3: not valid JSON: syntax error while parsing value - invalid string: control character U+000A (LF) must "
      "be escaped to \\u000A or \\n; accepted: JSON (RFC 8259)");
  EXPECT_EQ(json_error("{\"a\":\n " + std::string(400, '9') + "}"),
            "f:2:2: the number is out of range; accepted: -1.79e308 to 1.79e308");
}

TEST(Document, RejectsDuplicateKeysAtTheSecond) {
  const std::string expected = "f:2:3: duplicate key `a`; each key may appear only once";
  EXPECT_EQ(json_error("{\"a\": 1,\n  \"a\": 2}"), expected);
  EXPECT_EQ(yaml_error("{\"a\": 1,\n  \"a\": 2}"), expected);
  EXPECT_EQ(to_text(parse_yaml_or_json("{\"a\": 1,\n  \"a\": 2}", "f").error()), expected);
  EXPECT_EQ(yaml_error("a: 1\nb: 2\na: 3"), "f:3:1: duplicate key `a`; each key may appear only once");
  EXPECT_EQ(json_error("[{\"b\": {\"a\": 1, \"\\u0061\": 2}}]"),
            "f:1:17: duplicate key `a`; each key may appear only once");
}

TEST(Document, RejectsInvalidText) {
  for (const auto& error : {json_error, yaml_error}) {
    EXPECT_EQ(error(std::string_view("a: 1\nb: \0", 9)),
              "f:2:4: control character 0x00; accepted: text, tab and line ends");
    EXPECT_EQ(error("a: \x04"), "f:1:4: control character 0x04; accepted: text, tab and line ends");
    EXPECT_EQ(error("a: \xFF"), "f:1:4: byte 0xFF is not UTF-8; accepted: UTF-8 text");
    EXPECT_EQ(error("\xFF\xFE{"), "f:1:1: byte 0xFF is not UTF-8; accepted: UTF-8 text");
  }
}

TEST(Document, RejectsAnEmptyFile) {
  for (const char* empty : {"", "\xEF\xBB\xBF \n\t\r\n"}) {
    EXPECT_EQ(json_error(empty), "f:1:1: the file is empty; accepted: a JSON document");
    EXPECT_EQ(yaml_error(empty), "f:1:1: the file is empty; accepted: a YAML or JSON document");
  }
}

TEST(Document, ToleratesAByteOrderMark) {
  EXPECT_EQ(place(*parse_json("\xEF\xBB\xBF{\"a\": 1}", "f")->root().find("a")), "1:7");
  EXPECT_EQ(place(*parse_yaml("\xEF\xBB\xBF"
                              "a: 1",
                              "f")
                       ->root()
                       .find("a")),
            "1:4");
  EXPECT_TRUE(parse_yaml_or_json("\xEF\xBB\xBF{\"a\": 1}", "f").ok());
}

TEST(Document, RejectsASecondByteOrderMark) {
  constexpr std::string_view twice = "\xEF\xBB\xBF\xEF\xBB\xBF{\"a\": 1}";
  EXPECT_EQ(json_error(twice), "f:1:1: a second byte order mark; accepted: one at the start");
  EXPECT_EQ(yaml_error(twice), "f:1:1: a second byte order mark; accepted: one at the start");
}

TEST(Document, BracesAreJsonOrYaml) {
  EXPECT_TRUE(parse_yaml_or_json("{a: 1}", "f.yaml").ok());
  EXPECT_THAT(to_text(parse_yaml_or_json("{a: 1}", "f.json").error()), StartsWith("f.json:1:2: not valid JSON"));
  EXPECT_THAT(to_text(parse_yaml_or_json("{a: [1}", "f.yaml").error()), HasSubstr("not valid YAML"));
  EXPECT_TRUE(parse_yaml_or_json("a: 1", "f.json").ok());
}

TEST(Document, BrokenJsonIsShownWhereItBreaks) {
  const std::string truncated = "{\"a\": 1,\n \"b\": [1, 2";
  for (const char* path : {"f.json", "-", "f.yaml"}) {
    EXPECT_EQ(to_text(parse_yaml_or_json(truncated, path).error()),
              std::string(path) +
                  ":2:12: not valid JSON: syntax error while parsing array - unexpected end of input; expected ']'; "
                  "accepted: "
                  "JSON (RFC 8259)");
  }
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Document, DeepNestingIsAnErrorNotACrash) {
  constexpr int depth = 100'000;
  EXPECT_THAT(json_error(repeated("[", depth)), HasSubstr("unexpected end of input"));
  EXPECT_THAT(yaml_error(repeated("[", depth)),
              HasSubstr("lists and maps are nested too deeply; accepted: at most 499 levels"));
  EXPECT_TRUE(parse_yaml(repeated("[", 499) + repeated("]", 499), "f").ok());
  EXPECT_FALSE(parse_yaml(repeated("[", 500) + repeated("]", 500), "f").ok());
  EXPECT_THAT(yaml_error(repeated("- ", depth)), HasSubstr("nested too deeply"));
  EXPECT_THAT(yaml_error(repeated("{a: ", depth)), HasSubstr("nested too deeply"));
  EXPECT_TRUE(parse_json(repeated("[", depth) + repeated("]", depth), "f").ok());
}

TEST(Document, LongRepetitionsNeitherCrashNorHang) {
  for (const char* piece :
       {"{\"a\":", "[1,",   "a: ", "? ",  "\"",      "'",     "&a ",   "*a ",   "!a ", "a:\n", "[]\n",
        "- [",     "%",     "| ",  "-\n", "? a\n: ", "---\n", "#",     "{a: [", "!!",  "!<",   ",",
        ":",       "[a,\n", "-\t", "\r",  "...\n",   "{? ",   "\"\\n", "\t",    "a\n", ">"}) {
    const std::string content = repeated(piece, 20'000);
    (void)parse_json(content, "f");
    (void)parse_yaml(content, "f");
  }
}

RC_GTEST_PROP(Document, RandomBytesNeverCrash, (const std::string& garbage)) {
  (void)parse_json(garbage, "f");
  (void)parse_yaml(garbage, "f");
  (void)parse_yaml_or_json(std::string("{") + garbage, "f");
}

RC_GTEST_PROP(Document, RandomSyntaxIsReadOrRefusedButNeverCrashes, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("{", "}", "[", "]", ",", ": ", ":", "- ", "\n", "\n  ", "a", "b", "1", "-2.5",
                                    "\"x\"", "'y'", "&a ", "*a", "? ", "|\n", "# c", "~", "---\n", "!t "));
  std::string content;
  for (const std::string& piece : pieces) content += piece;
  (void)parse_json(content, "f");
  const Result<Document> document = parse_yaml(content, "f");
  if (document.ok()) (void)document->root().describe();
}

RC_GTEST_PROP(Document, JsonIsReadAsNlohmannReadsIt, ()) {
  const auto words =
      rc::gen::container<std::string>(rc::gen::element<char>('a', 'b', '"', '\\', '\n', ' ', '{', '\x01'));
  nlohmann::json value = nlohmann::json::array();
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    nlohmann::json inner = nlohmann::json::object();
    for (int k = *rc::gen::inRange(0, 5); k > 0; --k) inner[*words] = *rc::gen::arbitrary<int>();
    value.push_back(*rc::gen::arbitrary<bool>() ? inner : nlohmann::json(*words));
  }
  const std::string content = value.dump(*rc::gen::inRange(-1, 3));
  RC_ASSERT(to_value(parse_json(content, "f")->root()) == value);
}

TEST(CheckKeys, NamesTheNearestAcceptedKey) {
  const std::vector<std::string_view> accepted = {"forward", "backward"};
  const auto error = [&](std::string_view content) {
    const Document document = parse_yaml(content, "f").value();
    return to_text(check_keys(document.root(), "a model", accepted).error());
  };
  EXPECT_EQ(error("forward: 1\nfoward: 2"),
            "f:2:1: unknown key `foward` in a model; did you mean `forward`? accepted: forward, backward");
  EXPECT_EQ(error("xyz: 2"), "f:1:1: unknown key `xyz` in a model; accepted: forward, backward");
  EXPECT_EQ(error("[1]"), "f:1:1: a model must be a map, not a list; accepted keys: forward, backward");
  EXPECT_EQ(error("\"a\\nb\": 2"), "f:1:1: unknown key `a\\u000Ab` in a model; accepted: forward, backward");
}

TEST(CheckKeys, AcceptsAnySubset) {
  const Document document = parse_yaml("{backward: 1}", "f").value();
  EXPECT_TRUE(check_keys(document.root(), "a model", {"forward", "backward"}).ok());
}

TEST(Require, ReportsTheMissingKey) {
  const Document document = parse_yaml("\n  a: 1", "f").value();
  EXPECT_EQ(require(document.root(), "a model", "a")->text(), "1");
  EXPECT_EQ(to_text(require(document.root(), "a model", "b").error()), "f:2:3: a model needs the key `b`");
  EXPECT_EQ(to_text(require(document.root(), "a model", "b", "`b: 1`").error()),
            "f:2:3: a model needs the key `b`; accepted: `b: 1`");
  EXPECT_EQ(to_text(require(*document.root().find("a"), "a model", "b").error()),
            "f:2:6: a model must be a map, not 1; accepted: a map with the key `b`");
}

TEST(ReadWhole, ReadsNumbersInTheRange) {
  const Document document = parse_yaml("[0, 7, -3, 2.0, 1e2, 9223372036854775807, -9223372036854775807]", "f").value();
  const auto read = [&](std::size_t i) {
    return read_integer(document.root().item(i), "it", -9223372036854775807, 9223372036854775807).value();
  };
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(read(1), 7);
  EXPECT_EQ(read(2), -3);
  EXPECT_EQ(read(3), 2);
  EXPECT_EQ(read(4), 100);
  EXPECT_EQ(read(5), 9223372036854775807);
  EXPECT_EQ(read(6), -9223372036854775807);
}

TEST(ReadWhole, ReportsTheRange) {
  const Document document = parse_yaml("[0, 11, 1.5, x, '5', [1], {}, ~, true, 1e30]", "f").value();
  const auto error = [&](std::size_t i) {
    return read_integer(document.root().item(i), "`devices`", 1, 10).error().message;
  };
  const std::string range = "`devices` must be an integer from 1 to 10, not ";
  EXPECT_EQ(error(0), range + "0");
  EXPECT_EQ(error(1), range + "11");
  EXPECT_EQ(error(2), range + "1.5");
  EXPECT_EQ(error(3), range + "the string `x`");
  EXPECT_EQ(error(4), range + "the string `5`");
  EXPECT_EQ(error(5), range + "a list");
  EXPECT_EQ(error(6), range + "a map");
  EXPECT_EQ(error(7), range + "null");
  EXPECT_EQ(error(8), range + "true");
  EXPECT_EQ(error(9), range + "1e30");
}

TEST(Quote, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(quote("abc"), "`abc`");
  const std::string longest(60, 'x');
  EXPECT_EQ(quote(longest), std::string("`") + longest + "`");
  EXPECT_EQ(quote(std::string(61, 'x')), std::string("`") + longest + "...`");
  EXPECT_EQ(quote(std::string(59, 'x') + "\xE2\x82\xAC"), std::string("`") + std::string(59, 'x') + "...`");
}

}  // namespace
}  // namespace dovetail::base
