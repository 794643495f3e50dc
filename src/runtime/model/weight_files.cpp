#include "runtime/model/weight_files.h"

#include <ATen/ops/empty.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/file.h"
#include "llm/computation.h"

namespace dovetail::runtime {
namespace {

using weights::ElementType;
using weights::StoredTensor;

at::ScalarType type_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return at::kDouble;
    case ElementType::f32:
      return at::kFloat;
    case ElementType::f16:
      return at::kHalf;
    case ElementType::bf16:
      return at::kBFloat16;
    case ElementType::i64:
      return at::kLong;
    case ElementType::i32:
      return at::kInt;
    case ElementType::i16:
      return at::kShort;
    case ElementType::i8:
      return at::kChar;
    case ElementType::u8:
      return at::kByte;
    case ElementType::boolean:
      break;
  }
  return at::kBool;
}

ElementType type_of(at::ScalarType type) {
  for (const auto& name : weights::names_of(ElementType()))
    if (type_of(name.value) == type) return name.value;
  DOVETAIL_ASSERT(false);
}

/// Copies the stored numbers to a CPU tensor. A view is not possible because files do not align them.
Tensor to_tensor(const StoredTensor& stored) {
  Tensor tensor = at::empty(stored.shape, type_of(stored.type));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

/// Returns a view of a contiguous CPU tensor, which must outlive it.
StoredTensor to_stored(const std::string& name, const Tensor& tensor) {
  DOVETAIL_ASSERT(tensor.is_contiguous() && tensor.device().is_cpu());
  return {name,
          type_of(tensor.scalar_type()),
          tensor.sizes().vec(),
          {static_cast<const std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())}};
}

/// Whether the checkpoint has exactly the model's tensors.
bool has_same_tensors(const Weights& weights, const weights::Checkpoint& source) {
  std::size_t expected = 0;
  for (const Parameter& parameter : weights.parameters) {
    const bool is_there = source.find(parameter.is.name) != nullptr;
    if (!is_there && !parameter.shared) return false;
    expected += is_there ? 1 : 0;
  }
  return expected == source.names().size();
}

base::Status write_like(const Weights& weights, const weights::SafetensorsFile& file, const std::string& path) {
  std::vector<Tensor> values;
  std::vector<StoredTensor> stored;
  for (const StoredTensor& tensor : file.tensors()) {
    const Parameter* const parameter = weights.find_or_null(tensor.name);
    values.push_back(parameter->value.to(at::kCPU, type_of(tensor.type)).contiguous().view(tensor.shape));
    stored.push_back(to_stored(tensor.name, values.back()));
  }
  return weights::write_safetensors(path, stored, file.metadata());
}

base::Status write_all(const Weights& weights, const std::string& path) {
  std::vector<Tensor> values;
  std::vector<StoredTensor> stored;
  for (const Parameter& parameter : weights.parameters) {
    if (parameter.shared) continue;
    values.push_back(parameter.value.to(at::kCPU).contiguous());
    stored.push_back(to_stored(parameter.is.name, values.back()));
  }
  return weights::write_safetensors(path, stored);
}

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view tokenizer_files[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt",     "chat_template.jinja",   "generation_config.json"};

std::string_view head_suffix(const llm::Transformer& shape) {
  return shape.head == llm::Head::scalar ? "ForSequenceClassification" : "ForCausalLM";
}

/// Returns the source's configuration, adapted to the model's head.
base::Result<std::string> adapted_config(const llm::Transformer& shape, const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  Json config = Json::parse(content, nullptr, false);
  if (!config.is_object()) return base::Error{base::Failure::bad_input, path, 0, 0, "must be a JSON object"};
  const Json known = config.value("architectures", Json::array());
  const std::string name = known.empty() || !known.front().is_string() ? "" : known.front().get<std::string>();
  if (name.ends_with(head_suffix(shape))) return content;
  const std::size_t end = name.find("For");
  if (end == std::string::npos) return content;
  config["architectures"] = {name.substr(0, end) + std::string(head_suffix(shape))};
  if (shape.head == llm::Head::scalar)
    config["num_labels"] = 1;
  else
    config.erase("num_labels");
  return config.dump(2) + "\n";
}

base::Status copy_if_there(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return {};
  DOVETAIL_TRY(const std::string content, base::read_file(from.string()));
  return base::write_file(to.string(), content);
}

}  // namespace

