#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <limits>
#include <utility>

#include "base/document.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "pipeline/program/program.h"

namespace dovetail::pipeline {
namespace {

using base::Node;
using base::Result;
using base::Status;

constexpr std::int64_t max_index = std::numeric_limits<std::int32_t>::max();

Result<int> read_index(const Node& map, std::string_view what, std::string_view key, std::int64_t least,
                       std::int64_t most) {
  DOVETAIL_TRY(const Node node, base::require(map, what, key));
  DOVETAIL_TRY(const std::int64_t index, base::read_integer(node, base::quote(key), least, most));
  return static_cast<int>(index);
}

Result<Memory> read_memory_at(const Node& map, std::string_view what, std::string_view key) {
  DOVETAIL_TRY(const Node node, base::require(map, what, key));
  if (!node.is_number())
    return node.error(fmt::format("{} is {}; accepted: a number", base::quote(key), node.describe()));
  const Result<Memory> amount = base::parse_memory(node.text(), max_sum);
  if (!amount.ok())
    return node.error(fmt::format("{}: {} {}", base::quote(key), node.describe(), amount.error().message));
  return *amount;
}

Result<std::vector<int>> read_ranks(const Node& node, int ranks) {
  if (!node.is_list() || node.size() == 0)
    return node.error(fmt::format("`ranks` is {}; accepted: a list of at least one rank",
                                  node.is_list() ? "an empty list" : node.describe()));
  std::vector<int> list;
  for (std::size_t i = 0; i < node.size(); ++i) {
    DOVETAIL_TRY(const std::int64_t rank, base::read_integer(node.item(i), "a rank", 0, ranks - 1));
    list.push_back(static_cast<int>(rank));
  }
  return list;
}

/// Reads a list of the file, calling `read(item)` for each item.
template <class Item, class Read>
Result<std::vector<Item>> read_list(const Node& root, std::string_view key, const Read& read) {
  DOVETAIL_TRY(const Node list, base::require(root, "the program", key));
  if (!list.is_list()) return list.error(fmt::format("{} is {}; accepted: a list", base::quote(key), list.describe()));
  std::vector<Item> items;
  items.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    DOVETAIL_TRY(Item item, read(list.item(i)));
    items.push_back(std::move(item));
  }
  return items;
}

Result<ProgramModel> read_model(const Node& node) {
  constexpr std::string_view what = "a model";
  DOVETAIL_CHECK(base::check_keys(node, what, {"name", "microbatches", "minibatches", "replicas", "stages", "steps"}));
  ProgramModel model;
  DOVETAIL_TRY(model.name, base::find_name(node, "name"));
  DOVETAIL_TRY(model.microbatches, read_index(node, what, "microbatches", 1, max_op_count));
  DOVETAIL_TRY(model.minibatches, read_index(node, what, "minibatches", 1, max_op_count / model.microbatches));
  DOVETAIL_TRY(model.replicas, read_index(node, what, "replicas", 1, max_device_count));
  DOVETAIL_TRY(model.stages, read_index(node, what, "stages", 1, max_op_count));
  DOVETAIL_TRY(const Node steps, base::require(node, what, "steps"));
  DOVETAIL_TRY(model.has_steps, base::read_flag(steps, "steps"));
  return model;
}

Result<ProgramStage> read_stage(const Node& node, const Program& program) {
  constexpr std::string_view what = "a stage";
  DOVETAIL_CHECK(
      base::check_keys(node, what, {"model", "replica", "stage", "activation", "weight_activation", "ranks"}));
  ProgramStage stage;
  DOVETAIL_TRY(stage.model.value,
               read_index(node, what, "model", 0, static_cast<std::int64_t>(program.models.size()) - 1));
  const ProgramModel& model = program.models[stage.model.index()];
  DOVETAIL_TRY(stage.replica.value, read_index(node, what, "replica", 0, model.replicas - 1));
  DOVETAIL_TRY(stage.stage.value, read_index(node, what, "stage", 0, model.stages - 1));
  DOVETAIL_TRY(stage.activation, read_memory_at(node, what, "activation"));
  DOVETAIL_TRY(stage.weight_activation, read_memory_at(node, what, "weight_activation"));
  DOVETAIL_TRY(const Node ranks, base::require(node, what, "ranks"));
  DOVETAIL_TRY(stage.ranks, read_ranks(ranks, program.ranks));
  return stage;
}

/// Cells of a row with a fixed number of cells.
class Row {
 public:
  static Result<Row> of(const Node& node, std::string_view what, std::size_t cells, std::string_view accepted) {
    if (!node.is_list() || node.size() != cells)
      return node.error(fmt::format("{} is {}; accepted: {}", what,
                                    node.is_list() ? fmt::format("a list of {}", node.size()) : node.describe(),
                                    accepted));
    return Row(node);
  }

