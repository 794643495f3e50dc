// Logs with one damaged number or record, which must be an error.
#pragma once

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/log_formats.h"

namespace dovetail::test {

/// Returns the start of the number after each `marker` in `text`.
inline std::vector<std::size_t> numbers_behind(std::string_view text, std::string_view marker) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
    std::size_t number = at + marker.size();
    while (number < text.size() && std::string_view("0123456789").find(text[number]) == std::string_view::npos)
      ++number;
    if (number < text.size()) places.push_back(number);
  }
  return places;
}

/// Property: if any number after a marker is replaced by something invalid, reading the log gives an Error on its line.
inline void check_damage(const std::string& text, const std::vector<std::string>& markers) {
  std::vector<std::size_t> places;
  for (const std::string& marker : markers)
    for (const std::size_t place : numbers_behind(text, marker)) places.push_back(place);
  RC_ASSERT(!places.empty());
  const std::size_t place = *rc::gen::elementOf(places);
  std::size_t end = place;
  while (end < text.size() && std::string_view("0123456789.e+").find(text[end]) != std::string_view::npos) ++end;
  const std::string number = text.substr(place, end - place);
  const auto damage = *rc::gen::elementOf(std::vector<std::string>{
      "x", "1.2.3", "--1", "1e", "0x1F", "1,5", number + "!", "_" + number, "?", "1 2", number + number + ".1.", "[1"});
  const std::string damaged = text.substr(0, place) + damage + text.substr(end);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
  const auto log = trainers::read_step_log({{damaged, "run.log"}});
  RC_LOG() << "damage: " << damage << " at line " << line << "\n";
  RC_ASSERT(!log.ok());
  RC_ASSERT(log.error().path == "run.log");
  RC_ASSERT(log.error().line == line);
  RC_ASSERT(log.error().column > 0);
  RC_ASSERT(!log.error().message.empty());
}

}  // namespace dovetail::test
