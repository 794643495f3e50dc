// Compares the evaluator with bash, if bash is installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "syntax/shell/random_script.h"
#include "syntax/shell/shell.h"

namespace dovetail::syntax {
namespace {

/// Words of each call of `mark`, as expanded by bash.
using Marks = std::vector<std::vector<std::string>>;

class BashComparison : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("bash -c true >/dev/null 2>&1") != 0) GTEST_SKIP() << "bash is not installed";
    folder_ = std::filesystem::path(testing::TempDir()) / ("dovetail_bash_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  Marks by_bash(const std::string& script) const {
    const std::filesystem::path path = folder_ / "script";
    std::ofstream(path) << "mark() { printf '%s\\0' \"$#\" \"$@\"; } >&3\n" << script;
    // Only descriptor 3, which `mark` writes, matters.
    const std::string command =
        "cd " + folder_.string() + " && LC_ALL=C bash " + path.string() + " 3>&1 >/dev/null 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    std::array<char, 4096> buffer{};
    for (std::size_t size; (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      output.append(buffer.data(), size);
    pclose(pipe);
    std::vector<std::string> fields;
    for (std::size_t at = 0, end; (end = output.find('\0', at)) != std::string::npos; at = end + 1)
      fields.push_back(output.substr(at, end - at));
    Marks marks;
    for (std::size_t i = 0; i < fields.size();) {
      const std::size_t count = std::stoul(fields[i++]);
      marks.emplace_back(fields.begin() + static_cast<std::ptrdiff_t>(i),
                         fields.begin() + static_cast<std::ptrdiff_t>(i + count));
      i += count;
    }
    return marks;
  }

  std::filesystem::path folder_;
};

Marks marks_of(const ScriptOutcome& outcome) {
  Marks marks;
  for (const ReachedCommand& command : outcome.commands) {
    marks.emplace_back();
    for (const Word& word : command.words) marks.back().push_back(describe(word.text));
    EXPECT_EQ(marks.back().front(), "mark");
    marks.back().erase(marks.back().begin());
    if (command.condition) marks.back().push_back("in doubt: " + command.condition->what);
  }
  return marks;
}

ScriptRequest request_of(std::string script) {
  ScriptRequest request;
  request.path = "run.sh";
  request.content = std::move(script);
  return request;
}

TEST_F(BashComparison, RandomScriptsReachTheSameWords) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::string script = random_script(seed);
    const base::Result<ScriptOutcome> outcome = evaluate_script(request_of(script));
    ASSERT_TRUE(outcome.ok()) << base::to_text(outcome.error()) << "\n" << script;
    ASSERT_EQ(marks_of(*outcome), by_bash(script)) << "seed " << seed << "\n" << script;
    ++compared;
  }
  EXPECT_EQ(compared, 300);
}

}  // namespace
}  // namespace dovetail::syntax