void read_weights(const weights::Checkpoint& checkpoint, Weights& weights) {
  for (const Parameter& parameter : weights.parameters) {
    const StoredTensor* const stored = checkpoint.find(parameter.is.name);
    if (stored != nullptr && !parameter.shared)
      parameter.value.copy_(to_tensor(*stored).view(parameter.value.sizes()));
    else if (stored == nullptr && parameter.is.position == llm::TensorPosition::head && !parameter.shared)
      parameter.value.zero_();
    else
      DOVETAIL_ASSERT(parameter.shared);
  }
}

base::Status write_weights(const Weights& weights, const weights::Checkpoint* source, const std::string& folder) {
  namespace fs = std::filesystem;
  if (source == nullptr || !has_same_tensors(weights, *source))
    return write_all(weights, (fs::path(folder) / weights::single_file_name).string());
  for (const weights::SafetensorsFile& file : source->files())
    DOVETAIL_CHECK(write_like(weights, file, (fs::path(folder) / fs::path(file.path()).filename()).string()));
  const fs::path index = fs::path(source->folder()) / weights::index_file_name;
  if (source->files().size() == 1 && source->files().front().path().ends_with(weights::single_file_name)) return {};
  DOVETAIL_TRY(const std::string content, base::read_file(index.string()));
  return base::write_file((fs::path(folder) / weights::index_file_name).string(), content);
}

base::Status write_tensors(const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<Tensor> values;
  std::vector<StoredTensor> stored;
  for (const NamedTensor& tensor : tensors) {
    values.push_back(tensor.value.to(at::kCPU).contiguous());
    stored.push_back(to_stored(tensor.name, values.back()));
  }
  return weights::write_safetensors(path, stored);
}

base::Status read_tensors(const std::string& path, std::span<const NamedTensor> tensors) {
  DOVETAIL_TRY(const weights::SafetensorsFile file, weights::SafetensorsFile::open(path));
  for (const NamedTensor& tensor : tensors) {
    const StoredTensor* const stored = file.find(tensor.name);
    if (stored == nullptr)
      return base::Error{base::Failure::bad_input, path, 0, 0,
                         fmt::format("tensor \"{}\" is missing; use a file of the same run", tensor.name)};
    if (stored->shape != tensor.value.sizes().vec() || type_of(stored->type) != tensor.value.scalar_type())
      return base::Error{
          base::Failure::bad_input, path, 0, 0,
          fmt::format("tensor \"{}\" is {} {}; the model needs {} {}", tensor.name, base::enum_name(stored->type),
                      weights::shape_text(stored->shape), base::enum_name(type_of(tensor.value.scalar_type())),
                      weights::shape_text(tensor.value.sizes().vec()))};
    tensor.value.copy_(to_tensor(*stored));
  }
  return {};
}

base::Status write_model_folder(const llm::Transformer& shape, const llm::Computation& computation,
                                const std::string& source, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::Error{base::Failure::io, folder, 0, 0, "cannot create the folder: " + error.message()};
  const fs::path out(folder);
  const fs::path in(source);
  const bool has_config = !source.empty() && fs::exists(in / "config.json", error);
  base::Result<std::string> config =
      has_config ? adapted_config(shape, (in / "config.json").string()) : llm::config_text(shape, computation);
  if (!config.ok()) return std::move(config).error();
  DOVETAIL_CHECK(base::write_file((out / "config.json").string(), *config));
  if (source.empty()) return {};
  for (const std::string_view name : tokenizer_files) DOVETAIL_CHECK(copy_if_there(in / name, out / name));
  return {};
}

}  // namespace dovetail::runtime
