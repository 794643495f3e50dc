#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

constexpr std::size_t max_width = 1000;

/// What the escapes of printf and `echo -e` stand for; how many characters it takes of `text`, which begins with a
/// backslash.
std::size_t unescape(std::string_view text, std::string& result) {
  constexpr std::string_view letters = "abefnrtv\\\"'";
  constexpr std::string_view codes = "\a\b\x1b\f\n\r\t\v\\\"'";
  if (text.size() < 2) {
    result += '\\';
    return 1;
  }
  if (const std::size_t at = letters.find(text[1]); at != std::string_view::npos) {
    result += codes[at];
    return 2;
  }
  std::size_t length = 1;
  unsigned value = 0;
  while (length < text.size() && length < 5 && text[length] >= '0' && text[length] <= '7' &&
         (length < 4 || text[1] == '0'))
    value = value * 8 + static_cast<unsigned>(text[length++] - '0');
  if (length == 1) {
    result += '\\';
    return 1;
  }
  result += static_cast<char>(value);
  return length;
}

/// A conversion of printf: "%-5d".
struct Conversion {
  std::string flags;  ///< with width and precision
  char kind = 0;
};

std::optional<Conversion> parse_conversion(std::string_view text, std::size_t& at) {
  Conversion conversion;
  std::size_t digits = 0;
  for (; at < text.size() && std::string_view("-+ #0123456789.").find(text[at]) != std::string_view::npos; ++at) {
    conversion.flags += text[at];
    digits = text[at] >= '0' && text[at] <= '9' ? digits + 1 : 0;
    if (digits > 3) return std::nullopt;
  }
  if (at >= text.size()) return std::nullopt;
  conversion.kind = text[at++];
  return conversion;
}

std::optional<std::string> formatted(const Conversion& conversion, std::string_view argument) {
  std::string buffer(2 * max_width, '\0');
  std::string format = "%" + conversion.flags;
  int length = -1;
  if (conversion.kind == 's') {
    format += "s";
    if (argument.size() > max_width && conversion.flags.empty()) return std::string(argument);
    if (argument.size() > max_width) return std::nullopt;
    length = std::snprintf(buffer.data(), buffer.size(), format.c_str(), std::string(argument).c_str());
  } else if (std::string_view("dixXo").find(conversion.kind) != std::string_view::npos) {
    // As bash, which takes the digits that the argument begins with.
    const long long value = std::strtoll(std::string(argument).c_str(), nullptr, 0);
    format += "ll";
    format += conversion.kind;
    length = std::snprintf(buffer.data(), buffer.size(), format.c_str(), value);
  } else if (std::string_view("feg").find(conversion.kind) != std::string_view::npos) {
    const std::string copy(argument);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (*end != '\0' || copy.size() > 30) return std::nullopt;
    format += conversion.kind;
    length = std::snprintf(buffer.data(), buffer.size(), format.c_str(), value);
  }
  if (length < 0 || static_cast<std::size_t>(length) >= buffer.size()) return std::nullopt;
  buffer.resize(static_cast<std::size_t>(length));
  return buffer;
}

/// Prints the format once; false where something of it is not computed.
bool format_once(std::string_view format, const std::vector<Word>& words, std::size_t& next, Text& result) {
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] == '\\') {
      std::string character;
      at += unescape(format.substr(at), character);
      append(result, character);
      continue;
    }
    if (format[at] != '%') {
      append(result, format.substr(at++, 1));
      continue;
    }
    ++at;
    const std::optional<Conversion> conversion = parse_conversion(format, at);
    if (!conversion) return false;
    if (conversion->kind == '%') {
      append(result, "%");
      continue;
    }
    const Text argument = next < words.size() ? words[next].text : Text();
    ++next;
    if (conversion->kind == 's' && conversion->flags.empty()) {
      append(result, argument);
      continue;
    }
    if (!is_known(argument)) {
      append(result, text_of(first_unknown(argument)));
      continue;
    }
    if (conversion->kind == 'b') {
      const std::string_view text = characters(argument);
      std::string plain;
      for (std::size_t i = 0; i < text.size();)
        if (text[i] == '\\')
          i += unescape(text.substr(i), plain);
        else
          plain += text[i++];
      append(result, plain);
      continue;
    }
    const std::optional<std::string> text = formatted(*conversion, characters(argument));
    if (!text) return false;
    append(result, *text);
  }
  return true;
}

std::optional<std::int64_t> sequence_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || std::abs(value) > 1'000'000'000) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Text> format_words(Shell& shell, const std::vector<Word>& words, const Place& place) {
  if (words.empty()) return Text();
  for (const Word& word : words)
    if (word.doubt) return std::nullopt;
  if (!is_known(words.front().text)) return std::nullopt;
  const std::string_view format = characters(words.front().text);
  Text result;
  std::size_t next = 1;
  do {
    const std::size_t before = next;
    if (!format_once(format, words, next, result)) return std::nullopt;
    if (!spend(shell, place, 1, static_cast<std::int64_t>(format.size()))) return std::nullopt;
    if (next == before) break;
  } while (next < words.size());
  return result;
}

std::optional<std::string> sequence(Shell& shell, const std::vector<Word>& words, const Place& place) {
  std::string separator = "\n";
  std::vector<std::int64_t> numbers;
  bool pads = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!is_known(words[i].text) || words[i].doubt) return std::nullopt;
    const std::string_view word = characters(words[i].text);
    if (word == "-s" && i + 1 < words.size() && is_known(words[i + 1].text)) {
      separator = characters(words[++i].text);
    } else if (word == "-w") {
      pads = true;
    } else if (const std::optional<std::int64_t> number = sequence_number(word)) {
      numbers.push_back(*number);
    } else {
      return std::nullopt;
    }
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1;
  const std::int64_t step = numbers.size() > 2 ? numbers[1] : 1;
  const std::int64_t last = numbers.back();
  if (step == 0) return std::nullopt;
  const std::size_t width = std::max(std::to_string(first).size(), std::to_string(last).size());
  std::string result;
  for (std::int64_t value = first; step > 0 ? value <= last : value >= last; value += step) {
    std::string number = std::to_string(std::abs(value));
    const std::size_t sign = value < 0 ? 1 : 0;
    if (pads && number.size() + sign < width) number.insert(0, width - number.size() - sign, '0');
    if (!result.empty()) result += separator;
    result += (sign > 0 ? "-" : "") + number;
    if (!spend(shell, place, 1, static_cast<std::int64_t>(number.size() + separator.size()))) return std::nullopt;
  }
  return result.empty() ? result : result + "\n";
}

}  // namespace dovetail::syntax
