#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::pipeline {
namespace {

using base::FilePlace;
using testing::ElementsAre;
using testing::HasSubstr;

/// A problem of one pipeline with transfers and times that differ by stage.
Problem one_pipeline(const std::vector<int>& devices, int microbatches, bool split) {
  const std::size_t stages = devices.size();
  Model model;
  model.name = "actor";
  model.microbatches = microbatches;
  model.replicas.emplace_back();
  for (const int device : devices) model.replicas[0].emplace_back(device);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    model.forward.emplace_back(2 + static_cast<int>(stage));
    model.backward.emplace_back(3 + static_cast<int>(stage));
    model.activation.emplace_back(1'000'000);
    if (split) model.weight_gradient.emplace_back(1 + static_cast<int>(stage));
    if (split) model.weight_activation.emplace_back(500'000);
  }
  model.transfer_forward.assign(stages - 1, Ticks(1));
  model.transfer_backward.assign(stages - 1, Ticks(1));
  model.step.resize(stages);
  Problem problem;
  problem.devices = *std::max_element(devices.begin(), devices.end()) + 1;
  problem.resident.resize(static_cast<std::size_t>(problem.devices));
  problem.models = {model};
  return problem;
}

/// Returns a valid schedule in the order of a breadth-first walk through the graph.
Schedule make_schedule(const Problem& problem, BackwardForm form) {
  const OpGraph graph = lower(problem, form).graph;
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  for (const OpId op : topological_order(graph)) order.devices[graph.device[op.index()].index()].push_back(op);
  return to_schedule(problem, graph, *evaluate(graph, order));
}

std::vector<std::vector<OpLabel>> order_of(const Schedule& schedule) {
  std::vector<std::vector<OpLabel>> order;
  for (const auto& device : schedule.devices) {
    order.emplace_back();
    for (const ScheduledOp& op : device) order.back().push_back(op.label);
  }
  return order;
}

std::string names_of(const std::vector<ScheduledOp>& ops) {
  std::string names;
  for (const ScheduledOp& op : ops) names += (names.empty() ? "" : ",") + short_name(op.label);
  return names;
}

std::string error_of(std::string_view text, const Problem* problem = nullptr) {
  const auto file = parse_pytorch_csv(text, "f.csv", problem);
  return file.ok() ? "no error" : to_text(file.error());
}

TEST(PytorchCsv, ReadsTwoRanksFourStagesEightMicrobatches) {
  const auto content =
      base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/tests/data/pytorch/interleaved_2rank_4stage_8mb.csv");
  ASSERT_TRUE(content.ok());
  const auto file = parse_pytorch_csv(*content, "f.csv", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_THAT(
      file->notes,
      ElementsAre("the dialect is from 2025: I and W are the halves of a backward, B the whole",
                  "the problem was inferred from the file: 4 stages on 2 ranks, 8 micro-batches, F, I and W lasting "
                  "one tick, B two, activation 1"));
  const Model& model = file->schedule.problem.models[0];
  EXPECT_EQ(model.name, "model");
  EXPECT_THAT(model.replicas[0], ElementsAre(DeviceId(0), DeviceId(1), DeviceId(0), DeviceId(1)));
  EXPECT_EQ(model.microbatches, 8);
  EXPECT_TRUE(model.split());
  EXPECT_EQ(validate(file->schedule), std::nullopt);
  // Each rank has 48 ops of one tick. Rank 1 starts one tick late and never waits again; rank 0 waits two ticks for the
  // first gradient of rank 1.
  EXPECT_EQ(evaluate(file->schedule).evaluation.makespan, Ticks(50));
  EXPECT_EQ(evaluate(file->schedule).evaluation.peak_activation, Memory(16'000'000));
}

TEST(PytorchCsv, ForwardsAndWholeBackwardsAreValidInEveryDialect) {
  EXPECT_EQ(parse_pytorch_csv("0F0,0F1,0B0,0B1", "f.csv", nullptr)->notes[0],
            "without I, W and BW, the file has the same meaning in every dialect");
}

TEST(PytorchCsv, RowsHavePositions) {
  const auto two = parse_pytorch_csv("0F0,0B0\n 1F0,1B0", "f.csv", nullptr);
  ASSERT_TRUE(two.ok()) << to_text(two.error());
  EXPECT_EQ(two->device_places, (std::vector<FilePlace>{{1, 1}, {2, 1}}));
  EXPECT_EQ(two->devices_place, (FilePlace{1, 1}));
}

TEST(PytorchCsv, ReadsOverlapContainersAsTheirPartsInOrder) {
  const auto file = parse_pytorch_csv("0F0,\" (0F1;0B0)OVERLAP_F_B \",0B1\n", "f.csv", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_EQ(names_of(file->schedule.devices[0]), "0F0,0F1,0B0,0B1");
  EXPECT_EQ(file->places[0][2].column, 12);
  EXPECT_EQ(file->notes[0],
            "the dialect is the latest (2025, with OVERLAP_F_B or REDUCE_GRAD): I and W are the halves of a backward, "
            "B the whole");
}

TEST(PytorchCsv, ReadsAFoldedScheduleOfTheLatestDialect) {
  // Two ranks, four stages in a V, two micro-batches, backward whole or split.
  const auto file = parse_pytorch_csv(
      "0F0,0F1,3F0,3I0,3W0,(3F1;0B0)OVERLAP_F_B,3B1,0I1,0W1\r\n"
      "1F0,2F0,1F1,2F1,2B0,1B0,2B1,1I1,1W1\r\n",
      "f.csv", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_EQ(validate(file->schedule), std::nullopt);
  EXPECT_EQ(names_of(file->schedule.devices[0]), "0F0,0F1,3F0,3I0,3W0,3F1,0B0,3B1,0I1,0W1");
  EXPECT_THAT(file->schedule.problem.models[0].replicas[0],
              ElementsAre(DeviceId(0), DeviceId(1), DeviceId(1), DeviceId(0)));
}

TEST(PytorchCsv, ReadsTheDialectOf2024) {
  const auto split = parse_pytorch_csv("0F0,,0F1,0B0,0W0,0B1,0W1", "f.csv", nullptr);
  ASSERT_TRUE(split.ok()) << to_text(split.error());
  EXPECT_EQ(names_of(split->schedule.devices[0]), "0F0,0F1,0I0,0W0,0I1,0W1");
  EXPECT_EQ(split->notes[0], "the dialect is from 2024: B is the input gradient, BW the whole backward");
  const auto mixed = parse_pytorch_csv("0F0,0F1,0BW0,0B1,0W1", "f.csv", nullptr);
  ASSERT_TRUE(mixed.ok()) << to_text(mixed.error());
  EXPECT_EQ(names_of(mixed->schedule.devices[0]), "0F0,0F1,0B0,0I1,0W1");
  EXPECT_EQ(mixed->schedule.devices[0][2].end - mixed->schedule.devices[0][2].start, Ticks(2));
}

TEST(PytorchCsv, ReadsWholeBackwardsAlone) {
  const auto file = parse_pytorch_csv("0F0,0B0\n1F0,1B0", "f.csv", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_FALSE(file->schedule.problem.models[0].split());
  EXPECT_EQ(file->schedule.devices[1][1].end, Ticks(4));
  EXPECT_EQ(file->schedule.devices[0][1].end, Ticks(6));
  EXPECT_THAT(file->notes[1], HasSubstr("2 stages on 2 ranks, 1 micro-batches, F lasting one tick, B two"));
}

TEST(PytorchCsv, ReadsCommunication) {
  // RECVs may come well before their consumers, and the memory actions of FSDP anywhere.
  const auto file = parse_pytorch_csv(
      "0UNSHARD,2UNSHARD,0F0,0SEND_F0,2RECV_F0,2F0,2B0,2SEND_B0,2REDUCE_GRAD,0RECV_B0,0B0,0RESHARD\n"
      "1RECV_F0,1UNSHARD,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0\n",
      "f.csv", nullptr);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_EQ(validate(file->schedule), std::nullopt);
  EXPECT_EQ(names_of(file->schedule.devices[0]), "0F0,2F0,2B0,0B0");
}

TEST(PytorchCsv, TakesDurationsFromTheProblem) {
  const Problem problem = one_pipeline({1, 0}, 1, true);
  const auto file = parse_pytorch_csv("0F0,0B0\n1F0,1I0,1W0\n", "f.csv", &problem);
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  EXPECT_EQ(file->schedule.problem, problem);
  EXPECT_EQ(file->notes.size(), 1U);
  // Row 0 is the device of stage 0.
  EXPECT_EQ(names_of(file->schedule.devices[1]), "0F0,0B0");
  EXPECT_EQ(file->schedule.devices[0][0].start, Ticks(3)) << "F of 2 and a transfer of 1";
  EXPECT_EQ(file->schedule.devices[0][1].end, Ticks(10)) << "F of 3, I of 4";
  EXPECT_EQ(file->schedule.devices[1][1].start, Ticks(11));
  EXPECT_EQ(file->schedule.devices[1][1].end, Ticks(15)) << "B is I of 3 and W of 1";
  EXPECT_EQ(file->places[0][2].line, 2);
  EXPECT_EQ(file->places[0][2].column, 9);
  EXPECT_EQ(validate(file->schedule), std::nullopt);
}

TEST(PytorchCsv, DocumentedExamplesAreOneSchedule) {
  const auto documentation = base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/docs/formats.md");
  ASSERT_TRUE(documentation.ok());
  std::vector<Schedule> schedules;
  std::size_t begin = documentation->find("## PyTorch pipelining CSV");
  for (int example = 0; example < 2; ++example) {
    begin = documentation->find("```csv\n", begin) + 7;
    const auto file = parse_pytorch_csv(documentation->substr(begin, documentation->find("```", begin) - begin),
                                        "formats.md", nullptr);
    ASSERT_TRUE(file.ok()) << to_text(file.error());
    schedules.push_back(file->schedule);
  }
  EXPECT_EQ(validate(schedules[0]), std::nullopt);
  EXPECT_EQ(schedules[0], schedules[1]);
}

TEST(PytorchCsv, InvalidActionsAreRejected) {
  const std::string accepted =
      "; accepted: actions like 0F3 (stage 0, F, micro-batch 3) with F, B, I, W, BW, SEND_F, RECV_F, SEND_B or RECV_B; "
      "0UNSHARD, 0RESHARD, 0REDUCE_GRAD, (1F3;2B0)OVERLAP_F_B";
  EXPECT_EQ(error_of("0F0,0X1"), "f.csv:1:5: '0X1' is not an action" + accepted);
  EXPECT_EQ(error_of("0F0\n, F1"), "f.csv:2:3: 'F1' is not an action" + accepted);
  EXPECT_EQ(error_of("99999999999F1"),
            "f.csv:1:1: the stage of '99999999999F1' is too large; it must be at most 2147483647");
  EXPECT_EQ(error_of("0F0,0F99999999999"),
            "f.csv:1:5: the micro-batch of '0F99999999999' is too large; it must be at most 2147483647");
  EXPECT_EQ(error_of("0F0\n0\xFF"), "f.csv:2:2: byte 0xFF is not UTF-8; accepted: UTF-8 text");
  EXPECT_EQ(error_of("0f0"), "f.csv:1:1: '0f0' is not an action" + accepted);
  EXPECT_EQ(error_of("0B"), "f.csv:1:1: the micro-batch of '0B' is missing or not an integer" + accepted);
  EXPECT_EQ(error_of("12F3xyz"), "f.csv:1:1: the micro-batch of '12F3xyz' is missing or not an integer" + accepted);
  EXPECT_EQ(error_of("0UNSHARD1"),
            "f.csv:1:1: '0UNSHARD1' has a micro-batch, but UNSHARD does not take one" + accepted);
  EXPECT_EQ(error_of("(0F0;0B0)OVERLAP"), "f.csv:1:1: '(0F0;0B0)OVERLAP' is not an action" + accepted);
  EXPECT_EQ(error_of("0F0,(0F1;x)OVERLAP_F_B"), "f.csv:1:10: 'x' is not an action" + accepted);
  EXPECT_EQ(error_of("()OVERLAP_F_B"), "f.csv:1:2: '' is not an action" + accepted);
  EXPECT_EQ(error_of(",,\n"), "f.csv:1:1: the file has no actions" + accepted);
  EXPECT_EQ(error_of("0UNSHARD"), "f.csv:1:1: the file has no F, B, I or W; it needs at least one forward");
  EXPECT_EQ(error_of("0F0,\"0B0"), "f.csv:1:5: unterminated quote; a cell that begins with \" must end with \"");
}

TEST(PytorchCsv, MixedDialectsAreRejected) {
  EXPECT_EQ(error_of("0F0,0F1,0BW0\n0I1,0W1"),
            "f.csv:1:9: 0BW0 is from the dialect of 2024, but 0I1 on line 2 is from 2025; use one dialect per file");
}

TEST(PytorchCsv, IncompleteFilesAreInvalid) {
  EXPECT_EQ(error_of("0F0,0F1,0B0"), "f.csv:1:9: 0B1 is missing in row 0 (rows are counted from 0)");
  EXPECT_EQ(error_of("0F0,0B0,0B1"), "f.csv:1:9: 0F1 is missing in row 0 (rows are counted from 0)");
  EXPECT_EQ(error_of("0F0,0I0,0F1,0B1"), "f.csv:1:13: 0W0 is missing in row 0 (rows are counted from 0)");
  EXPECT_EQ(error_of("0F0,0W0,0F1,0I1,0W1"), "f.csv:1:17: 0I0 is missing in row 0 (rows are counted from 0)");
  EXPECT_EQ(error_of("0F0,0B0\n2F0,2B0"), "f.csv:2:1: stage 1 has no ops, but stage 2 has some");
  EXPECT_EQ(error_of("0F2000000000,0B0"),
            "f.csv:1:1: the highest numbers imply 1 stages and 2000000001 micro-batches, but there are only 2 ops");
  EXPECT_EQ(parse_pytorch_csv("0F0,0F1,0B0", "f.csv", nullptr).error().failure, base::Failure::invalid);
}

TEST(PytorchCsv, RepeatedOpsAreInvalid) {
  EXPECT_EQ(error_of("0F0,0F0,0B0"), "f.csv:1:5: 0F0 is a duplicate: 0F0 on line 1, column 1 already does this work");
  EXPECT_EQ(error_of("0F0,0I0,0B0,0W0"),
            "f.csv:1:9: 0B0 is a duplicate: 0I0 on line 1, column 5 already does this work");
  EXPECT_EQ(error_of("0F0,0B0,0I0"), "f.csv:1:9: 0I0 is a duplicate: 0B0 on line 1, column 5 already does this work");
  EXPECT_EQ(error_of("0F0,0F1,0I1,0W1,0B0,0W0"),
            "f.csv:1:21: 0W0 is a duplicate: 0B0 on line 1, column 17 already does this work");
  EXPECT_EQ(error_of("0F0,0F1,0I1,0W1,0W0,0B0"),
            "f.csv:1:21: 0B0 is a duplicate: 0W0 on line 1, column 17 already does this work");
}

TEST(PytorchCsv, OpsOnAnotherRankOrOutOfRangeAreInvalid) {
  EXPECT_EQ(error_of("0F0,0B0\n1F0\n1B0"),
            "f.csv:3:1: 1B0 is in row 2, but the actions of stage 1 must be in row 1 (rows are counted from 0)");
  const Problem problem = one_pipeline({0, 1}, 1, false);
  EXPECT_EQ(error_of("0F0,0B0\n1F0,1B0\n1B0", &problem),
            "f.csv:3:1: 1B0 is in row 2, but the actions of stage 1 must be in row 1 (rows are counted from 0)");
  EXPECT_EQ(error_of("0F0,0B0", &problem), "f.csv:1:1: 1F0 is missing in row 1 (rows are counted from 0)");
  EXPECT_EQ(error_of("0F0,0B0\n1F0,2B0", &problem),
            "f.csv:2:5: 2B0: stage 2 does not exist; model `actor` has 2, numbered from 0");
  EXPECT_EQ(error_of("0F0,0B0\n1F0,1B7", &problem),
            "f.csv:2:5: 1B7: micro-batch 7 does not exist; model `actor` has 1, numbered from 0");
  EXPECT_EQ(error_of("0F0,0I0,0W0\n1F0,1B0", &problem),
            "f.csv:1:5: 0I0 is half of a split backward, but model `actor` has no `weight_gradient`; use B");
}

TEST(PytorchCsv, DeadlocksAreInvalid) {
  EXPECT_EQ(error_of("0B0,0F0"),
            "f.csv:1:1: the order deadlocks: 0B0 never starts, because it waits for 0F0, which never ends");
  EXPECT_EQ(error_of("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0"),
            "f.csv:1:5: the order deadlocks: 0B0 never starts, because it waits for 1B0, which never ends");
  EXPECT_EQ(parse_pytorch_csv("0B0,0F0", "f.csv", nullptr).error().failure, base::Failure::invalid);
}

TEST(PytorchCsv, FaultyCommunicationIsInvalid) {
  const std::string rank0 = "0F0,0SEND_F0,0RECV_B0,0B0\n";
  EXPECT_EQ(error_of(rank0 + "1RECV_F0,1F0,1B0,1SEND_B0"), "no error");
  EXPECT_EQ(error_of(rank0 + "1F0,1B0,1SEND_B0"), "f.csv:1:5: 0SEND_F0 has no 1RECV_F0 on rank 1");
  EXPECT_EQ(error_of(rank0 + "1F0,1RECV_F0,1B0,1SEND_B0"), "f.csv:2:5: 1RECV_F0 comes after 1F0, which needs it");
  EXPECT_EQ(error_of(rank0 + "1RECV_F0,1F0,1B0"), "f.csv:1:14: 0RECV_B0 has no 1SEND_B0 on rank 1");
  EXPECT_EQ(error_of(rank0 + "1RECV_F0,1F0,1SEND_B0,1B0"), "f.csv:2:14: 1SEND_B0 comes before 1B0, which produces it");
  EXPECT_EQ(error_of(rank0 + "1RECV_F0,1RECV_F0,1F0,1B0,1SEND_B0"),
            "f.csv:2:10: 1RECV_F0 is a duplicate: 1RECV_F0 on line 2, column 1 already does this work");
  EXPECT_EQ(error_of("0F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0"), "f.csv:2:1: 1F0 has no 1RECV_F0 before it");
  EXPECT_EQ(error_of("0RECV_F0,0F0,0B0"), "f.csv:1:1: 0RECV_F0: no stage -1 to exchange it with");
  EXPECT_EQ(error_of("0F0,0SEND_F0,0B0"), "f.csv:1:5: 0SEND_F0: no stage 1 to exchange it with");
  EXPECT_EQ(error_of("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0"),
            "f.csv:1:5: 0SEND_F0: stages 0 and 1 are on one rank and exchange no messages");
  EXPECT_EQ(parse_pytorch_csv(rank0 + "1F0,1B0,1SEND_B0", "f.csv", nullptr).error().failure, base::Failure::invalid);
}

TEST(PytorchCsv, InexpressibleProblemsAreRejected) {
  EXPECT_EQ(error_of("0F0,0B0", &find_instance("exp0")->problem),
            "a PyTorch CSV holds one pipeline, but the problem has 3");
  Problem problem = one_pipeline({0}, 1, false);
  problem.models[0].step[0] = Ticks(1);
  EXPECT_EQ(error_of("0F0,0B0", &problem),
            "model actor has optimizer steps, which a PyTorch CSV cannot express; use a problem without them");
}

TEST(PytorchCsv, WritesCommunicationNextToItsOp) {
  const Problem problem = one_pipeline({0, 1, 1}, 1, true);
  const Schedule schedule = make_schedule(problem, BackwardForm::split);
  const auto compute = schedule_to_pytorch_csv(schedule, CsvActions::compute_only);
  ASSERT_EQ(compute->size(), 1U);
  EXPECT_EQ((*compute)[0].suffix, "");
  EXPECT_EQ((*compute)[0].content, "0F0,0I0,0W0\r\n1F0,2F0,2I0,1I0,2W0,1W0\r\n");
  const auto comms = schedule_to_pytorch_csv(schedule, CsvActions::compute_comms);
  EXPECT_EQ((*comms)[0].content, "0F0,0SEND_F0,0RECV_B0,0I0,0W0\r\n1RECV_F0,1F0,2F0,2I0,1I0,1SEND_B0,2W0,1W0\r\n");
}

TEST(PytorchCsv, WritesOneFilePerPipeline) {
  Problem problem = find_instance("exp2")->problem;
  problem.models[0].name = "a/b c";
  const auto files = schedule_to_pytorch_csv(make_schedule(problem, BackwardForm::whole), CsvActions::compute_only);
  ASSERT_EQ(files->size(), 3U);
  EXPECT_EQ((*files)[0].suffix, "-a_b_c-r0");
  EXPECT_EQ((*files)[1].suffix, "-13B-r0");
  EXPECT_EQ((*files)[2].suffix, "-13B-r1");
  // The small model runs up the devices: its rank 0 is device 3. Each file is a separate schedule.
  EXPECT_TRUE((*files)[1].content.starts_with("0F0,"));
  for (const CsvFile& file : *files) EXPECT_EQ(error_of(file.content), "no error");
}

TEST(PytorchCsv, FileNamesNeverCollide) {
  Problem problem = find_instance("exp3")->problem;
  problem.models[0].name = "a/b";
  problem.models[1].name = "a_b";
  const auto files = schedule_to_pytorch_csv(make_schedule(problem, BackwardForm::whole), CsvActions::compute_only);
  EXPECT_EQ((*files)[0].suffix, "-a_b-r0");
  EXPECT_EQ((*files)[1].suffix, "-a_b-r0_");
}

TEST(PytorchCsv, StepsAreRejected) {
  Problem problem = one_pipeline({0, 1}, 1, false);
  problem.models[0].minibatches = 2;
  const auto files = schedule_to_pytorch_csv(make_schedule(problem, BackwardForm::whole), CsvActions::compute_only);
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(
      to_text(files.error()),
      "a PyTorch CSV cannot express this schedule: model actor has optimizer steps; use a dovetail/schedule@1 file");
}

struct RoundTripCase {
  const char* name;
  std::vector<int> devices;
  bool split;
  BackwardForm form;
};

TEST(PytorchCsv, OrderRoundTrips) {
  const std::vector<RoundTripCase> cases{
      {"one stage a device", {0, 1, 2, 3}, false, BackwardForm::whole},
      {"upwards, with an idle device", {4, 3, 1, 0}, false, BackwardForm::whole},
      {"interleaved", {0, 1, 0, 1}, false, BackwardForm::whole},
      {"V", {0, 1, 2, 2, 1, 0}, true, BackwardForm::split},
      {"split, run whole", {1, 0}, true, BackwardForm::whole},
      {"one device", {0, 0}, true, BackwardForm::split},
  };
  for (const RoundTripCase& test : cases)
    for (const CsvActions actions : {CsvActions::compute_only, CsvActions::compute_comms}) {
      SCOPED_TRACE(test.name);
      const Problem problem = one_pipeline(test.devices, 5, test.split);
      const Schedule schedule = make_schedule(problem, test.form);
      ASSERT_EQ(validate(schedule), std::nullopt);
      const auto files = schedule_to_pytorch_csv(schedule, actions);
      ASSERT_TRUE(files.ok());
      const auto file = parse_pytorch_csv((*files)[0].content, "f.csv", &problem);
      ASSERT_TRUE(file.ok()) << to_text(file.error());
      EXPECT_EQ(order_of(file->schedule), order_of(schedule));
      EXPECT_EQ(file->schedule.devices, schedule.devices) << "these start as early as their order allows";
      EXPECT_EQ(validate(file->schedule), std::nullopt);
    }
}

}  // namespace
}  // namespace dovetail::pipeline
