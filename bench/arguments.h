// Command line of a benchmark program. The parser is in a separate file because it takes longer to compile than most of
// the programs.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace dovetail::bench {

/// Options of a program. Each is stored in the caller's variable, which contains the default and must outlive this
/// object. A name without a leading dash is a positional argument.
class Arguments {
 public:
  explicit Arguments(const std::string& what_the_program_does);
  ~Arguments();

  /// Supports int, std::int64_t, std::uint64_t, std::size_t and double.
  template <class Value>
  void number(const std::string& name, Value& value, const std::string& what,
              std::type_identity_t<Value> least = std::numeric_limits<Value>::lowest(),
              std::type_identity_t<Value> most = std::numeric_limits<Value>::max());
  void text(const std::string& name, std::string& value, const std::string& what);
  /// Adds an option with any number of strings, each from `accepted` unless that is empty.
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& what,
             const std::vector<std::string>& accepted = {});
  void flag(const std::string& name, bool& value, const std::string& what);

  /// Returns the exit code if the program has to end: after --help or after reporting wrong arguments. Otherwise
  /// returns nullopt.
  std::optional<int> parse(int count, char** arguments);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace dovetail::bench
