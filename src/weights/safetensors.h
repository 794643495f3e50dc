// Safetensors files (huggingface.co/docs/safetensors): a length, a JSON header, and the tensors' bytes behind it.
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

/// A tensor in row-major order, its numbers in little-endian bytes that lie elsewhere.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  ///< empty: one number
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

/// "[320, 64]"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// What the header says beside tensors ("format": "pt"), in the file's order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A file, checked as a whole: each tensor has as many bytes as its shape and type say, and together they are what is
/// behind the header, without gaps.
class SafetensorsFile {
 public:
  /// Maps the file. Errors: Failure::io where it cannot be read; bad_input where it is cut short, where its header
  /// breaks a rule (line and column count in the header), or where a tensor has a type that is not known.
  static base::Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  /// In the order of their bytes.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  /// Null where there is none of that name.
  const StoredTensor* find(std::string_view name) const;

 private:
  explicit SafetensorsFile(base::MappedFile file) : file_(std::move(file)) {}

  base::MappedFile file_;
  std::string path_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::size_t> by_name_;  ///< indices, sorted by name
  Metadata metadata_;
};

/// Tensors and metadata as the bytes of a whole file say them, which the tensors point into; what SafetensorsFile::open
/// is made of.
struct SafetensorsContent {
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
  Metadata metadata;
};
base::Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> content, const std::string& path);

/// Writes the tensors in the order given, as base::write_file does: whole or not at all. A file that was written by the
/// safetensors library has the same bytes again when its tensors and metadata are written. REQUIRES: names differ, each
/// tensor has the bytes that its shape and type ask for.
base::Status write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                               const Metadata& metadata = {{"format", "pt"}});

/// Named as in safetensors files.
enum class ElementType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
constexpr auto names_of(ElementType) {
  return std::array{base::EnumName{"F64", ElementType::f64}, base::EnumName{"F32", ElementType::f32},
                    base::EnumName{"F16", ElementType::f16}, base::EnumName{"BF16", ElementType::bf16},
                    base::EnumName{"I64", ElementType::i64}, base::EnumName{"I32", ElementType::i32},
                    base::EnumName{"I16", ElementType::i16}, base::EnumName{"I8", ElementType::i8},
                    base::EnumName{"U8", ElementType::u8},   base::EnumName{"BOOL", ElementType::boolean}};
}

/// Bytes of one number.
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

}  // namespace dovetail::weights
