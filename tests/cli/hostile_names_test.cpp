// Names and paths with terminal control sequences, at every place in every command: none reaches the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"
#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

/// ESC, BEL, a C1 control (CSI), a character that changes the writing direction, and an invalid UTF-8 byte.
const std::string hostile = "h\x1b[31m\x07\xC2\x9B\xE2\x80\xAE\x9B";
/// The same, escaped as in JSON and YAML strings.
const std::string escaped = R"(h\u001b\u0007\u009b\u202e)";
/// Characters that files may contain unescaped.
const std::string raw = "h\xC2\x9B\xE2\x80\xAE";

void expect_no_controls(const ProgramResult& result, const Arguments& command) {
  EXPECT_EQ(base::visible(result.out, "\n\t"), result.out) << testing::PrintToString(command);
  EXPECT_EQ(base::visible(result.err, "\n\t"), result.err) << testing::PrintToString(command);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// `command` with `value` in place of each "@".
Arguments filled(Arguments command, const std::string& value) {
  for (std::string& word : command) word = replaced(word, "@", value);
  return command;
}

/// Every place on the command line where a text is read.
const std::vector<Arguments> commands_with_text{
    {"@"},
    {"--@"},
    {"schedule", "@"},
    {"schedule", "exp1", "@"},
    {"schedule", "exp1", "--@=1"},
    {"schedule", "exp1", "--solver", "@"},
    {"schedule", "exp1", "--objective", "@"},
    {"schedule", "exp1", "--deadline", "@"},
    {"schedule", "exp1", "--memory-cap", "@"},
    {"schedule", "exp1", "--chains", "@"},
    {"schedule", "exp1", "--time-limit", "@"},
    {"schedule", "exp1", "--from", "@"},
    {"schedule", "exp1", "--format", "@", "-o", "x.json"},
    {"schedule", "exp1", "--solver", "greedy", "-o", "@"},
    {"schedule", "exp1", "--solver", "greedy", "-o", "@/x.json"},
    {"compare", "@"},
    {"compare", "exp1", "--solver", "@"},
    {"check", "@"},
    {"check", "exp1"},
    {"check", "x", "--problem", "@"},
    {"check", "x", "--format", "@"},
    {"diff", "@", "@"},
    {"bounds", "@"},
    {"convert", "@", "x.json"},
    {"convert", "x", "@"},
    {"convert", "x", "y", "--to", "@"},
    {"show", "@"},
    {"show", "exp1", "--solver", "@"},
    {"report", "@"},
    {"report", "x", "-o", "@"},
    {"report", "x", "-o", "@.html"},
    {"report", "x", "--plan", "@"},
    {"problem", "@"},
    {"problem", "--from", "@"},
    {"problem", "--from", "x", "--microbatches", "@=1"},
    {"problem", "--from", "x", "--map", "@"},
    {"fuse-layouts", "--model", "@", "--model", "@"},
    {"fuse-layouts", "--time-unit", "@"},
    {"fuse-layouts", "--model", "@,dp=1,pp=2,tp=1,forward=1,backward=2,activation=1,microbatches=2", "--model",
     "b,dp=1,pp=2,tp=1,forward=1,backward=2,activation=1,microbatches=2"},
    {"plan", "@"},
    {"plan", "x", "--plan", "@"},
    {"plan", "x", "--placement", "@"},
    {"profile", "@"},
    {"profile", "x", "-o", "@"},
    {"train", "@"},
    {"train", "x", "-o", "@"},
    {"train", "x", "--plan", "@"},
    {"train", "x", "--placement", "@"},
    {"fit", "@"},
    {"fit", "x", "--plan", "@"},
    {"explain", "@"},
    {"explain", "x", "--plan", "@"},
    {"simulate", "@"},
    {"simulate", "x", "-o", "@"},
    {"simulate", "x", "--fuse", "@"},
    {"sweep", "@", "--over", "length"},
    {"sweep", "x", "--over", "@"},
    {"sweep", "x", "--over", "length", "-o", "@"},
    {"what-if", "@"},
    {"forecast", "@", "--steps", "10"},
    {"forecast", "x", "--steps", "10", "--lengths", "@"},
    {"forecast", "x", "--steps", "10", "--pause", "@"},
    {"forecast", "x", "--steps", "10", "-o", "@/"},
    {"calibrate", "@"},
    {"measured", "@"},
    {"measured", "x", "--name", "@"},
    {"measured", "x", "--job", "@", "--plan", "@"},
    {"instances", "@"},
    {"import", "@"},
    {"import", "x", "--set", "@"},
    {"export", "@", "--to", "verl", "--base", "@"},
    {"export", "x", "--to", "@", "--base", "x"},
    {"completion", "@"},
};

TEST(HostileNames, OnTheCommandLineAreEscaped) {
  for (const Arguments& command : commands_with_text) {
    const ProgramResult result = run_program(filled(command, hostile));
    EXPECT_NE(result.exit_code, 0) << testing::PrintToString(command);
    expect_no_controls(result, command);
  }
}

TEST(HostileNames, CoverEveryCommand) {
  std::set<std::string> tried;
  for (const Arguments& command : commands_with_text) tried.insert(command.front());
  const std::string help = run_program({"--help"}).out;
  std::size_t commands = 0;
  for (std::size_t line = help.find("\nSubcommands:\n"); line != std::string::npos; line = help.find('\n', line + 1)) {
    if (help.compare(line, 3, "\n  ") != 0 || help[line + 3] == ' ') continue;
    const std::string name = help.substr(line + 3, help.find(' ', line + 3) - line - 3);
    if (name == "dovetail") continue;  // the examples
    ++commands;
    EXPECT_TRUE(tried.contains(name)) << name;
  }
  EXPECT_GT(commands, 15U);
}

/// Files with hostile names in their contents, in place of NAME.
struct HostileFile {
  std::string content;
  Arguments command;  ///< "FILE" is its path
};

std::vector<HostileFile> hostile_files() {
  const std::string schedule =
      run_program({"schedule", "-", "--solver", "1f1b", "-o", "-"}, {.input = small_problem}).out;
  const std::string job = small_job;
  std::vector<HostileFile> files{
      {replaced(schedule, "\"1f1b\"", "\"NAME\""), {"check", "FILE"}},
      {replaced(schedule, "\"makespan\"", "\"NAME\""), {"check", "FILE"}},
      {R"({"format": "NAME"})", {"check", "FILE"}},
      {R"({"format": "dovetail/pipeline-problem@1", "NAME": 1})", {"bounds", "FILE"}},
      {replaced(job, "name: small", "name: \"NAME\""), {"fit", "FILE"}},
      {replaced(job, "grpo", "\"NAME\""), {"fit", "FILE"}},
      {replaced(job, "qwen3-0.6b", "\"NAME\""), {"explain", "FILE"}},
      {replaced(job, "H100", "\"NAME\""), {"plan", "FILE"}},
      {replaced(job, "workload", "\"NAME\""), {"simulate", "FILE"}},
      {job + "software: {efficiency: \"NAME.json\"}\n", {"what-if", "FILE"}},
      {job + "software: {training: \"NAME\"}\n", {"sweep", "FILE", "--over", "length"}},
      {job + "software: {profile: \"NAME\"}\n", {"forecast", "FILE", "--steps", "10"}},
      {R"({"format": "dovetail/measurement@1", "name": "NAME"})", {"calibrate", "FILE"}},
      {R"({"step": 1, "timing_s/NAME": 1.0, "timing_s/gen": 2, "timing_s/step": 3})", {"measured", "FILE"}},
      {R"({"step": 1, "timing_s/NAME": 1.0, "timing_s/gen": 2, "timing_s/step": 3})", {"measured", "FILE", "--json"}},
      {"model,stage,op,NAME\n", {"problem", "--from", "FILE"}},
      {R"({"traceEvents": [{"ph": "X", "ts": 0, "dur": 1, "pid": "NAME", "tid": "NAME", "name": "NAME", "cat": "NAME"}]})",
       {"report", "FILE", "-o", "-"}},
      {"0F0,NAME\n", {"check", "FILE"}},
  };
  return files;
}

TEST(HostileNames, InFilesAreRejectedOrEscaped) {
  const TemporaryFolder folder;
  for (const HostileFile& file : hostile_files()) {
    for (const std::string& name : {escaped, raw}) {
      const std::string path = folder.write("input", replaced(file.content, "NAME", name));
      Arguments command = file.command;
      for (std::string& word : command) word = replaced(word, "FILE", path);
      expect_no_controls(run_program(command), command);
    }
  }
}

TEST(HostileNames, OfModelsJobsAndTasksAreRejected) {
  const std::string problem = replaced(small_problem, "name: ", "name: \"NAME\" # ");
  const std::string job = replaced(small_job, "name: small", "name: \"NAME\"");
  for (const std::string name :
       {R"(a\u009b)", R"(a\u202e)", R"(a\u001b)", R"(a\u2028)", "a\xE2\x80\xAE", "a\xC2\x9B"}) {
    const ProgramResult of_model = run_program({"bounds", "-"}, {.input = replaced(problem, "NAME", name)});
    EXPECT_EQ(of_model.exit_code, 2);
    EXPECT_THAT(of_model.err,
                AllOf(testing::ContainsRegex("<stdin>:[0-9]+:[0-9]+: the name "), HasSubstr("a control character")));
    const ProgramResult of_job = run_program({"fit", "-"}, {.input = replaced(job, "NAME", name)});
    EXPECT_EQ(of_job.exit_code, 2);
    EXPECT_THAT(of_job.err, AllOf(testing::ContainsRegex("<stdin>:2:7: `name` is the string "),
                                  HasSubstr("accepted: a non-empty string without control characters")));
  }
}

TEST(HostileNames, InPathsAreEscapedInAnswers) {
  const TemporaryFolder folder;
  const std::string problem = folder.write(hostile + ".yaml", small_problem);
  const std::string schedule = folder.file(hostile + ".json");
  const std::string job = folder.write(hostile + "-job.yaml", replaced(small_job, "name: small\n", ""));
  const std::string plan = folder.write(hostile + "-plan.json", small_plan);
  const std::vector<Arguments> commands{
      {"schedule", problem, "--solver", "1f1b", "-o", schedule},
      {"schedule", problem, "--solver", "1f1b", "-o", "-", "--format", "svg"},
      {"compare", problem, "--solver", "1f1b"},
      {"bounds", problem},
      {"bounds", problem, "--json"},
      {"check", schedule},
      {"check", schedule, "--json"},
      {"diff", schedule, schedule, "--gantt", "always"},
      {"show", schedule},
      {"convert", schedule, folder.file(hostile + ".chrome.json")},
      {"convert", schedule, "-", "--to", "chrome"},
      {"convert", schedule, "-", "--to", "svg"},
      {"report", schedule, "-o", "-"},
      {"report", schedule, "-o", folder.file(hostile + ".html")},
      {"report", folder.file(hostile + ".chrome.json"), "-o", "-"},
      {"problem", problem, "-o", folder.file(hostile + "-2.yaml")},
      {"plan", job, "--plan", plan},
      {"plan", job, "--plan", plan, "--json"},
      {"fit", job, "--plan", plan},
  };
  for (const Arguments& command : commands) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(command) << result.err;
    expect_no_controls(result, command);
  }
}

}  // namespace
}  // namespace dovetail::cli
