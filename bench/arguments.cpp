#include "arguments.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>

namespace dovetail::bench {

struct Arguments::Parser {
  explicit Parser(const std::string& description) : app(description) {}
  CLI::App app;
};

Arguments::Arguments(const std::string& what_the_program_does)
    : parser_(std::make_unique<Parser>(what_the_program_does)) {}

Arguments::~Arguments() = default;

template <class Value>
void Arguments::number(const std::string& name, Value& value, const std::string& what,
                       std::type_identity_t<Value> least, std::type_identity_t<Value> most) {
  CLI::Option* option = parser_->app.add_option(name, value, what)->capture_default_str();
  if (least > std::numeric_limits<Value>::lowest() || most < std::numeric_limits<Value>::max())
    option->check(CLI::Range(least, most));
}

template void Arguments::number(const std::string&, int&, const std::string&, int, int);
template void Arguments::number(const std::string&, std::int64_t&, const std::string&, std::int64_t, std::int64_t);
template void Arguments::number(const std::string&, std::uint64_t&, const std::string&, std::uint64_t, std::uint64_t);
template void Arguments::number(const std::string&, double&, const std::string&, double, double);

void Arguments::text(const std::string& name, std::string& value, const std::string& what) {
  parser_->app.add_option(name, value, what)->capture_default_str();
}

void Arguments::texts(const std::string& name, std::vector<std::string>& values, const std::string& what,
                      const std::vector<std::string>& accepted) {
  CLI::Option* option = parser_->app.add_option(name, values, what);
  if (!accepted.empty()) option->check(CLI::IsMember(accepted));
}

void Arguments::flag(const std::string& name, bool& value, const std::string& what) {
  parser_->app.add_flag(name, value, what);
}

std::optional<int> Arguments::parse(int count, char** arguments) {
  try {
    parser_->app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return parser_->app.exit(error);
  }
  return std::nullopt;
}

}  // namespace dovetail::bench