  Result<std::int64_t> integer(std::size_t cell, std::string_view what, std::int64_t least, std::int64_t most) const {
    return base::read_integer(node_.item(cell), what, least, most);
  }
  Node cell(std::size_t index) const { return node_.item(index); }

 private:
  explicit Row(Node node) : node_(node) {}
  Node node_;
};

Result<Message> read_message(const Node& node, const Program& program) {
  DOVETAIL_TRY(const Row row,
               Row::of(node, "a message", 6, "[peer, sequence, activation or gradient, stage, microbatch, bytes]"));
  Message message;
  DOVETAIL_TRY(const std::int64_t peer, row.integer(0, "the peer", 0, program.ranks - 1));
  DOVETAIL_TRY(const std::int64_t sequence, row.integer(1, "the sequence", 0, max_index));
  const Node payload = row.cell(2);
  if (!payload.is_string() || (payload.text() != "activation" && payload.text() != "gradient"))
    return payload.error(fmt::format("the payload is {}; accepted: activation, gradient", payload.describe()));
  DOVETAIL_TRY(const std::int64_t stage,
               row.integer(3, "the stage", 0, static_cast<std::int64_t>(program.stages.size()) - 1));
  DOVETAIL_TRY(const std::int64_t microbatch, row.integer(4, "the micro-batch", 0, max_op_count));
  DOVETAIL_TRY(message.bytes, row.integer(5, "the bytes", 0, max_sum));
  message.peer = static_cast<int>(peer);
  message.sequence = static_cast<int>(sequence);
  message.forward = payload.text() == "activation";
  message.stage = static_cast<int>(stage);
  message.microbatch = MicrobatchId(static_cast<std::int32_t>(microbatch));
  return message;
}

Result<Reduction> read_reduction(const Node& node, const Program& program) {
  DOVETAIL_TRY(const Row row, Row::of(node, "a reduction", 6, "[kind, model, minibatch, stage or -1, number, ranks]"));
  Reduction reduction;
  DOVETAIL_TRY(reduction.kind, base::read_enum<ReductionKind>(row.cell(0), "the kind of a reduction"));
  DOVETAIL_TRY(const std::int64_t model,
               row.integer(1, "the model", 0, static_cast<std::int64_t>(program.models.size()) - 1));
  reduction.model = ModelId(static_cast<std::int32_t>(model));
  DOVETAIL_TRY(const std::int64_t minibatch,
               row.integer(2, "the mini-batch", 0, program.models[reduction.model.index()].minibatches - 1));
  const bool of_stage = is_of_stage(reduction.kind);
  DOVETAIL_TRY(const std::int64_t stage,
               row.integer(3, "the stage", of_stage ? 0 : -1,
                           of_stage ? static_cast<std::int64_t>(program.stages.size()) - 1 : -1));
  DOVETAIL_TRY(const std::int64_t number, row.integer(4, "the number", 0, max_index));
  reduction.minibatch = static_cast<int>(minibatch);
  reduction.stage = static_cast<int>(stage);
  reduction.number = static_cast<int>(number);
  DOVETAIL_TRY(reduction.ranks, read_ranks(row.cell(5), program.ranks));
  return reduction;
}

Result<Instruction> read_instruction(const Node& node, const Program& program) {
  constexpr std::string_view accepted =
      "[CODE, target] with CODE receive, wait, send, reduce or await; or [OP, stage, microbatch] with OP F, B, I, W, S "
      "or free";
  const bool has_name = node.is_list() && node.size() > 0 && node.item(0).is_string();
  const std::string_view name = has_name ? node.item(0).text() : std::string_view();
  const auto op = op_kind_of(name);
  const auto code = op ? std::optional(Code::run) : base::enum_named<Code>(name);
  if (!code || name == base::enum_name(Code::run))
    return node.error(
        fmt::format("an instruction is {}; accepted: {}", has_name ? base::quote(name) : node.describe(), accepted));
  Instruction instruction{*code, op.value_or(OpKind::F), 0, {}};
  const bool of_stage = *code == Code::run || *code == Code::free;
  DOVETAIL_TRY(const Row row, Row::of(node, "an instruction", of_stage ? 3 : 2, accepted));
  const bool of_reduction = *code == Code::reduce || *code == Code::await;
  const std::size_t targets = of_stage       ? program.stages.size()
                              : of_reduction ? program.reductions.size()
                                             : program.messages.size();
  DOVETAIL_TRY(const std::int64_t target, row.integer(1, "the target", 0, static_cast<std::int64_t>(targets) - 1));
  instruction.target = static_cast<int>(target);
  if (!of_stage) return instruction;
  DOVETAIL_TRY(const std::int64_t microbatch, row.integer(2, "the micro-batch", 0, max_op_count));
  instruction.microbatch = MicrobatchId(static_cast<std::int32_t>(microbatch));
  return instruction;
}

Result<ProgramPeak> read_peak(const Node& root) {
  DOVETAIL_TRY(const Node node, base::require(root, "the program", "peak"));
  DOVETAIL_CHECK(base::check_keys(node, "`peak`", {"activation", "arrived", "bytes"}));
  ProgramPeak peak;
  DOVETAIL_TRY(peak.activation, read_memory_at(node, "`peak`", "activation"));
  DOVETAIL_TRY(peak.arrived, read_index(node, "`peak`", "arrived", 0, max_index));
  DOVETAIL_TRY(const Node bytes, base::require(node, "`peak`", "bytes"));
  DOVETAIL_TRY(peak.bytes, base::read_integer(bytes, "`bytes`", 0, max_sum));
  return peak;
}

}  // namespace

