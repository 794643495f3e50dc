#include "support/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "base/file.h"
#include "execute/interpreter.h"
#include "pipeline/program/program.h"
#include "transport/collectives.h"
#include "transport/threads.h"

namespace dovetail::execute {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using base::Result;
using base::Status;
using pipeline::OpKind;
using pipeline::Program;
using pipeline::ReductionKind;
using test::conformance_prime;
using test::ConformanceRank;
using test::mix;

fs::path suite_folder() { return fs::path(DOVETAIL_SOURCE_DIR) / "tests" / "conformance"; }

Buffer buffer_of(std::uint64_t number) {
  Buffer buffer = transport::make_buffer(sizeof number);
  std::memcpy(buffer.data, &number, sizeof number);
  return buffer;
}

std::uint64_t read(const Buffer& buffer) {
  std::uint64_t number = 0;
  std::memcpy(&number, buffer.data, sizeof number);
  return number;
}

/// A stage that computes as specified in docs/programs.md.
class SuiteStage : public Stage {
 public:
  SuiteStage(const Program& program, int index, ConformanceRank& done)
      : own(program.stages[static_cast<std::size_t>(index)]), index_(index), done_(done) {
    const auto member = std::find(own.ranks.begin(), own.ranks.end(), program.rank) - own.ranks.begin();
    weight = mix(mix(own.model.index(), own.stage.index()), static_cast<std::uint64_t>(member));
    is_end = own.stage.value == 0 || own.stage.value + 1 == program.models[own.model.index()].stages;
  }

  Buffer receive_buffer(bool, MicrobatchId) override { return transport::make_buffer(sizeof(std::uint64_t)); }

  Result<Buffer> run(OpKind op, MicrobatchId m, Buffer input) override {
    if (op == OpKind::F) {
      const std::uint64_t taken = input.data == nullptr ? mix(own.replica.index(), m.index()) : read(input);
      held_[m] = mix(mix(taken, weight), m.index());
      return made(op, m, held_[m]);
    }
    const auto held = held_.find(m);
    if (held == held_.end()) return base::bad_input("what a micro-batch holds is gone");
    if (op == OpKind::W) return add(op, m, mix(passed_.at(m), held->second));
    const std::uint64_t value = mix(mix(input.data == nullptr ? 0 : read(input), held->second), weight);
    passed_[m] = value;
    Buffer output = made(op, m, value);
    if (op == OpKind::B) add_gradient(mix(value, held->second));
    return output;
  }

  void free(MicrobatchId m) override {
    EXPECT_EQ(held_.erase(m), 1U);
    passed_.erase(m);
  }

  Status step(int minibatch) override {
    weight = mix(mix(mix(weight, gradient), reduced_tie), norm);
    gradient = tie = reduced_tie = norm = 0;
    made(OpKind::S, MicrobatchId(minibatch), weight);
    return {};
  }

  bool holds_nothing() const { return held_.empty() && passed_.empty(); }

  const pipeline::ProgramStage& own;
  std::uint64_t weight = 0;
  std::uint64_t gradient = 0;
  std::uint64_t tie = 0;
  std::uint64_t reduced_tie = 0;
  std::uint64_t norm = 0;
  bool is_end = false;

 private:
  Buffer made(OpKind op, MicrobatchId m, std::uint64_t value) {
    done_.ops.push_back({op, index_, m.value, value});
    return buffer_of(value);
  }

  Buffer add(OpKind op, MicrobatchId m, std::uint64_t value) {
    made(op, m, value);
    add_gradient(value);
    return {};
  }

  void add_gradient(std::uint64_t value) {
    gradient = (gradient + value) % conformance_prime;
    if (is_end) tie = (tie + mix(value, 7)) % conformance_prime;
  }

  int index_;
  ConformanceRank& done_;
  std::map<MicrobatchId, std::uint64_t> held_;    ///< the activation that F made
  std::map<MicrobatchId, std::uint64_t> passed_;  ///< the gradient that I handed on
};

using Stages = std::vector<std::unique_ptr<SuiteStage>>;

/// Sums the numbers of the stages of all ranks and distributes the sum.
class SuiteReducer : public Reducer {
 public:
  SuiteReducer(const Program& program, const Stages& stages, ConformanceRank& done)
      : program_(program), stages_(stages), done_(done) {}

