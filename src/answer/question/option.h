// Options of a request, listed once next to its struct. Command-line flags are generated from the list.
//
//   struct FitRequest {
//     JobInput job;
//     std::optional<Input> plan;
//     PlanSearchOptions search;
//   };
//   template <std::same_as<FitRequest> T>
//   auto options_of(const T*) {
//     return options<T>(option("JOB", &T::job, JobFile{}, "job file, '-' for standard input"),
//                       option("plan", &T::plan, File{}, "plan file (default: search)"), group(&T::search));
//   }
//
// options_of is a template, so that only the files that use it pay for compiling it. The members' initializers are the
// defaults. A list that omits a member does not compile.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/descriptor.h"

namespace dovetail::answer {

// Kinds of options. A std::optional member stays empty if the option is not given.

/// Option without a value: the member is true if the option is given.
struct Flag {};
/// File to read (Input), "-" for standard input; a vector accepts any number of files. `kind` names the value in help.
struct File {
  std::string_view kind = "FILE";
};
/// File that describes a job (JobInput), together with the options for trainer configurations.
struct JobFile {
  bool takes_arguments = true;  ///< accepts arguments of a launch script after "--"
  bool takes_lengths = true;    ///< adds --lengths; false if the request has its own option of that name
};
/// Text (std::string); a vector lets the option be repeated.
struct String {
  std::string_view kind;
};
/// Integer in [min, max].
struct Count {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};
/// Duration in seconds (double): "30s", "5m".
struct Seconds {};
/// Amount of memory (base::Memory), in the unit of the problem's `activation`.
struct Amount {};
/// Value of an enum with names (base/enum_names.h). `none` is the name that selects an empty std::optional; empty: no
/// such name.
struct Choice {
  std::string_view none = {};
};
/// Options of a nested struct.
struct OptionGroup {};
/// Member without an option, set only by code.
struct Unlisted {};

/// Help text of a JobFile.
inline constexpr const char* job_file_help = "job file, or a trainer's launch script or configuration; '-': stdin";

/// Option that sets a member of `Request`.
template <class Request, class Value, class Kind>
struct Option {
  std::string_view name;  ///< lower-case words joined by hyphens ("time-limit"); in capitals for a positional argument
  Value Request::* member;
  Kind kind;
  std::string help;  ///< text for --help, in which {} is replaced by the default
  bool required = false;
};

template <class Request, class Value, class Kind>
Option<Request, Value, Kind> option(std::string_view name, Value Request::* member, Kind kind, std::string help) {
  return {name, member, kind, std::move(help)};
}

/// Option that must be given.
template <class Request, class Value, class Kind>
Option<Request, Value, Kind> required(std::string_view name, Value Request::* member, Kind kind, std::string help) {
  return {name, member, kind, std::move(help), true};
}

template <class Request, class Value>
Option<Request, Value, OptionGroup> group(Value Request::* member) {
  return {{}, member, {}, {}};
}

template <class Request, class Value>
Option<Request, Value, Unlisted> unlisted(Value Request::* member) {
  return {{}, member, {}, {}};
}

/// Lists all options of `Request`.
template <class Request, class... Options>
std::tuple<Options...> options(Options... all) {
  static_assert(sizeof...(Options) == base::member_count<Request>,
                "options_of must list one option per member of the request");
  return {std::move(all)...};
}

/// Calls `f` with each option of the request, in order. Groups are passed unexpanded.
template <class Request, class F>
void for_each_option(F&& f) {
  std::apply([&f](const auto&... each) { (f(each), ...); }, options_of(static_cast<const Request*>(nullptr)));
}

}  // namespace dovetail::answer
