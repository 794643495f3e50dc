#include "pipeline/problem/problem_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "support/random_problem.h"

namespace dovetail::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Ticks> ticks(std::initializer_list<std::int64_t> counts) {
  std::vector<Ticks> times;
  for (const std::int64_t count : counts) times.emplace_back(count);
  return times;
}

std::vector<Memory> millionths(std::initializer_list<std::int64_t> counts) {
  std::vector<Memory> amounts;
  for (const std::int64_t count : counts) amounts.emplace_back(count);
  return amounts;
}

std::string error_of(const std::string& content) {
  const auto problem = parse_problem(content, "p.yaml");
  return problem.ok() ? "no error" : base::to_text(problem.error());
}

/// Returns a problem with one model on devices 0 and 1 of 4, whose lines (from line 5 on) are given.
std::string with_model(const std::string& lines) {
  return "format: dovetail/pipeline-problem@1\ndevices: 4\nmodels:\n  - name: actor\n" + lines;
}
std::string model_error(const std::string& lines) { return error_of(with_model(lines)); }

/// Lines of a valid model, except those that each test writes itself.
const std::string sound =
    "    microbatches: 3\n    devices: [0, 1]\n    forward: 2\n    backward: 4\n    activation: 1\n";

TEST(ParseProblem, FillsInDefaults) {
  const Problem problem = parse_problem(with_model(sound), "p.yaml").value();
  EXPECT_EQ(problem.time_unit, TimeUnit::tick);
  EXPECT_EQ(problem.devices, 4);
  EXPECT_EQ(problem.resident, millionths({0, 0, 0, 0}));
  EXPECT_EQ(problem.capacity, std::nullopt);
  ASSERT_EQ(problem.models.size(), 1U);
  const Model& model = problem.models.front();
  EXPECT_EQ(model.name, "actor");
  EXPECT_EQ(model.microbatches, 3);
  EXPECT_EQ(model.minibatches, 1);
  EXPECT_THAT(model.replicas, ElementsAre(ElementsAre(DeviceId(0), DeviceId(1))));
  EXPECT_EQ(model.forward, ticks({2, 2}));
  EXPECT_EQ(model.backward, ticks({4, 4}));
  EXPECT_FALSE(model.split());
  EXPECT_EQ(model.activation, millionths({1'000'000, 1'000'000}));
  EXPECT_TRUE(model.weight_activation.empty());
  EXPECT_EQ(model.transfer_forward, ticks({0}));
  EXPECT_EQ(model.transfer_backward, ticks({0}));
  EXPECT_EQ(model.step, ticks({0, 0}));
  EXPECT_EQ(model.step_after, StepAfter::stage);
  EXPECT_EQ(model.step_before, StepBefore::own);
}

TEST(ParseProblem, ReadsEveryKey) {
  const Problem problem = parse_problem(R"(
format: dovetail/pipeline-problem@1
time_unit: us
devices: 3
memory: {capacity: [40, 41, 42.5], resident: 8}
models:
  - name: "the actor: \"A\""
    microbatches: 64
    replicas: [[2, 1, 2], [0, 1, 0]]
    forward: [1.5, 2, 0.0005]
    backward: 4
    weight_gradient: [2, 2, 1e-3]
    activation: [1.64, 2, 3]
    weight_activation: 0.5
    transfer: {forward: [1, 0.25], backward: 3}
    minibatches: 2
    step: [1, 0, 2]
    step_after: model
    step_before: replicas
  - name: critic
    microbatches: 1
    devices: [0]
    forward: 1
    backward: 1
    weight_gradient: 1
    activation: 0
    transfer: 7
)",
                                        "p.yaml")
                              .value();
  EXPECT_EQ(problem.time_unit, TimeUnit::us);
  EXPECT_EQ(*problem.capacity, millionths({40'000'000, 41'000'000, 42'500'000}));
  EXPECT_EQ(problem.resident, millionths({8'000'000, 8'000'000, 8'000'000}));
  const Model& actor = problem.models.at(0);
  EXPECT_EQ(actor.name, "the actor: \"A\"");
  EXPECT_EQ(actor.replicas.at(1).at(2), DeviceId(0));
  EXPECT_EQ(actor.forward, ticks({1500, 2000, 1}));
  EXPECT_EQ(actor.weight_gradient, ticks({2000, 2000, 1}));
  EXPECT_EQ(actor.weight_activation, millionths({500'000, 500'000, 500'000}));
  EXPECT_EQ(actor.transfer_forward, ticks({1000, 250}));
  EXPECT_EQ(actor.transfer_backward, ticks({3000, 3000}));
  EXPECT_EQ(actor.minibatches, 2);
  EXPECT_EQ(actor.step, ticks({1000, 0, 2000}));
  EXPECT_EQ(actor.step_after, StepAfter::model);
  EXPECT_EQ(actor.step_before, StepBefore::replicas);
  const Model& critic = problem.models.at(1);
  EXPECT_EQ(critic.weight_activation, critic.activation) << "by default all of it stays held";
  EXPECT_TRUE(critic.transfer_forward.empty());
}

TEST(ParseProblem, ReadsJson) {
  const std::string json = R"({"format": "dovetail/pipeline-problem@1", "devices": 1,
    "models": [{"name": "a", "microbatches": 1, "devices": [0, 0], "forward": 1, "backward": 2, "activation": 0.5, "transfer": [3]}]})";
  EXPECT_EQ(parse_problem(json, "p.json")->models.front().transfer_backward, ticks({3}));
}

