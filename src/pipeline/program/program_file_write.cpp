#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "pipeline/program/program_file.h"

namespace dovetail::pipeline {
namespace {

/// A list with an item a line; `append(text, item)` writes one.
template <class Item, class Append>
std::string list_text(std::string_view key, const std::vector<Item>& items, Append append) {
  std::string text = fmt::format(" \"{}\": [", key);
  std::string_view separator = "\n  ";
  for (const Item& item : items) {
    text += std::exchange(separator, ",\n  ");
    append(text, item);
  }
  return text + "]";
}

void append_model(std::string& text, const ProgramModel& model) {
  fmt::format_to(std::back_inserter(text),
                 "{{\"name\": {}, \"microbatches\": {}, \"minibatches\": {}, \"replicas\": {}, \"stages\": {}, "
                 "\"steps\": {}}}",
                 base::json_string(model.name), model.microbatches, model.minibatches, model.replicas, model.stages,
                 model.has_steps);
}

void append_stage(std::string& text, const ProgramStage& stage) {
  fmt::format_to(std::back_inserter(text),
                 "{{\"model\": {}, \"replica\": {}, \"stage\": {}, \"activation\": {}, \"weight_activation\": {}, "
                 "\"ranks\": [{}]}}",
                 stage.model.value, stage.replica.value, stage.stage.value, base::format_memory(stage.activation),
                 base::format_memory(stage.weight_activation), fmt::join(stage.ranks, ", "));
}

void append_message(std::string& text, const Message& message) {
  fmt::format_to(std::back_inserter(text), "[{}, {}, \"{}\", {}, {}, {}]", message.peer, message.sequence,
                 message.forward ? "activation" : "gradient", message.stage, message.microbatch.value, message.bytes);
}

void append_reduction(std::string& text, const Reduction& reduction) {
  fmt::format_to(std::back_inserter(text), "[\"{}\", {}, {}, {}, {}, [{}]]", base::enum_name(reduction.kind),
                 reduction.model.value, reduction.minibatch, reduction.stage, reduction.number,
                 fmt::join(reduction.ranks, ", "));
}

void append_instruction(std::string& text, const Instruction& instruction) {
  const auto out = std::back_inserter(text);
  if (instruction.code == Code::run)
    fmt::format_to(out, "[\"{}\", {}, {}]", letter_of(instruction.op), instruction.target,
                   instruction.microbatch.value);
  else if (instruction.code == Code::free)
    fmt::format_to(out, "[\"free\", {}, {}]", instruction.target, instruction.microbatch.value);
  else
    fmt::format_to(out, "[\"{}\", {}]", base::enum_name(instruction.code), instruction.target);
}

}  // namespace

std::string program_to_json(const Program& program) {
  std::string text = fmt::format("{{\"format\": \"{}\", \"rank\": {}, \"ranks\": {},\n \"problem\": \"{}\",\n",
                                 program_format, program.rank, program.ranks, program.problem);
  text += list_text("models", program.models, append_model) + ",\n";
  text += list_text("stages", program.stages, append_stage) + ",\n";
  text += list_text("messages", program.messages, append_message) + ",\n";
  text += list_text("reductions", program.reductions, append_reduction) + ",\n";
  text += list_text("code", program.code, append_instruction) + ",\n";
  return text + fmt::format(" \"peak\": {{\"activation\": {}, \"arrived\": {}, \"bytes\": {}}}}}\n",
                            base::format_memory(program.peak.activation), program.peak.arrived, program.peak.bytes);
}

std::string program_file_name(int rank) { return fmt::format("rank-{}.json", rank); }

}  // namespace dovetail::pipeline
