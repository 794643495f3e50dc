// The schemas of jobs and plans match the descriptors of the fields, with no missing or extra keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "plan/job.h"
#include "workflow/algorithms.h"

namespace dovetail::plan {
namespace {

using base::Document;
using base::Node;

Document read_schema(const std::string& name) {
  const std::string path = DOVETAIL_SOURCE_DIR "/schemas/" + name;
  return base::parse_json(base::read_file(path).value(), path).value();
}

const Document& job_schema() {
  static const Document document = read_schema("job@1.json");
  return document;
}

const Document& plan_schema() {
  static const Document document = read_schema("plan@1.json");
  return document;
}

/// A part of a schema file.
struct Schema {
  const Document* file;
  Node node;

  /// The schema at a path of keys.
  Schema at(const std::vector<std::string_view>& path) const {
    Schema found = *this;
    for (const std::string_view key : path) found.node = found.node.find(key).value();
    return found;
  }

  /// The value of `key` in this schema or in the schema that it refers to: "#/$defs/count", "job@1.json#/$defs/count".
  std::optional<Node> find(std::string_view key) const {
    if (const auto own = node.find(key)) return own;
    const auto reference = node.find("$ref");
    if (!reference) return std::nullopt;
    const std::string_view text = reference->text();
    const Document* other = text.starts_with("job@1.json") ? &job_schema() : file;
    const std::string_view path = text.substr(text.find("#/") + 2);
    const std::size_t slash = path.find('/');
    return Schema{other, other->root()}.at({path.substr(0, slash), path.substr(slash + 1)}).find(key);
  }

  /// The canonical text of the value at `key`, or "none" if there is no such key.
  std::string text_of(std::string_view key) const {
    const auto value = find(key);
    return value ? base::canonical_json(*value) : "none";
  }
};

std::string canonical(const std::string& json) { return base::canonical_json(json); }

// Expected schemas by kind of field.

void expect_match(const Schema& schema, const base::Integer& kind) {
  EXPECT_EQ(schema.text_of("type"), R"("integer")");
  EXPECT_EQ(schema.text_of("minimum"), std::to_string(kind.min));
  EXPECT_EQ(schema.text_of("maximum"), std::to_string(kind.max));
}

void expect_match(const Schema& schema, const base::Number& kind) {
  EXPECT_EQ(schema.text_of("type"), R"("number")");
  EXPECT_EQ(schema.text_of("minimum"), canonical(base::json_of(kind, kind.min)));
  const bool open = schema.find("exclusiveMaximum").has_value();  // upper limit just below an integer
  EXPECT_NEAR(std::stod(schema.text_of(open ? "exclusiveMaximum" : "maximum")), kind.max, 1e-6);
}

void expect_match(const Schema& schema, base::Flag) { EXPECT_EQ(schema.text_of("type"), R"("boolean")"); }

void expect_match(const Schema& schema, base::Name) { EXPECT_EQ(schema.text_of("type"), R"("string")"); }

void expect_match(const Schema& schema, base::Seconds) {
  EXPECT_EQ(schema.text_of("type"), R"("number")");
  EXPECT_EQ(schema.text_of("minimum"), "0");
}

void expect_match(const Schema& schema, const base::IntegerList& kind) {
  EXPECT_EQ(schema.text_of("type"), R"("array")");
  expect_match(schema.at({"items"}), base::Integer{kind.min, kind.max});
}

std::vector<std::string_view> names_in(const Schema& schema) {
  std::vector<std::string_view> names;
  const Node list = schema.find("enum").value();
  for (std::size_t index = 0; index < list.size(); ++index) names.push_back(list.item(index).text());
  return names;
}

/// Checks that `properties` are `keys`, and that those that are fields of T have the descriptor's limits, names (except
/// `rejected`) and defaults. Defaults that differ between algorithms may be missing.
template <class T>
void expect_fields(const Schema& properties, const std::vector<std::string_view>& keys,
                   std::string_view rejected = {}) {
  std::vector<std::string_view> found;
  for (std::size_t index = 0; index < properties.node.size(); ++index) found.push_back(properties.node.key(index));
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(keys));
  base::for_each_field<T>([&](const auto& field) {
    if (!properties.node.find(field.key)) return;
    SCOPED_TRACE(field.key);
    const Schema schema = properties.at({field.key});
    const auto usual = T{}.*field.member;
    if constexpr (std::is_same_v<decltype(field.kind), base::Choice>) {
      auto names = base::enum_names<std::remove_const_t<decltype(usual)>>();
      std::erase(names, rejected);
      EXPECT_EQ(names_in(schema), names);
    } else {
      expect_match(schema, field.kind);
    }
    if (const auto given = schema.find("default")) {
      EXPECT_EQ(base::canonical_json(*given), canonical(base::json_of(field.kind, usual)));
    }
  });
}

TEST(PlanSchema, HasTheFieldsOfATaskPlan) {
  const Schema definitions = Schema{&plan_schema(), plan_schema().root()}.at({"$defs"});
  const Schema task = definitions.at({"task", "properties"});
  expect_fields<llm::Layout>(definitions.at({"layout", "properties"}), base::keys_of<llm::Layout>());
  expect_fields<Engine>(task.at({"engine", "properties"}), base::keys_of<Engine>());
  expect_fields<MicroBatching>(task.at({"micro_batch", "properties"}), base::keys_of<MicroBatching>());
}

TEST(PlanSchema, HasTheValuesOfOffload) {
  const Schema items =
      Schema{&plan_schema(), plan_schema().root()}.at({"$defs", "task", "properties", "offload", "items"});
  EXPECT_EQ(names_in(items), base::keys_of<Offload>());
}

TEST(JobSchema, HasTheFieldsOfSoftware) {
  const Schema properties = Schema{&job_schema(), job_schema().root()}.at({"properties", "software", "properties"});
  expect_fields<Software>(properties, base::keys_of<Software>());
}

TEST(JobSchema, HasTheOptionsOfEachAlgorithm) {
  const Schema definitions = Schema{&job_schema(), job_schema().root()}.at({"$defs"});
  for (const workflow::Algorithm& algorithm : workflow::algorithms()) {
    SCOPED_TRACE(algorithm.name);
    const bool online = algorithm.options.size() == base::member_count<workflow::AlgorithmOptions>;
    const char* const name = online ? "online_algorithm" : algorithm.options.empty() ? "training" : "dpo";
    std::vector<std::string_view> keys = algorithm.options;
    keys.push_back("name");
    expect_fields<workflow::AlgorithmOptions>(definitions.at({name, "properties"}), keys,
                                              algorithm.may_skip_reference ? "" : "skip");
  }
}

}  // namespace
}  // namespace dovetail::plan
