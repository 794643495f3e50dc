// Reads texts as JSON strings, one per line. Writes their tokens and the decoded text as a JSON list per line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/utf8.h"
#include "text/tokenizer.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: dovetail_text_ids TOKENIZER.json < TEXTS\n";
    return 2;
  }
  const auto tokenizer = dovetail::text::Tokenizer::read(arguments[1]);
  if (!tokenizer.ok()) {
    std::cerr << to_text(tokenizer.error()) << '\n';
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto tokens = tokenizer->encode(nlohmann::json::parse(line).get<std::string>());
    if (!tokens.ok()) {
      std::cerr << to_text(tokens.error()) << '\n';
      return 1;
    }
    std::cout << fmt::format("[[{}], {}]\n", fmt::join(*tokens, ", "),
                             dovetail::base::json_string(tokenizer->decode(*tokens)));
  }
  return 0;
}