TEST(ParseProblem, NamesAMistakeInTheHead) {
  const auto head_error = [](const std::string& head) { return error_of(head + "models: []\n"); };
  const std::string format = "format: dovetail/pipeline-problem@1\n";
  EXPECT_EQ(error_of("[]"), "p.yaml:1:1: the problem must be a map, not a list; accepted: a map with the key `format`");
  EXPECT_EQ(head_error("devices: 1\n"),
            "p.yaml:1:1: the problem needs the key `format`; accepted: `format: dovetail/pipeline-problem@1`");
  EXPECT_EQ(head_error("format: dovetail/schedule@1\ncolumns: 2\n"),
            "p.yaml:1:9: `format` is the string `dovetail/schedule@1`; accepted: `dovetail/pipeline-problem@1`");
  EXPECT_EQ(head_error(format + "device: 1\n"),
            "p.yaml:2:1: unknown key `device` in the problem; did you mean `devices`? accepted: format, time_unit, "
            "devices, memory, models");
  EXPECT_EQ(head_error(format + "time_unit: sec\n"),
            "p.yaml:2:12: `time_unit` is the string `sec`; accepted: tick, s, ms, us, ns");
  EXPECT_EQ(head_error(format), "p.yaml:1:1: the problem needs the key `devices`");
  EXPECT_EQ(head_error(format + "devices: 0\n"), "p.yaml:2:10: `devices` must be an integer from 1 to 65536, not 0");
  EXPECT_EQ(head_error(format + "devices: 65537\n"),
            "p.yaml:2:10: `devices` must be an integer from 1 to 65536, not 65537");
  EXPECT_EQ(head_error(format + "devices: 1\n"),
            "p.yaml:3:9: `models` is an empty list; accepted: a list of at least one model");
  EXPECT_EQ(error_of(format + "devices: 1\nmodels: {}"),
            "p.yaml:3:9: `models` is a map; accepted: a list of at least one model");
  EXPECT_EQ(error_of(format + "devices: 1\n"), "p.yaml:1:1: the problem needs the key `models`");
  EXPECT_EQ(error_of(format + "devices: 1\nmodels: [3]"),
            "p.yaml:3:10: a model must be a map, not 3; accepted keys: name, microbatches, devices, replicas, forward, "
            "backward, "
            "weight_gradient, activation, weight_activation, transfer, minibatches, step, step_after, step_before");
}

