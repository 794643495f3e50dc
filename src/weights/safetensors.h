// Safetensors files (huggingface.co/docs/safetensors): the length of the header, a JSON header, then the tensors'
// bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "base/file.h"
#include "base/result.h"

namespace dovetail::weights {

/// Type of a tensor's elements, named as in safetensors files.
enum class ElementType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
constexpr auto names_of(ElementType) {
  return std::array{base::EnumName{"F64", ElementType::f64}, base::EnumName{"F32", ElementType::f32},
                    base::EnumName{"F16", ElementType::f16}, base::EnumName{"BF16", ElementType::bf16},
                    base::EnumName{"I64", ElementType::i64}, base::EnumName{"I32", ElementType::i32},
                    base::EnumName{"I16", ElementType::i16}, base::EnumName{"I8", ElementType::i8},
                    base::EnumName{"U8", ElementType::u8},   base::EnumName{"BOOL", ElementType::boolean}};
}

/// Returns the size of one element in bytes.
constexpr std::int64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::i16:
      return 2;
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::boolean:
      break;
  }
  return 1;
}

/// A tensor in row-major order. Does not own its bytes, which are little-endian.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  ///< empty: a scalar
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

/// Returns a shape for messages: "[320, 64]".
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Key-value pairs of the header's metadata ("format": "pt"), in the file's order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A mapped and validated file. The bytes of each tensor match its shape and type, and the tensors fill the file after
/// the header without gaps.
class SafetensorsFile {
 public:
  /// Maps the file. Returns Failure::io if the file cannot be read, and Failure::bad_input if it is truncated, if its
  /// header is invalid, or if a tensor has an unknown type. Lines and columns in Errors are relative to the header.
  static base::Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  /// Returns the tensors in the order of their bytes.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  /// Returns the tensor with that name, or null.
  const StoredTensor* find(std::string_view name) const;

 private:
  explicit SafetensorsFile(base::MappedFile file) : file_(std::move(file)) {}

  base::MappedFile file_;
  std::string path_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::size_t> by_name_;  ///< indices of tensors_, sorted by name
  Metadata metadata_;
};

/// Tensors and metadata of a file. The tensors point into its bytes.
struct SafetensorsContent {
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
  Metadata metadata;
};

/// Parses and validates the bytes of a whole file, for SafetensorsFile::open.
base::Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> content, const std::string& path);

/// Writes the tensors in the given order, atomically (base::write_file). Rewriting the tensors and metadata of a file
/// from the safetensors library reproduces its bytes. REQUIRES: names are unique; the bytes of each tensor match its
/// shape and type.
base::Status write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                               const Metadata& metadata = {{"format", "pt"}});

}  // namespace dovetail::weights
