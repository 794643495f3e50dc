#include "runtime/model/weight_files.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/assert.h"
#include "base/file.h"

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

/// The stored numbers as a tensor on the CPU. Files do not align them, so they are copied.
Tensor to_tensor(const StoredTensor& stored) {
  Tensor tensor = at::empty(stored.shape, type_of(stored.type));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

/// The bytes of a contiguous tensor on the CPU, which must outlive it.
StoredTensor to_stored(const std::string& name, const Tensor& tensor) {
  DOVETAIL_ASSERT(tensor.is_contiguous() && tensor.device().is_cpu());
  return {name,
          type_of(tensor.scalar_type()),
          tensor.sizes().vec(),
          {static_cast<const std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())}};
}

/// Whether the checkpoint has the model's tensors, and no others.
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

}  // namespace

void read_weights(const weights::Checkpoint& checkpoint, Weights& weights) {
  for (const Parameter& parameter : weights.parameters) {
    const StoredTensor* const stored = checkpoint.find(parameter.is.name);
    if (stored != nullptr && !parameter.shared)
      parameter.value.copy_(to_tensor(*stored).view(parameter.value.sizes()));
    else if (stored == nullptr && parameter.is.part == llm::Part::head && !parameter.shared)
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
                         fmt::format("tensor \"{}\" is missing; accepted: a file of the same run", tensor.name)};
    if (stored->shape != tensor.value.sizes().vec() || type_of(stored->type) != tensor.value.scalar_type())
      return base::Error{
          base::Failure::bad_input, path, 0, 0,
          fmt::format("tensor \"{}\" has the shape {}; accepted: {}, as the model has it", tensor.name,
                      weights::shape_text(stored->shape), weights::shape_text(tensor.value.sizes().vec()))};
    tensor.value.copy_(to_tensor(*stored));
  }
  return {};
}

}  // namespace dovetail::runtime