TEST(ParseProblem, NamesAMistakeInTheMemory) {
  const auto memory_error = [](const std::string& memory) {
    return error_of("format: dovetail/pipeline-problem@1\ndevices: 2\nmemory: " + memory + "\nmodels: []\n");
  };
  EXPECT_EQ(memory_error("4"), "p.yaml:3:9: `memory` must be a map, not 4; accepted keys: capacity, resident");
  EXPECT_EQ(memory_error("{cap: 4}"), "p.yaml:3:10: unknown key `cap` in `memory`; accepted: capacity, resident");
  EXPECT_EQ(memory_error("{capacity: [4]}"),
            "p.yaml:3:20: `capacity` has 1 values; accepted: one number, or a list of 2 numbers, one per device");
  EXPECT_EQ(memory_error("{capacity: x}"),
            "p.yaml:3:20: `capacity` is the string `x`; accepted: one number, or a list of 2 numbers, one per device");
  EXPECT_EQ(memory_error("{resident: [1, ~]}"), "p.yaml:3:24: `resident` for device 1 is null; accepted: a number");
  EXPECT_EQ(memory_error("{resident: -1}"),
            "p.yaml:3:20: `resident`: -1 is negative; accepted: a number from 0 to 1000000000000");
  EXPECT_EQ(memory_error("{resident: 0.1234567}"),
            "p.yaml:3:20: `resident`: 0.1234567 has more than six decimals; accepted: at most six");
  EXPECT_EQ(memory_error("{capacity: 4, resident: [3, 4.5]}"),
            "p.yaml:3:20: `capacity`: 4 is less than the resident memory of device 1; accepted: at least 4.5");
  EXPECT_EQ(memory_error("{capacity: [5, 4], resident: 4.5}"),
            "p.yaml:3:24: `capacity`: 4 is less than the resident memory of device 1; accepted: at least 4.5");
}

TEST(ParseProblem, NamesAMistakeInTheName) {
  const auto name_error = [](const std::string& name) {
    return error_of("format: dovetail/pipeline-problem@1\ndevices: 4\nmodels:\n  - name: " + name + "\n" + sound);
  };
  EXPECT_EQ(name_error("''"), "p.yaml:4:11: `name` of a model is the string ``; accepted: a non-empty string");
  EXPECT_EQ(name_error("7"), "p.yaml:4:11: `name` of a model is 7; accepted: a non-empty string");
  EXPECT_EQ(name_error("\"a\\tb\""),
            "p.yaml:4:11: the name `a\\u0009b` of a model has a control character; accepted: any characters except "
            "control characters");
  EXPECT_EQ(error_of("format: dovetail/pipeline-problem@1\ndevices: 4\nmodels:\n  - microbatches: 3\n"),
            "p.yaml:4:5: a model needs the key `name`");
  EXPECT_EQ(model_error(sound + "  - name: actor\n" + sound),
            "p.yaml:10:11: two models have the name `actor`; each model needs a different name");
}

TEST(ParseProblem, NamesAMistakeInTheCounts) {
  EXPECT_EQ(model_error("    devices: [0]\n"), "p.yaml:4:5: model `actor` needs the key `microbatches`");
  EXPECT_EQ(model_error("    microbatches: 0\n"),
            "p.yaml:5:19: `microbatches` of model `actor` must be an integer from 1 to 1048576, not 0");
  EXPECT_EQ(model_error("    microbatches: 1\n    minibatches: 1.5\n"),
            "p.yaml:6:18: `minibatches` of model `actor` must be an integer from 1 to 1048576, not 1.5");
  EXPECT_EQ(model_error(sound + "    microbatch: 1\n"),
            "p.yaml:10:5: unknown key `microbatch` in a model; did you mean `microbatches`? accepted: name, "
            "microbatches, devices, replicas, "
            "forward, backward, weight_gradient, activation, weight_activation, transfer, minibatches, step, "
            "step_after, step_before");
}

TEST(ParseProblem, NamesAMistakeInTheDevices) {
  const auto place_error = [](const std::string& line) { return model_error("    microbatches: 3\n" + line); };
  EXPECT_EQ(place_error(""),
            "p.yaml:4:5: model `actor` needs the key `devices`, or `replicas` if it has several replicas");
  EXPECT_EQ(place_error("    devices: [0]\n    replicas: [[0]]"),
            "p.yaml:7:15: model `actor` has both `devices` and `replicas`; accepted: `devices` for one replica, or "
            "`replicas` for all");
  EXPECT_EQ(place_error("    devices: []"),
            "p.yaml:6:14: the devices of model `actor` are an empty list; accepted: a list with the device of each "
            "stage, in forward order");
  EXPECT_EQ(place_error("    devices: 2"),
            "p.yaml:6:14: the devices of model `actor` are 2; accepted: a list with the device of each stage, in "
            "forward order");
  EXPECT_EQ(place_error("    devices: [0, 4]"),
            "p.yaml:6:18: a device of model `actor` must be an integer from 0 to 3, not 4");
  EXPECT_EQ(place_error("    replicas: []"),
            "p.yaml:6:15: `replicas` of model `actor` is an empty list; accepted: a list of lists of devices, one per "
            "replica");
  EXPECT_EQ(place_error("    replicas: [0, 1]"),
            "p.yaml:6:16: the devices of model `actor` are 0; accepted: a list with the device of each stage, in "
            "forward order");
  EXPECT_EQ(place_error("    replicas: [[0, 1], [2]]"),
            "p.yaml:6:24: replica 1 of model `actor` has 1 stages; accepted: 2 (the same as replica 0)");
}

