// Sections of an answer as text for a terminal.
#pragma once

#include <string>

#include "answer/question/section.h"

namespace dovetail::report {

/// Texts as they are, tables as render_table draws them.
std::string text_of(const answer::Sections& sections);

}  // namespace dovetail::report