  Status reduce(const pipeline::Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                transport::Deadline deadline) override {
    double sum = 0;
    for (SuiteStage* stage : stages_of(reduction)) sum += static_cast<double>(part_of(reduction.kind, *stage));
    // all_reduce divides the values into one share per rank.
    std::vector<double> sums(reduction.ranks.size(), sum);
    DOVETAIL_CHECK(collectives.all_reduce({reduction.ranks, number}, std::span(sums), deadline));
    const std::uint64_t result = static_cast<std::uint64_t>(sums.front()) % conformance_prime;
    for (SuiteStage* stage : stages_of(reduction)) take(reduction.kind, *stage, result);
    done_.reductions[static_cast<std::size_t>(&reduction - program_.reductions.data())] = result;
    return {};
  }

 private:
  std::vector<SuiteStage*> stages_of(const pipeline::Reduction& reduction) const {
    std::vector<SuiteStage*> found;
    for (const auto& stage : stages_) {
      if (stage->own.model != reduction.model) continue;
      if (reduction.kind == ReductionKind::tied && !stage->is_end) continue;
      if (is_of_stage(reduction.kind) &&
          stage->own.stage != program_.stages[static_cast<std::size_t>(reduction.stage)].stage)
        continue;
      found.push_back(stage.get());
    }
    return found;
  }

  static std::uint64_t part_of(ReductionKind kind, const SuiteStage& stage) {
    switch (kind) {
      case ReductionKind::gradients:
      case ReductionKind::norm:
        return stage.gradient;
      case ReductionKind::tied:
        return stage.tie;
      case ReductionKind::weights:
        break;
    }
    return mix(stage.weight, stage.own.replica.index());
  }

  static void take(ReductionKind kind, SuiteStage& stage, std::uint64_t result) {
    if (kind == ReductionKind::gradients) stage.gradient = result;
    if (kind == ReductionKind::norm) stage.norm = result;
    if (kind == ReductionKind::tied) stage.reduced_tie = result;
    if (kind == ReductionKind::weights) stage.weight = result;
  }

  const Program& program_;
  const Stages& stages_;
  ConformanceRank& done_;
};

/// The programs of a case, as its files hold them.
std::vector<Program> programs_in(const fs::path& folder) {
  std::vector<Program> programs;
  for (int rank = 0; rank == 0 || rank < programs.front().ranks; ++rank) {
    const std::string path = (folder / pipeline::program_file_name(rank)).string();
    programs.push_back(pipeline::parse_program(base::read_file(path).value(), path).value().program);
  }
  return programs;
}

void run_rank(const Program& program, transport::Transport& transport, ConformanceRank& done) {
  Stages stages;
  SuiteReducer reducer(program, stages, done);
  Workers workers{{}, &reducer};
  done.reductions.resize(program.reductions.size());
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    stages.push_back(std::make_unique<SuiteStage>(program, static_cast<int>(s), done));
    workers.stages.push_back(stages.back().get());
  }
  const auto trace = run(program, workers, transport, {20s, 0});
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  for (const auto& stage : stages) {
    EXPECT_TRUE(stage->holds_nothing());
    done.weights.push_back(stage->weight);
    done.gradients.push_back(stage->gradient);
  }
}

TEST(Conformance, FilesMatchTheGenerator) {
  const std::map<std::string, std::string> made = test::conformance_files();
  std::set<std::string> there;
  for (const auto& entry : fs::recursive_directory_iterator(suite_folder())) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), suite_folder()).string();
    SCOPED_TRACE(name);
    there.insert(name);
    ASSERT_TRUE(made.contains(name));
    // To regenerate the files: dovetail_write_conformance tests/conformance
    EXPECT_TRUE(base::read_file(entry.path().string()).value() == made.at(name));
  }
  EXPECT_EQ(there.size(), made.size());
}

TEST(Conformance, InterpreterPassesEachCase) {
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(suite_folder())) {
    SCOPED_TRACE(entry.path().filename().string());
    const std::vector<Program> programs = programs_in(entry.path());
    const auto ends = transport::connect_threads(static_cast<int>(programs.size()));
    std::vector<ConformanceRank> done(programs.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < programs.size(); ++r)
      threads.emplace_back([&, r] { run_rank(programs[r], *ends[r], done[r]); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(test::conformance_text(done), base::read_file((entry.path() / "expected.json").string()).value());
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

}  // namespace
}  // namespace dovetail::execute