TEST(ParseProblem, NamesAMistakeInTheDurations) {
  const std::string head = "    microbatches: 3\n    devices: [0, 1]\n";
  const auto forward_error = [&](const std::string& value) {
    return model_error(head + "    forward: " + value + "\n");
  };
  EXPECT_EQ(model_error(head), "p.yaml:4:5: model `actor` needs the key `forward`");
  EXPECT_EQ(forward_error("1.5"),
            "p.yaml:7:14: `forward` of model `actor`: 1.5 is not an integer number of ticks; accepted: an integer, or "
            "a time_unit of s, "
            "ms, us or ns");
  EXPECT_EQ(forward_error("0"), "p.yaml:7:14: `forward` of model `actor`: 0 is too short; accepted: at least one tick");
  EXPECT_EQ(
      forward_error("-2"),
      "p.yaml:7:14: `forward` of model `actor`: -2 is negative; accepted: a number from 0 to 1000000000000000 tick");
  EXPECT_EQ(forward_error("1e16"),
            "p.yaml:7:14: `forward` of model `actor`: 1e16 exceeds the maximum time of 1000000000000000 tick");
  EXPECT_EQ(forward_error("[1, 2, 3]"),
            "p.yaml:7:14: `forward` of model `actor` has 3 values; accepted: one number, or a list of 2 numbers, one "
            "per stage");
  EXPECT_EQ(forward_error("[1, x]"),
            "p.yaml:7:18: `forward` of model `actor` for stage 1 is the string `x`; accepted: a number");
  EXPECT_EQ(forward_error("2 ms"),
            "p.yaml:7:14: `forward` of model `actor` is the string `2 ms`; accepted: one number, or a list of 2 "
            "numbers, one per stage");
  EXPECT_EQ(model_error(head + "    forward: 1\n"), "p.yaml:4:5: model `actor` needs the key `backward`");
  EXPECT_EQ(model_error(sound + "    weight_gradient: 0\n"),
            "p.yaml:10:22: `weight_gradient` of model `actor`: 0 is too short; accepted: at least one tick");
  EXPECT_EQ(
      model_error(sound + "    step: -1\n"),
      "p.yaml:10:11: `step` of model `actor`: -1 is negative; accepted: a number from 0 to 1000000000000000 tick");
}

TEST(ParseProblem, RoundsToWholeNanoseconds) {
  const auto in_us = [](const std::string& forward) {
    return "format: dovetail/pipeline-problem@1\ntime_unit: us\ndevices: 1\nmodels:\n"
           "  - {name: a, microbatches: 1, devices: [0], backward: 1, activation: 0, forward: " +
           forward + "}\n";
  };
  EXPECT_EQ(parse_problem(in_us("1.2345"), "p.yaml")->models[0].forward, ticks({1235}));
  EXPECT_EQ(parse_problem(in_us("0.0005"), "p.yaml")->models[0].forward, ticks({1}));
  EXPECT_EQ(error_of(in_us("0.0004")),
            "p.yaml:5:83: `forward` of model `a`: 0.0004 is too short; accepted: at least one ns");
}

TEST(ParseProblem, NamesAMistakeInTheActivations) {
  EXPECT_EQ(model_error("    microbatches: 3\n    devices: [0]\n    forward: 1\n    backward: 1\n"),
            "p.yaml:4:5: model `actor` needs the key `activation`");
  EXPECT_EQ(
      model_error(sound + "    weight_activation: 1\n"),
      "p.yaml:10:24: model `actor` has `weight_activation` but no `weight_gradient`; accepted: `weight_activation` "
      "only with `weight_gradient`");
  EXPECT_EQ(model_error(sound + "    weight_gradient: 1\n    weight_activation: [1, 1.5]\n"),
            "p.yaml:11:28: `weight_activation` of model `actor`: 1.5 is more than the activation of stage 1; accepted: "
            "at most 1");
  EXPECT_EQ(model_error(sound + "    weight_gradient: 1\n    weight_activation: 2\n"),
            "p.yaml:11:24: `weight_activation` of model `actor`: 2 is more than the activation of stage 0; accepted: "
            "at most 1");
}

