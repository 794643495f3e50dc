// Values or errors: the result of every function that can fail because of its input.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace dovetail::base {

/// Kind of failure. The command line maps it to an exit code.
enum class Failure {
  bad_input,    ///< a file or an argument is wrong (exit code 2)
  invalid,      ///< a schedule breaks a rule, or a run or measurement gave unusable results (exit code 1)
  io,           ///< a file could not be read or written (exit code 1)
  infeasible,   ///< no answer within the requested limits (exit code 3)
  lost,         ///< another rank is gone, or did not respond by its deadline (exit code 4)
  interrupted,  ///< stopped by the user before there was an answer (exit code 130)
};

/// A place in a file. `line` and `column` count from 1; 0 means unknown.
struct FilePlace {
  int line = 0;
  int column = 0;

  friend bool operator==(const FilePlace&, const FilePlace&) = default;
};

/// A failure and its place. `line` and `column` count from 1; 0 means unknown.
struct Error {
  Failure failure = Failure::bad_input;
  std::string path;
  int line = 0;
  int column = 0;
  std::string message;  ///< the problem, then the accepted values
};

/// Returns "path:line:column: message", without the parts that are unknown.
std::string to_text(const Error& error);

/// Returns a bad_input Error without a place, for a command-line argument or if the caller adds the place.
Error bad_input(std::string message);

/// Either a value or an Error. Accessing the one that is absent fails an assertion.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    DOVETAIL_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    DOVETAIL_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    DOVETAIL_ASSERT(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const Error& error() const& {
    DOVETAIL_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    DOVETAIL_ASSERT(!ok());
    return std::move(*std::get_if<1>(&state_));
  }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    DOVETAIL_ASSERT(!ok());
    return *error_;
  }
  Error&& error() && {
    DOVETAIL_ASSERT(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace dovetail::base

#define DOVETAIL_CONCAT_INNER(a, b) a##b
#define DOVETAIL_CONCAT(a, b) DOVETAIL_CONCAT_INNER(a, b)

/// `DOVETAIL_TRY(auto x, f());` returns f's Error from the enclosing function, otherwise declares x with f's value.
#define DOVETAIL_TRY(declaration, expression)                                                                       \
  auto DOVETAIL_CONCAT(result_at_, __LINE__) = (expression);                                                        \
  if (!DOVETAIL_CONCAT(result_at_, __LINE__).ok()) return std::move(DOVETAIL_CONCAT(result_at_, __LINE__)).error(); \
  declaration = std::move(DOVETAIL_CONCAT(result_at_, __LINE__)).value()

/// `DOVETAIL_CHECK(f());` returns the Error of a Status from the enclosing function.
#define DOVETAIL_CHECK(expression)                                                                            \
  if (auto DOVETAIL_CONCAT(status_at_, __LINE__) = (expression); !DOVETAIL_CONCAT(status_at_, __LINE__).ok()) \
  return std::move(DOVETAIL_CONCAT(status_at_, __LINE__)).error()
