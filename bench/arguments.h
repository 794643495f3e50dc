// The command line of a benchmark program. What parses it stays in one file, as it takes longer to compile than most of
// the programs.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace dovetail::bench {

/// The options of a program, each held by a variable of its own, which has the default and outlives this. A name that
/// begins with no dash is a positional argument.
class Arguments {
 public:
  explicit Arguments(const std::string& what_the_program_does);
  ~Arguments();

  /// For int, std::int64_t, std::uint64_t, std::size_t and double.
  template <class Value>
  void number(const std::string& name, Value& value, const std::string& what,
              std::type_identity_t<Value> least = std::numeric_limits<Value>::lowest(),
              std::type_identity_t<Value> most = std::numeric_limits<Value>::max());
  void text(const std::string& name, std::string& value, const std::string& what);
  /// Any number of texts, each one of `accepted` where that is not empty.
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& what,
             const std::vector<std::string>& accepted = {});
  void flag(const std::string& name, bool& value, const std::string& what);

  /// Nothing, or what the program has to end with: after --help, and after wrong arguments, which it has told of.
  std::optional<int> parse(int count, char** arguments);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dovetail::bench
