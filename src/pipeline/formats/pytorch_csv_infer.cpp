#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "pipeline/formats/pytorch_csv_actions.h"

namespace dovetail::pipeline {
namespace {

using base::Error;
using base::Failure;
using base::FilePlace;
using base::Result;
using base::Status;

Error error_at(const std::string& path, Failure failure, std::string message, FilePlace place = {1, 1}) {
  return {failure, path, place.line, place.column, std::move(message)};
}

/// The problem of a file alone: a device a rank, unit times. Only sizes and what is missing as a whole are checked
/// here.
class ProblemInference {
 public:
  ProblemInference(const ActionFile& file, const std::string& path) : file_(file), path_(path) {}

  Result<Problem> run() && {
    DOVETAIL_CHECK(find_stages());
    Problem problem;
    problem.devices = static_cast<int>(file_.ranks.size());
    problem.resident.resize(file_.ranks.size());
    problem.models = {make_model()};
    if (const auto fault = find_fault(problem)) return error_at(path_, Failure::bad_input, *fault);
    return problem;
  }

 private:
  Status find_stages() {
    std::int64_t stage_count = 0;
    FilePlace last_stage;
    FilePlace last_microbatch;
    for_each_action(file_, [&](const Action& action) {
      if (!is_compute(action.verb)) return;
      ++actions_;
      if (action.stage >= stage_count) last_stage = action.place;
      if (action.microbatch >= microbatches_) last_microbatch = action.place;
      stage_count = std::max<std::int64_t>(stage_count, action.stage + std::int64_t{1});
      microbatches_ = std::max<std::int64_t>(microbatches_, action.microbatch + std::int64_t{1});
      split_ = split_ || action.verb == Verb::input_gradient || action.verb == Verb::weight_gradient;
    });
    if (actions_ == 0)
      return error_at(path_, Failure::bad_input, "the file has no F, B, I or W; at least one forward is accepted");
    if (stage_count > actions_ || microbatches_ > actions_)
      return error_at(path_, Failure::invalid,
                      fmt::format("{} stages and {} micro-batches are named, but there are only {} ops", stage_count,
                                  microbatches_, actions_),
                      stage_count > actions_ ? last_stage : last_microbatch);
    std::vector<std::optional<DeviceId>> devices(static_cast<std::size_t>(stage_count));
    for_each_action(file_, [&](const Action& action) {
      if (!is_compute(action.verb)) return;
      std::optional<DeviceId>& device = devices[static_cast<std::size_t>(action.stage)];
      if (!device) device = DeviceId(action.rank);
    });
    for (std::size_t stage = 0; stage < devices.size(); ++stage) {
      if (!devices[stage])
        return error_at(path_, Failure::invalid,
                        fmt::format("stage {} has no ops, but stage {} has", stage, stage_count - 1), last_stage);
      stage_devices_.push_back(*devices[stage]);
    }
    return {};
  }

  Model make_model() const {
    const std::size_t stages = stage_devices_.size();
    Model model;
    model.name = "model";
    model.microbatches = static_cast<int>(microbatches_);
    model.replicas = {stage_devices_};
    model.forward.assign(stages, Ticks(1));
    model.backward.assign(stages, Ticks(split_ ? 1 : 2));
    model.activation.assign(stages, Memory(1'000'000));
    if (split_) {
      model.weight_gradient.assign(stages, Ticks(1));
      model.weight_activation = model.activation;
    }
    model.transfer_forward.resize(stages - 1);
    model.transfer_backward.resize(stages - 1);
    model.step.resize(stages);
    return model;
  }

  const ActionFile& file_;
  const std::string& path_;
  std::int64_t actions_ = 0;
  std::int64_t microbatches_ = 0;
  bool split_ = false;
  std::vector<DeviceId> stage_devices_;
};

}  // namespace

Result<Problem> infer_problem(const ActionFile& file, const std::string& path) {
  return ProblemInference(file, path).run();
}

}  // namespace dovetail::pipeline
