#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "pipeline/formats/pytorch_csv_actions.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::pipeline {
namespace {

constexpr std::string_view line_end = "\r\n";  // the line ending of Python's csv.writer

/// Writes the rows of one pipeline.
class PipelineWriter {
 public:
  PipelineWriter(const Schedule& schedule, Pipeline pipeline, CsvActions actions)
      : schedule_(schedule),
        pipeline_(pipeline),
        devices_(schedule.problem.models[pipeline.model.index()].replicas[pipeline.replica.index()]),
        with_communication_(actions == CsvActions::compute_comms) {}

  std::string run() && {
    for (const DeviceId device : ranks_of(devices_)) {
      row_.clear();
      for (const OpLabel& label : ops_of(device)) add(label);
      content_ += fmt::format("{}{}", fmt::join(row_, ","), line_end);
    }
    return std::move(content_);
  }

 private:
  /// Returns the ops of the pipeline on a device, in order of start.
  std::vector<OpLabel> ops_of(DeviceId device) const {
    std::vector<ScheduledOp> ops;
    for (const ScheduledOp& op : schedule_.devices[device.index()])
      if (op.label.model == pipeline_.model && op.label.replica == pipeline_.replica) ops.push_back(op);
    std::sort(ops.begin(), ops.end(), [](const ScheduledOp& a, const ScheduledOp& b) { return a.start < b.start; });
    std::vector<OpLabel> labels;
    for (const ScheduledOp& op : ops) labels.push_back(op.label);
    return labels;
  }

  void add(const OpLabel& label) {
    const int stages = static_cast<int>(devices_.size());
    const bool forward = traits_of(label.kind).output == OutputTo::next_stage;
    const auto from = input_stage(label.kind, label.stage.value, stages);
    const auto to = output_stage(label.kind, label.stage.value, stages);
    if (communicates(label.stage, from)) add_communication(label, forward ? "RECV_F" : "RECV_B");
    row_.push_back(short_name(label));
    if (communicates(label.stage, to)) add_communication(label, forward ? "SEND_F" : "SEND_B");
  }

  void add_communication(const OpLabel& label, std::string_view name) {
    row_.push_back(fmt::format("{}{}{}", label.stage.value, name, label.microbatch.value));
  }

  /// Whether a stage exchanges messages with a neighbor: it has one, on another device.
  bool communicates(StageId stage, std::optional<int> neighbour) const {
    return with_communication_ && neighbour &&
           devices_[static_cast<std::size_t>(*neighbour)] != devices_[stage.index()];
  }

  const Schedule& schedule_;
  Pipeline pipeline_;
  const std::vector<DeviceId>& devices_;
  bool with_communication_;
  std::vector<std::string> row_;
  std::string content_;
};

/// Returns "-MODEL-rREPLICA" with characters replaced that file names cannot have, different from all of `used`.
std::string make_suffix(const std::string& model, ReplicaId replica, std::set<std::string>& used) {
  std::string name = model;
  constexpr std::string_view safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::replace_if(name.begin(), name.end(), [&](char c) { return safe.find(c) == std::string_view::npos; }, '_');
  std::string suffix = fmt::format("-{}-r{}", name, replica.value);
  while (!used.insert(suffix).second) suffix += "_";
  return suffix;
}

}  // namespace

base::Result<std::vector<CsvFile>> schedule_to_pytorch_csv(const Schedule& schedule, CsvActions actions) {
  if (const auto other = find_other_ops(schedule.problem, pass_kinds))
    return base::bad_input(
        fmt::format("a PyTorch CSV cannot express this schedule: {}; use a dovetail/schedule@1 file", *other));
  const std::vector<Pipeline> pipelines = pipelines_of(schedule.problem);
  std::vector<CsvFile> files;
  std::set<std::string> used;
  for (const Pipeline pipeline : pipelines) {
    CsvFile& file = files.emplace_back();
    const std::string& model = schedule.problem.models[pipeline.model.index()].name;
    if (pipelines.size() > 1) file.suffix = make_suffix(model, pipeline.replica, used);
    file.content = PipelineWriter(schedule, pipeline, actions).run();
  }
  return files;
}

}  // namespace dovetail::pipeline
