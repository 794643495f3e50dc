// Texts of answers.
#pragma once

#include <string>
#include <variant>

#include "answer/question/section.h"

namespace dovetail::answer {

/// All texts of an answer, without tables.
inline std::string texts(const Sections& sections) {
  std::string text;
  for (const Section& section : sections.all())
    if (const auto* lines = std::get_if<Text>(&section)) text += lines->lines;
  return text;
}

}  // namespace dovetail::answer
