#include "workflow/workflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace dovetail::workflow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Keys = std::vector<std::string>;

Role role(std::string name) {
  Role made;
  made.name = std::move(name);
  return made;
}

Task task(std::string name, TaskKind kind, std::string role_name, Keys inputs, Keys outputs) {
  Task made;
  made.name = std::move(name);
  made.kind = kind;
  made.role = std::move(role_name);
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  return made;
}

/// Generation, a rule and a reference that infer on the responses, and training.
struct FileParts {
  std::vector<Role> roles{role("actor"), role("reference")};
  std::vector<Task> tasks{task("train", TaskKind::train, "actor", {"responses", "scores", "kl"}, {"loss"}),
                          task("generate", TaskKind::generate, "actor", {"prompts"}, {"responses"}),
                          task("judge", TaskKind::rule, "", {"responses", "answers"}, {"scores"}),
                          task("infer", TaskKind::infer, "reference", {"prompts", "responses"}, {"kl"})};
};

std::string fault_of(const FileParts& parts) {
  const auto fault = find_fault(parts.roles, parts.tasks);
  if (!fault) return "no fault";
  return std::string(fault->in_roles ? "role " : "task ") + std::to_string(fault->index) + " " +
         std::string(fault->key) + " " + std::to_string(fault->item) + ": " + fault->message;
}

template <class Change>
std::string fault_after(const Change& change) {
  FileParts parts;
  change(parts);
  return fault_of(parts);
}

Workflow workflow_of(const FileParts& parts) { return make_workflow("custom", parts.roles, parts.tasks); }

TEST(Workflow, ResolvesKeysToEdges) {
  const Workflow workflow = workflow_of({});
  EXPECT_THAT(workflow.data_edges,
              ElementsAre(DataEdge{TaskId(1), TaskId(0), {"responses"}}, DataEdge{TaskId(2), TaskId(0), {"scores"}},
                          DataEdge{TaskId(3), TaskId(0), {"kl"}}, DataEdge{TaskId(1), TaskId(2), {"responses"}},
                          DataEdge{TaskId(1), TaskId(3), {"responses"}}));
  EXPECT_THAT(workflow.order, ElementsAre(TaskId(1), TaskId(2), TaskId(3), TaskId(0)));
  EXPECT_THAT(predecessors(workflow, TaskId(0)), ElementsAre(TaskId(1), TaskId(2), TaskId(3)));
  EXPECT_THAT(predecessors(workflow, TaskId(1)), IsEmpty());
  EXPECT_THAT(dataset_keys(workflow), ElementsAre("prompts", "answers"));
  EXPECT_THAT(workflow.role_of, ElementsAre(RoleId(0), RoleId(0), std::nullopt, RoleId(1)));
  EXPECT_THAT(workflow.trained_by, ElementsAre(TaskId(0), std::nullopt));
  EXPECT_EQ(find_task(workflow, "judge"), TaskId(2));
  EXPECT_EQ(find_task(workflow, "actor"), std::nullopt);
  EXPECT_EQ(find_role(workflow, "reference"), RoleId(1));
  EXPECT_EQ(find_role(workflow, ""), std::nullopt);
}

TEST(Workflow, SeveralKeysOfOneProducerAreOneEdge) {
  FileParts parts;
  parts.tasks[1].outputs = {"responses", "old"};
  parts.tasks[0].inputs = {"old", "scores", "responses", "kl"};
  EXPECT_EQ(workflow_of(parts).data_edges.front(), (DataEdge{TaskId(1), TaskId(0), {"old", "responses"}}));
}

TEST(Workflow, UsesWaitForTrainedWeights) {
  const Workflow workflow = workflow_of({});
  EXPECT_THAT(version_edges(workflow, 0),
              ElementsAre(VersionEdge{TaskId(0), TaskId(0), 1}, VersionEdge{TaskId(0), TaskId(1), 1}));
  EXPECT_THAT(version_edges(workflow, 2),
              ElementsAre(VersionEdge{TaskId(0), TaskId(0), 1}, VersionEdge{TaskId(0), TaskId(1), 3}))
      << "only generation may be stale";
}

TEST(Workflow, AMovingAverageWaitsForItsTrainedRole) {
  FileParts parts;
  parts.roles[1].averaged_from = "actor";
  parts.roles[1].decay = 0.99;
  EXPECT_THAT(version_edges(workflow_of(parts), 1),
              ElementsAre(VersionEdge{TaskId(0), TaskId(0), 1}, VersionEdge{TaskId(0), TaskId(1), 2},
                          VersionEdge{TaskId(0), TaskId(3), 1}));
}

TEST(Workflow, KindsHaveNames) {
  EXPECT_EQ(base::enum_name(TaskKind::generate), "generate");
  EXPECT_EQ(base::enum_name(TaskKind::rule), "rule");
}

TEST(WorkflowFault, ValidWorkflowsHaveNone) {
  EXPECT_EQ(fault_of({}), "no fault");
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles[1].initialised_from = "actor"; }), "no fault");
}

TEST(WorkflowFault, Names) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks.clear(); }),
            "task 0  0: there are no tasks; accepted: at least one");
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles[1].name = "actor"; }),
            "role 1 name 0: two roles have the name `actor`; accepted: a different name for each");
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[2].name = ""; }),
            "task 2 name 0: the name of a task is empty or has a control character; accepted: a non-empty name without "
            "control characters");
}

TEST(WorkflowFault, RolesOfTasks) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[3].role = "ref"; }),
            "task 3 role 0: task `infer` has the unknown role `ref`; accepted: one of actor, reference");
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[3].role = ""; }),
            "task 3  0: task `infer` has no role; accepted: a `role`, or `kind: rule`");
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[2].role = "actor"; }),
            "task 2 role 0: task `judge` is a rule and has a role; accepted: no `role`, or another kind");
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks.push_back(task("again", TaskKind::train, "actor", {}, {})); }),
            "task 4 role 0: role `actor` is trained by `train` and `again`; accepted: one train task for each role");
}

