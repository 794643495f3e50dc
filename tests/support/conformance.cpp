#include "support/conformance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/assert.h"
#include "fuse/solve.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"
#include "pipeline/program/program.h"
#include "pipeline/program/rank_ops.h"
#include "support/conformance_oracle.h"

namespace dovetail::test {
namespace {

using base::Ticks;
using pipeline::Exchanges;
using pipeline::Model;
using pipeline::Placement;
using pipeline::Problem;
using pipeline::Program;

Model model_on(const std::string& name, const std::vector<std::vector<int>>& replicas, int microbatches) {
  Model model;
  model.name = name;
  model.microbatches = microbatches;
  for (const std::vector<int>& devices : replicas) model.replicas.push_back(pipeline::device_list(devices));
  model.forward.assign(replicas.front().size(), Ticks(2));
  model.backward.assign(replicas.front().size(), Ticks(4));
  return model;
}

/// Two mini-batches of two replicas.
Model model_with_steps(pipeline::StepAfter after, pipeline::StepBefore before) {
  Model model = model_on("actor", {{0, 1}, {3, 2}}, 3);
  model.minibatches = 2;
  model.step = {Ticks(1), Ticks(1)};
  model.step_after = after;
  model.step_before = before;
  return model;
}

/// Builds the rank programs of a schedule, and their expected results.
class CaseMaker {
 public:
  CaseMaker(const std::string& name, const std::string& solver, int devices, std::vector<Model> models) : name_(name) {
    Problem problem;
    problem.devices = devices;
    problem.models = std::move(models);
    schedule_ = fuse::solve(pipeline::with_defaults(problem), solver).value().schedule;
    placement_ = pipeline::rank_per_device(schedule_.problem);
    exchanges_ = pipeline::exchanges_of(schedule_.problem);
  }

  CaseMaker& on(const Placement& placement) {
    placement_ = placement;
    return *this;
  }

  CaseMaker& tied() {
    for (Exchanges& exchanges : exchanges_) exchanges.tied = true;
    return *this;
  }

  ConformanceCase made() const {
    ConformanceCase made{name_, pipeline::compile(schedule_, placement_, exchanges_).value(), {}};
    for (const pipeline::Delivery delivery : pipeline::deliveries)
      DOVETAIL_ASSERT(!pipeline::check(made.programs, delivery));
    std::vector<ConformanceOracle> oracles;
    for (std::size_t m = 0; m < exchanges_.size(); ++m)
      oracles.emplace_back(static_cast<int>(m), schedule_.problem.models[m], placement_.models[m], exchanges_[m]);
    const std::vector<pipeline::RankWork> work = pipeline::work_of_ranks(schedule_, placement_);
    for (std::size_t r = 0; r < work.size(); ++r) made.expected.push_back(expected(oracles, made.programs[r], work[r]));
    return made;
  }

 private:
  static int member_of(const std::vector<int>& ranks, int rank) {
    return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }

  ConformanceRank expected(const std::vector<ConformanceOracle>& oracles, const Program& program,
                           const pipeline::RankWork& work) const {
    ConformanceRank rank;
    for (const pipeline::RankOp& op : work.ops)
      rank.ops.push_back({op.label.kind, op.stage, op.label.microbatch.value,
                          oracles[op.label.model.index()].value(op.label, op.member)});
    for (const pipeline::Reduction& reduction : program.reductions)
      rank.reductions.push_back(reduced(oracles, program, reduction));
    for (const pipeline::ProgramStage& stage : work.stages) {
      const int member = member_of(stage.ranks, program.rank);
      const ConformanceOracle& oracle = oracles[stage.model.index()];
      rank.weights.push_back(oracle.weight(stage.stage.value, member));
      rank.gradients.push_back(oracle.gradient(stage.stage.value, stage.replica.value, member));
    }
    return rank;
  }

  static std::uint64_t reduced(const std::vector<ConformanceOracle>& oracles, const Program& program,
                               const pipeline::Reduction& reduction) {
    // For a reduction over stages, any stage of the rank in that model determines its index in the group.
    const auto own = reduction.stage >= 0 ? program.stages.begin() + reduction.stage
                                          : std::find_if(program.stages.begin(), program.stages.end(),
                                                         [&](const auto& s) { return s.model == reduction.model; });
    const int stage = reduction.stage >= 0 ? own->stage.value : -1;
    return oracles[reduction.model.index()].reduced(reduction.kind, reduction.minibatch, stage,
                                                    member_of(own->ranks, program.rank));
  }