Result<ProgramFile> parse_program(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  const Node root = document.root();
  DOVETAIL_CHECK(base::require_format(root, "the program", program_format));
  DOVETAIL_CHECK(base::check_keys(
      root, "the program",
      {"format", "rank", "ranks", "problem", "models", "stages", "messages", "reductions", "code", "peak"}));
  ProgramFile file;
  Program& program = file.program;
  DOVETAIL_TRY(program.ranks, read_index(root, "the program", "ranks", 1, max_index));
  DOVETAIL_TRY(program.rank, read_index(root, "the program", "rank", 0, program.ranks - 1));
  DOVETAIL_TRY(const Node problem, base::require(root, "the program", "problem"));
  if (!problem.is_string() || !base::is_sha256_hex(problem.text()))
    return problem.error(
        fmt::format("`problem` is {}; accepted: a SHA-256 as 64 hexadecimal digits in lower case", problem.describe()));
  program.problem = problem.text();
  DOVETAIL_TRY(program.models, read_list<ProgramModel>(root, "models", read_model));
  if (program.models.empty()) return root.error("`models` is an empty list; accepted: at least one model");
  const auto with_program = [&program](auto read) {
    return [&program, read](const Node& node) { return read(node, program); };
  };
  DOVETAIL_TRY(program.stages, read_list<ProgramStage>(root, "stages", with_program(read_stage)));
  DOVETAIL_TRY(program.messages, read_list<Message>(root, "messages", with_program(read_message)));
  DOVETAIL_TRY(program.reductions, read_list<Reduction>(root, "reductions", with_program(read_reduction)));
  DOVETAIL_TRY(program.code, read_list<Instruction>(root, "code", with_program(read_instruction)));
  const Node code = *root.find("code");
  for (std::size_t i = 0; i < code.size(); ++i) file.places.push_back({code.item(i).line(), code.item(i).column()});
  DOVETAIL_TRY(program.peak, read_peak(root));
  return file;
}

namespace {

/// Writes a list with one item per line; `append(text, item)` writes an item.
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