TEST(ParseProblem, NamesAMistakeInTheTransfer) {
  const auto transfer_error = [](const std::string& value) {
    return model_error(sound + "    transfer: " + value + "\n");
  };
  EXPECT_EQ(
      transfer_error("[1, 2]"),
      "p.yaml:10:15: `transfer` of model `actor` has 2 values; accepted: one number, or a list of 1 numbers, one per "
      "boundary between stages");
  EXPECT_EQ(transfer_error("{forward: 1}"), "p.yaml:10:15: `transfer` of model `actor` needs the key `backward`");
  EXPECT_EQ(transfer_error("{forward: 1, back: 1}"),
            "p.yaml:10:28: unknown key `back` in `transfer` of model `actor`; accepted: forward, backward");
  EXPECT_EQ(transfer_error("{forward: 1, backward: [x]}"),
            "p.yaml:10:39: `transfer.backward` of model `actor` for boundary between stages 0 is the string `x`; "
            "accepted: a number");
  EXPECT_EQ(
      transfer_error("-1"),
      "p.yaml:10:15: `transfer` of model `actor`: -1 is negative; accepted: a number from 0 to 1000000000000000 tick");
}

TEST(ParseProblem, NamesAMistakeInTheWaitsOfSteps) {
  EXPECT_EQ(model_error(sound + "    step_after: stages\n"),
            "p.yaml:10:17: `step_after` of model `actor` is the string `stages`; accepted: stage, model");
  EXPECT_EQ(model_error(sound + "    step_before: 2\n"),
            "p.yaml:10:18: `step_before` of model `actor` is 2; accepted: own, replicas");
  // Without optimizer steps they have no effect but are accepted.
  EXPECT_EQ(model_error(sound + "    step_after: model\n    step_before: replicas\n"), "no error");
}

TEST(ProblemToYaml, OmitsDefaultWaitsOfSteps) {
  const std::string yaml = with_model(sound + "    step: 1\n");
  const std::string keys = "    step_after: stage\n    step_before: own\n";
  const auto written = [](const std::string& text) { return problem_to_yaml(parse_problem(text, "p.yaml").value()); };
  EXPECT_EQ(written(yaml + keys), written(yaml));
  EXPECT_THAT(written(yaml), Not(testing::HasSubstr("step_")));
}

TEST(ParseProblem, RejectsTooLargeProblems) {
  const std::string rest = "    devices: [0, 1]\n    forward: 1\n    backward: 1\n    activation: 1\n";
  const std::string too_many = "p.yaml:4:5: with model `actor` the problem has more than the maximum of 1048576 ops";
  EXPECT_EQ(model_error("    microbatches: 262144\n" + rest), "no error");
  EXPECT_EQ(model_error("    microbatches: 262145\n" + rest), too_many);
  EXPECT_EQ(model_error("    microbatches: 1048576\n    minibatches: 1048576\n" + rest), too_many);
  EXPECT_EQ(model_error("    microbatches: 262144\n    step: 1\n" + rest), too_many);

  EXPECT_EQ(
      model_error("    microbatches: 4000\n    devices: [0]\n    forward: 1\n    backward: 1e15\n    activation: 1\n"),
      "p.yaml:4:5: with model `actor` the durations and transfers of all ops add up to more than the maximum of "
      "4000000000000000000 tick");
  EXPECT_EQ(model_error(
                "    microbatches: 3999\n    devices: [0]\n    forward: 1\n    backward: 1e15\n    activation: 1e9\n"),
            "no error");
  EXPECT_EQ(
      model_error("    microbatches: 4001\n    devices: [0]\n    forward: 1\n    backward: 1\n    activation: 1e9\n"),
      "p.yaml:4:5: with model `actor` the activations of all micro-batches on one device add up to more than the "
      "maximum of 4000000000000; use a larger unit (GB instead of bytes)");
}