  std::string name_;
  pipeline::Schedule schedule_;
  Placement placement_;
  std::vector<Exchanges> exchanges_;
};

Model split(Model model) {
  model.backward.assign(model.forward.size(), Ticks(2));
  model.weight_gradient.assign(model.forward.size(), Ticks(2));
  return model;
}

std::vector<Model> two_models() {
  return {model_on("actor", {{0, 1, 2, 3}}, 4), model_on("critic", {{3, 2, 1, 0}}, 4)};
}

/// Two ranks per device. The stages of the actor have two parts, one on each; both ranks compute the stages of the
/// critic together.
Placement two_ranks_a_device() { return {4, 1, {{2, {{{0}, {1}, {2}, {3}}}}, {1, {{{2, 3}, {0, 1}}}}}}; }

std::string text_of(const ConformanceRank& rank) {
  std::vector<std::string> ops;
  for (const ConformanceOp& op : rank.ops)
    ops.push_back(
        fmt::format("[\"{}\", {}, {}, {}]", pipeline::traits_of(op.op).letter, op.stage, op.microbatch, op.value));
  return fmt::format(
      "    {{\n      \"ops\": [\n        {}\n      ],\n      \"reductions\": [{}],\n      \"weights\": [{}],\n"
      "      \"gradients\": [{}]\n    }}",
      fmt::join(ops, ",\n        "), fmt::join(rank.reductions, ", "), fmt::join(rank.weights, ", "),
      fmt::join(rank.gradients, ", "));
}

}  // namespace

std::string conformance_text(const std::vector<ConformanceRank>& ranks) {
  std::vector<std::string> texts;
  for (const ConformanceRank& rank : ranks) texts.push_back(text_of(rank));
  return fmt::format("{{\n  \"format\": \"dovetail/conformance@1\",\n  \"ranks\": [\n{}\n  ]\n}}\n",
                     fmt::join(texts, ",\n"));
}

std::vector<ConformanceCase> conformance_cases() {
  using pipeline::StepAfter;
  using pipeline::StepBefore;
  const Model clipped = model_with_steps(StepAfter::model, StepBefore::own);
  Model critic = model_with_steps(StepAfter::model, StepBefore::own);
  critic.name = "critic";
  critic.replicas = {pipeline::device_list({1, 0})};
  Model actor = critic;
  actor.name = "actor";
  actor.replicas = {pipeline::device_list({0, 1})};
  return {
      CaseMaker("1f1b", "1f1b", 3, {model_on("actor", {{0, 1, 2}}, 5)}).made(),
      CaseMaker("interleaved", "interleaved-1f1b", 2, {model_on("actor", {{0, 1, 0, 1}}, 4)}).made(),
      CaseMaker("v-split", "list", 2, {split(model_on("actor", {{0, 1, 1, 0}}, 4))}).made(),
      CaseMaker("fused", "list", 4, two_models()).made(),
      CaseMaker("steps-by-stage", "list", 4, {model_with_steps(StepAfter::stage, StepBefore::own)}).made(),
      CaseMaker("steps-by-model", "list", 4, {clipped}).made(),
      CaseMaker("tied", "list", 4, {clipped}).tied().made(),
      CaseMaker("zero1", "list", 4, {model_with_steps(StepAfter::model, StepBefore::replicas)}).made(),
      CaseMaker("tensor-parallel", "list", 2, {actor, critic}).on(two_ranks_a_device()).made(),
  };
}

std::map<std::string, std::string> conformance_files() {
  std::map<std::string, std::string> files;
  for (const ConformanceCase& made : conformance_cases()) {
    for (const Program& program : made.programs)
      files[made.name + "/" + pipeline::program_file_name(program.rank)] = pipeline::program_to_json(program);
    files[made.name + "/expected.json"] = conformance_text(made.expected);
  }
  return files;
}

}  // namespace dovetail::test