TEST(WorkflowFault, Keys) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[0].inputs = {"kl", "scores", "kl"}; }),
            "task 0 inputs 2: the key `kl` appears twice; accepted: each key once");
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[0].outputs = {"loss", ""}; }),
            "task 0 outputs 1: a key is empty or has a control character; accepted: a non-empty key without control "
            "characters");
  EXPECT_EQ(
      fault_after([](FileParts& p) { p.tasks[3].outputs = {"kl", "scores"}; }),
      "task 3 outputs 1: the key `scores` is written by `judge` and `infer`; accepted: one task that writes each key");
}

TEST(WorkflowFault, Cycles) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[1].inputs = {"loss"}; }),
            "task 0 inputs 0: the tasks wait for each other: `train` reads from `generate`, which reads from `train`; "
            "accepted: a graph "
            "without cycles");
  EXPECT_EQ(
      fault_after([](FileParts& p) { p.tasks[2].inputs = {"scores"}; }),
      "task 2 inputs 0: the tasks wait for each other: `judge` reads from `judge`; accepted: a graph without cycles")
      << "the training after the cycle is not part of it";
}

TEST(WorkflowFault, Amounts) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[1].sequences.count = 0; }),
            "task 1 sequences 0: task `generate` has 0 sequences; accepted: at least 1");
  EXPECT_EQ(
      fault_after([](FileParts& p) { p.tasks[1].extra_tokens = 5; }),
      "task 1 extra_tokens 0: task `generate` has 5 extra tokens; accepted: at least 0, and only for train tasks");
  EXPECT_EQ(fault_after([](FileParts& p) { p.tasks[1].time_per_sequence = base::Ticks(5); }),
            "task 1 seconds 0: task `generate` has an invalid time per sequence; accepted: at least 0, and only "
            "for rules");
}

TEST(WorkflowFault, Starts) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles[1].initialised_from = "act"; }),
            "role 1 initialised_from 0: role `reference` is initialized from the unknown role `act`; accepted: one of "
            "actor, reference");
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles[1].initialised_from = "reference"; }),
            "role 1 initialised_from 0: role `reference` is initialized from itself, directly or through other roles; "
            "accepted: no such cycle");
  EXPECT_EQ(fault_after([](FileParts& p) {
              p.roles[0].initialised_from = "reference";
              p.roles[1].initialised_from = "actor";
            }),
            "role 0 initialised_from 0: role `actor` is initialized from itself, directly or through other roles; "
            "accepted: no such cycle");
  EXPECT_EQ(fault_after([](FileParts& p) {
              p.roles.push_back(role("third"));
              p.roles[0].initialised_from = "reference";
              p.roles[1].initialised_from = "third";
              p.roles[2].initialised_from = "reference";
            }),
            "role 1 initialised_from 0: role `reference` is initialized from itself, directly or through other roles; "
            "accepted: no such cycle");
}

TEST(WorkflowFault, AveragesAndUses) {
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles[1].averaged_from = "reference"; }),
            "role 1 averaged_from 0: role `reference` is an average of `reference`, which is not a trained role; "
            "accepted: a role with a train task");
  EXPECT_EQ(fault_after([](FileParts& p) {
              p.roles[1].averaged_from = "actor";
              p.tasks.push_back(task("again", TaskKind::train, "reference", {}, {}));
            }),
            "role 1 averaged_from 0: role `reference` is an average and has a train task; accepted: one of the two");
  EXPECT_EQ(fault_after([](FileParts& p) {
              p.roles[1].averaged_from = "actor";
              p.roles[1].decay = 1.0;
            }),
            "role 1 decay 0: the decay of role `reference` is 1; accepted: at least 0 and less than 1");
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles[1].decay = 0.5; }),
            "role 1 decay 0: role `reference` has a decay but is not an average; accepted: both `averaged_from` and "
            "`decay`, or neither");
  EXPECT_EQ(fault_after([](FileParts& p) { p.roles.push_back(role("critic")); }),
            "role 2 name 0: role `critic` is not used; accepted: roles that a task uses, or that another role is "
            "initialized from");
}

RC_GTEST_PROP(WorkflowProperty, OrderIsTopologicalOrThereIsACycle, ()) {
  FileParts parts;
  parts.roles.resize(1);
  parts.tasks.clear();
  const int count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i) {
    std::set<std::string> inputs;
    for (const int from :
         *rc::gen::container<std::vector<int>>(*rc::gen::inRange<std::size_t>(0, 3), rc::gen::inRange(0, count)))
      inputs.insert("key" + std::to_string(from));
    parts.tasks.push_back(task("task" + std::to_string(i), TaskKind::infer, "actor", Keys(inputs.begin(), inputs.end()),
                               {"key" + std::to_string(i)}));
  }
  const auto fault = find_fault(parts.roles, parts.tasks);
  RC_CLASSIFY(fault.has_value());
  if (fault) {
    RC_ASSERT(fault->message.find("wait for each other") != std::string::npos);
    RC_ASSERT(fault->key == "inputs");
    return;
  }
  const Workflow workflow = workflow_of(parts);
  RC_ASSERT(workflow.order.size() == parts.tasks.size());
  std::vector<std::size_t> position(parts.tasks.size());
  for (std::size_t i = 0; i < workflow.order.size(); ++i) position[workflow.order[i].index()] = i;
  for (const DataEdge& edge : workflow.data_edges) RC_ASSERT(position[edge.from.index()] < position[edge.to.index()]);
}

}  // namespace
}  // namespace dovetail::workflow