TEST(ParseProblem, ManyAliasedReplicasAreRejectedQuickly) {
  std::string stages = "&s [0";
  for (int i = 1; i < 5000; ++i) stages += ", 0";
  std::string replicas = stages + "]";
  for (int i = 1; i < 5000; ++i) replicas += ", *s";
  EXPECT_EQ(model_error("    microbatches: 1\n    replicas: [" + replicas + "]\n"),
            "p.yaml:6:16: model `actor` has 5000 stages in each of 5000 replicas; accepted: at most 1048576 in all");
}

TEST(ProblemToYaml, IsShort) {
  const std::string yaml = R"(format: dovetail/pipeline-problem@1
time_unit: ms
devices: 4
memory: {capacity: 40, resident: [8, 8, 8, 7.5]}
models:
  - name: actor
    microbatches: 64
    replicas: [[0, 1, 2, 3], [3, 2, 1, 0]]
    forward: 2
    backward: [4, 4, 4, 4.5]
    weight_gradient: 2
    activation: 1.64
    weight_activation: 0.5
    transfer: {forward: 1, backward: [1, 1, 2]}
    minibatches: 2
    step: 1
    step_after: "model"
    step_before: "replicas"
  - name: "true"
    microbatches: 1
    devices: [0]
    forward: 1
    backward: 1
    activation: 0
)";
  EXPECT_EQ(problem_to_yaml(parse_problem(yaml, "p.yaml").value()), yaml);
}

TEST(ProblemToJson, IsOneObjectIndented) {
  const std::string yaml = with_model(sound + "    transfer: {forward: 1, backward: 2}\n");
  EXPECT_EQ(problem_to_json(parse_problem(yaml, "p.yaml").value(), 1), R"({
   "format": "dovetail/pipeline-problem@1",
   "time_unit": "tick",
   "devices": 4,
   "models": [
     {"name": "actor", "microbatches": 3, "devices": [0, 1], "forward": 2, "backward": 4, "activation": 1, "transfer": {"forward": 1, "backward": 2}}
   ]
 })");
}

TEST(ProblemToYaml, QuotesOnlyTheNamesThatNeedIt) {
  const auto name_line = [](const std::string& name) {
    Problem problem =
        parse_problem(
            "{\"format\": \"dovetail/pipeline-problem@1\", \"devices\": 1, \"models\": [{\"name\": \"x\", "
            "\"microbatches\": 1, \"devices\": [0], \"forward\": 1, \"backward\": 1, \"activation\": 1}]}",
            "p.json")
            .value();
    problem.models[0].name = name;
    const std::string text = problem_to_yaml(problem);
    const std::size_t begin = text.find("name: ") + 6;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  for (const std::string name : {"a", "b", "F1", "actor", "Z", "e5", "yes-man", "x.y_z"})
    EXPECT_EQ(name_line(name), name);
  for (const std::string name :
       {"y", "N", "t", "F", "on", "Null", "TRUE", "7", "1e3", "13B", "0x1F", "-", "a b", "a:b", "#"}) {
    EXPECT_EQ(name_line(name), "\"" + name + "\"");
  }
}

RC_GTEST_PROP(ProblemFile, RoundTripsThroughYamlAndJson, ()) {
  test::RandomProblemOptions options;
  options.capacity = true;
  Problem problem = *test::problems(options);
  problem.time_unit = *rc::gen::element(TimeUnit::tick, TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns);
  const auto factor = *rc::gen::element<std::int64_t>(1, 10, 1'001, 1'000'000);
  std::vector<std::string> names = {"a \"b\": \\", "null", "7", "\xE2\x82\xAC # x", "y", "- a", "No", "3e5",
                                    "a",           "F",    "e"};
  for (Model& model : problem.models) {
    for (Ticks& time : model.forward) time = time * factor;
    for (Ticks& time : model.transfer_backward) time = time * factor;
    const auto name = *rc::gen::inRange<std::size_t>(0, names.size());
    model.name = names[name];
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(name));
  }
  RC_ASSERT(!find_fault(problem).has_value());
  RC_ASSERT(parse_problem(problem_to_yaml(problem), "p.yaml").value() == problem);
  RC_ASSERT(parse_problem(problem_to_json(problem), "p.json").value() == problem);
  RC_ASSERT(base::parse_yaml(problem_to_json(problem, 3), "p.yaml").ok());
}

}  // namespace
}  // namespace dovetail::pipeline
