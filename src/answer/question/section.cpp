#include "answer/question/section.h"

namespace dovetail::answer {

Sections::Sections(std::string lines) {
  if (!lines.empty()) all_.emplace_back(Text{std::move(lines)});
}

Sections::Sections(Table table) { all_.emplace_back(std::move(table)); }

Sections& Sections::operator+=(const Sections& more) {
  for (const Section& section : more.all_) {
    Text* const last = all_.empty() ? nullptr : std::get_if<Text>(&all_.back());
    const Text* const next = std::get_if<Text>(&section);
    if (last != nullptr && next != nullptr)
      last->lines += next->lines;
    else
      all_.push_back(section);
  }
  return *this;
}

}  // namespace dovetail::answer
