// The types of numbers that checkpoints hold.
#pragma once

#include <array>
#include <cstdint>

#include "base/enum_names.h"

namespace dovetail::weights {

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
