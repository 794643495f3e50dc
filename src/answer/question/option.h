// A request's options, listed once beside it: flags of the command line, later keywords of Python and fields of forms
// follow from the list.
//
//   struct FitRequest {
//     JobInput job;
//     std::optional<Input> plan;
//     PlanSearchOptions search;
//   };
//   template <std::same_as<FitRequest> T>
//   auto options_of(const T*) {
//     return options<T>(option("JOB", &T::job, JobFile{}, "job file, '-' for standard input"),
//                       option("plan", &T::plan, File{}, "this plan, in place of searching"), group(&T::search));
//   }
//
// It is a template so that only who uses the list pays for it. The members' initializers are the defaults. A member
// without an option does not compile.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/descriptor.h"

namespace dovetail::answer {

// What an option takes. A member that is a std::optional is left empty where the option is not given.

/// Nothing: given, the member is true.
struct Flag {};
/// A file to read (Input), "-" for standard input; a vector of them: any number. `kind` stands for it in help.
struct File {
  std::string_view kind = "FILE";
};
/// A file to read a job from (JobInput), with the options of who has a trainer's configuration in its place.
struct JobFile {
  bool takes_arguments = true;  ///< of a launch script, behind all else
  bool takes_lengths = true;    ///< `--lengths`, where the question has no option of that name
};
/// A text (std::string); a vector of them: the option may be given several times.
struct Words {
  std::string_view kind;
};
/// A whole number in [min, max].
struct Count {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};
/// A time in seconds (double): "30s", "5m".
struct Seconds {};
/// An amount of memory (base::Memory), in the unit of a problem's `activation`.
struct Amount {};
/// A value of an enum with names (base/enum_names.h); `none` is what an empty std::optional is called, if it has a
/// name.
struct Choice {
  std::string_view none = {};
};
/// The options of a struct within the request.
struct Group {};
/// No option: what programs set, and a command line cannot.
struct Unlisted {};

/// What a JobFile is.
inline constexpr const char* job_file_help =
    "job file, or a launch script or configuration of verl, NeMo-RL, OpenRLHF, AReaL, ROLL or slime ('verl:FILE', "
    "'roll:FILE': whose); '-' for standard input";

/// An option that sets a member of `Request`. One whose name is in capitals has no flag: it is told by its position.
template <class Request, class Value, class Kind>
struct Option {
  std::string_view name;  ///< words with hyphens between them
  Value Request::* member;
  Kind kind;
  std::string help;  ///< {} stands for the default
  bool required = false;
};

template <class Request, class Value, class Kind>
Option<Request, Value, Kind> option(std::string_view name, Value Request::* member, Kind kind, std::string help) {
  return {name, member, kind, std::move(help)};
}

/// One that a request is none without.
template <class Request, class Value, class Kind>
Option<Request, Value, Kind> required(std::string_view name, Value Request::* member, Kind kind, std::string help) {
  return {name, member, kind, std::move(help), true};
}

template <class Request, class Value>
Option<Request, Value, Group> group(Value Request::* member) {
  return {{}, member, {}, {}};
}

template <class Request, class Value>
Option<Request, Value, Unlisted> unlisted(Value Request::* member) {
  return {{}, member, {}, {}};
}

/// The list of all options of `Request`.
template <class Request, class... Options>
std::tuple<Options...> options(Options... all) {
  static_assert(sizeof...(Options) == base::member_count<Request>,
                "each member of the request has one option in its options_of");
  return {std::move(all)...};
}

/// Calls `f` with each option of the request, in order; groups are not opened.
template <class Request, class F>
void for_each_option(F&& f) {
  std::apply([&f](const auto&... each) { (f(each), ...); }, options_of(static_cast<const Request*>(nullptr)));
}

}  // namespace dovetail::answer
