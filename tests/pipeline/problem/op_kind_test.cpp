#include "pipeline/problem/op_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "base/file.h"
#include "pipeline/schedule/op_graph.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::pipeline {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(OpKind, ALetterNamesItsKind) {
  for (const OpTraits& traits : op_table) EXPECT_EQ(op_kind_of(std::string(1, traits.letter)), traits.kind);
  for (const char* none : {"", "f", "X", "FB"}) EXPECT_EQ(op_kind_of(none), std::nullopt) << none;
}

TEST(OpKind, MessagesListAllLetters) {
  EXPECT_EQ(op_letters(", "), "F, B, I, W, S");
  EXPECT_EQ(op_letters(" or "), "F, B, I, W or S");
}

TEST(OpKind, FindsOpsOfOtherKinds) {
  constexpr std::array known{OpKind::F, OpKind::B};
  Problem problem =
      test::problem_of(2, {test::chain_model("actor", {0, 1}, 2, 3, 4), test::chain_model("critic", {0, 1}, 2, 3, 4)});
  EXPECT_EQ(find_other_ops(problem, known), std::nullopt);
  problem.models[1].weight_gradient = {Ticks(2), Ticks(2)};
  EXPECT_THAT(find_other_ops(problem, known), Optional(std::string("model critic splits its backward")));
  EXPECT_EQ(find_other_ops(problem, pass_kinds), std::nullopt);
  problem.models[0].minibatches = 2;
  EXPECT_THAT(find_other_ops(problem, pass_kinds), Optional(std::string("model actor has optimizer steps")));
  EXPECT_EQ(find_other_ops(problem, problem_solver_kinds), std::nullopt);
}

TEST(OpKind, EachListOfDurationsIsVisitedOnce) {
  Model model;
  std::vector<const std::vector<Ticks>*> visited;
  for_each_duration(model, [&](const std::vector<Ticks>& times, const OpTraits&) { visited.push_back(&times); });
  EXPECT_THAT(visited,
              testing::UnorderedElementsAre(&model.forward, &model.backward, &model.weight_gradient, &model.step));
}

/// Returns the kinds that `model` has according to the traits, with its backward in one form.
std::set<OpKind> kinds_of(const Model& model, BackwardForm form) {
  const bool whole = form == BackwardForm::whole || !model.split();
  std::set<OpKind> kinds;
  for (const OpTraits& traits : op_table)
    if (traits.is_in(model) && traits.backward != (whole ? BackwardPart::half : BackwardPart::whole))
      kinds.insert(traits.kind);
  return kinds;
}

RC_GTEST_PROP(OpKind, LoweringMatchesTheTraits, ()) {
  const Problem problem = *test::problems();
  const BackwardForm form = *rc::gen::element(BackwardForm::whole, BackwardForm::split);
  const OpGraph graph = lower(problem, form).graph;
  std::vector<std::set<OpKind>> kinds(problem.models.size());
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const OpLabel& label = graph.labels[op];
    const Model& model = problem.models[label.model.index()];
    const OpTraits& traits = traits_of(label.kind);
    kinds[label.model.index()].insert(label.kind);
    RC_ASSERT(label.microbatch.value < (traits.per_minibatch ? model.minibatches : model.total_microbatches()));
    if (traits.backward != BackwardPart::whole || !model.split())
      RC_ASSERT(graph.duration[op] == (model.*traits.duration)[label.stage.index()]);
  }
  for (std::size_t model = 0; model < kinds.size(); ++model)
    RC_ASSERT(kinds[model] == kinds_of(problem.models[model], form));
}

TEST(OpKind, SchemasListTheLettersOfTheTable) {
  std::string letters;
  for (const OpTraits& traits : op_table)
    letters += (letters.empty() ? "\"" : ", \"") + std::string(1, traits.letter) + "\"";
  const std::regex list(R"re("enum": \[("[A-Z]"(, "[A-Z]")*)\])re");
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(DOVETAIL_SOURCE_DIR "/schemas")) {
    const std::string text = base::read_file(entry.path().string()).value();
    for (auto found = std::sregex_iterator(text.begin(), text.end(), list); found != std::sregex_iterator(); ++found) {
      EXPECT_EQ((*found)[1].str(), letters) << entry.path();
      files.insert(entry.path().filename().string());
    }
  }
  EXPECT_THAT(files, ElementsAre("diff@1.json", "schedule@1.json"));
}

}  // namespace
}  // namespace dovetail::pipeline
