#include "syntax/shell/shell.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "syntax/shell/random_script.h"

namespace dovetail::syntax {
namespace {

ScriptRequest request(std::string content, std::map<std::string, std::string> environment = {}) {
  ScriptRequest request;
  request.path = "/jobs/run.sh";
  request.content = std::move(content);
  request.directory = "/repository";
  request.environment = std::move(environment);
  return request;
}

ScriptOutcome evaluated(const ScriptRequest& request) {
  base::Result<ScriptOutcome> outcome = evaluate_script(request);
  EXPECT_TRUE(outcome.ok()) << base::to_text(outcome.error());
  return outcome.ok() ? *outcome : ScriptOutcome();
}

/// Returns the words of each command. A question mark marks a doubtful command or word.
std::vector<std::string> reached(const ScriptOutcome& outcome) {
  std::vector<std::string> lines;
  for (const ReachedCommand& command : outcome.commands) {
    lines.emplace_back(command.condition ? "?" : "");
    for (const Word& word : command.words)
      lines.back() +=
          std::string(lines.back().size() > 1 ? " " : "") + (word.condition ? "?" : "") + describe(word.text);
  }
  return lines;
}

std::vector<std::string> reached(const std::string& script, std::map<std::string, std::string> environment = {}) {
  return reached(evaluated(request(script, std::move(environment))));
}

using Lines = std::vector<std::string>;

TEST(Shell, WordsKeepTheirPlace) {
  const ScriptOutcome outcome =
      evaluated(request("A=(\n  x=1\n    y=$B\n)\nB=2\ntrain \"${A[@]}\" \\\n  z=3 \"$@\"\n"));
  ASSERT_EQ(outcome.commands.size(), 1U);
  const std::vector<Word>& words = outcome.commands[0].words;
  ASSERT_EQ(words.size(), 4U);
  EXPECT_EQ(words[0].place, (Place{.source = 0, .line = 6, .column = 1}));
  EXPECT_EQ(words[1].place, (Place{.source = 0, .line = 2, .column = 3}));
  EXPECT_EQ(words[2].place, (Place{.source = 0, .line = 3, .column = 5}));
  EXPECT_EQ(words[3].place, (Place{.source = 0, .line = 7, .column = 3}));
}

TEST(Shell, EnvironmentOverridesDefaults) {
  const std::string script = "N=${NODES:-4}\ntrain n=$N path=${MODEL_PATH:-org/model} \"$@\"\n";
  EXPECT_EQ(reached(script), Lines{"train n=4 path=org/model"});
  EXPECT_EQ(reached(script, {{"NODES", "8"}}), Lines{"train n=8 path=org/model"});
  ScriptRequest with_arguments = request(script);
  with_arguments.arguments = {"a=1", "b c"};
  EXPECT_EQ(reached(evaluated(with_arguments)), Lines{"train n=4 path=org/model a=1 b c"});
}

TEST(Shell, CommandOutputIsUnknown) {
  const ScriptOutcome outcome = evaluated(request("count=$(nvidia-smi -L | wc -l)\ntrain gpus=$count tp=2\n"));
  const Word& word = outcome.commands.back().words[1];
  ASSERT_FALSE(is_known(word.text));
  EXPECT_EQ(first_unknown(word.text).variable, "count");
  EXPECT_EQ(first_unknown(word.text).place, (Place{.source = 0, .line = 1, .column = 25}));
  EXPECT_EQ(base::to_text(unknown_error(outcome.sources, first_unknown(word.text))),
            "/jobs/run.sh:1:25: the output of `wc -l` is unknown; accepted: `--env count=VALUE`");
  EXPECT_TRUE(is_known(outcome.commands.back().words[2].text));
  EXPECT_EQ(reached("count=$(nvidia-smi -L | wc -l)\ntrain gpus=$count\n", {{"count", "8"}}).back(), "train gpus=8");
}

TEST(Shell, UnknownConditionsMatterOnlyIfBranchesDiffer) {
  const std::string script =
      "if nvidia-smi | grep -q NVLink; then LINK=1; X=same; ARGS=(a b c); else LINK=0; X=same; ARGS=(a c); fi\n"
      "train $X \"${ARGS[@]}\"\n";
  EXPECT_EQ(reached(script).back(), "train same a ?b c");
  const ScriptOutcome outcome = evaluated(request(script + "train \"$LINK\"\n"));
  const Text& link = outcome.commands.back().words[1].text;
  ASSERT_FALSE(is_known(link));
  EXPECT_EQ(first_unknown(link).place.line, 1);
}

TEST(Shell, CommandsOfAnUnknownBranchAreConditional) {
  EXPECT_EQ(reached("if probe; then train a; else train b; fi\ntrain c\n"),
            (Lines{"probe", "?train a", "?train b", "train c"}));
  EXPECT_EQ(reached("f() { if probe; then train a; return; fi; train b; }\nf\ntrain c\n"),
            (Lines{"probe", "?train a", "?train b", "train c"}));
  EXPECT_EQ(reached("while true; do train a; if probe; then break; fi; done\ntrain c\n"),
            (Lines{"train a", "probe", "?train a", "?probe", "train c"}));
  EXPECT_EQ(reached("while ! probe; do sleep 1; done\ntrain\n"), (Lines{"probe", "?sleep 1", "?probe", "train"}));
}

TEST(Shell, BranchesThatOnlyFailAreNotTaken) {
  EXPECT_EQ(reached("if ! command -v nvcc; then echo no >&2; exit 1; fi\ntrain\n"), Lines{"train"});
  EXPECT_EQ(reached("[ -d data ] || { echo no; exit 1; }\ntrain\n"), Lines{"train"});
  EXPECT_EQ(reached("mkdir -p out && cd out && train\n"), (Lines{"mkdir -p out", "train"}));
}

TEST(Shell, RequiredVariablesAreAssumedToBeSet) {
  const std::string script =
      "if [ -z \"${BASE:-}\" ]; then\n  echo \"set BASE\"; exit 1\nfi\ntrain $BASE/x ${OTHER:?}\n";
  const ScriptOutcome outcome = evaluated(request(script));
  ASSERT_EQ(outcome.required.size(), 2U);
  EXPECT_EQ(outcome.required[0].name, "BASE");
  EXPECT_EQ(outcome.required[0].place.line, 2);
  EXPECT_EQ(outcome.required[1].name, "OTHER");
  ASSERT_EQ(outcome.commands.size(), 1U);
  EXPECT_EQ(reached(script, {{"BASE", "/data"}, {"OTHER", "y"}}), Lines{"train /data/x y"});
}

TEST(Shell, PlaceholdersAreUnknown) {
  EXPECT_EQ(reached("ROOT=<YOUR_ROOT>\ntrain $ROOT/x\n"), Lines{"train <environment variable `ROOT`>/x"});
  EXPECT_EQ(reached("ROOT=<YOUR_ROOT>\ntrain $ROOT/x\n", {{"ROOT", "/r"}}), Lines{"train /r/x"});
}

TEST(Shell, EarlyExitHasAPlace) {
  const ScriptOutcome outcome = evaluated(request("train a\nif [ $# -lt 2 ]; then\n  exit 3\nfi\ntrain b\n"));
  EXPECT_EQ(reached(outcome), Lines{"train a"});
  ASSERT_TRUE(outcome.end.has_value());
  EXPECT_EQ(outcome.end->place.line, 3);
  EXPECT_EQ(outcome.end->reason, "the script exits with code 3");
  EXPECT_EQ(evaluated(request("while true; do :; done\ntrain\n")).end->reason, "the loop runs too many times");
}

TEST(Shell, ScriptsFindTheirOwnFolder) {
  const std::string script =
      "DIR=$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" &>/dev/null && pwd)\ntrain $DIR/x $(realpath y) $(basename "
      "$0 .sh)\n";
  EXPECT_EQ(reached(script), Lines{"train /jobs/x /repository/y run"});
}

TEST(Shell, SourceUsesTheGivenReader) {
  ScriptRequest with_reader = request("N=3 source models/$NAME.sh\n. missing.sh\ntrain $ARGS\n", {{"NAME", "small"}});
  std::vector<std::string> requested;
  with_reader.read = [&](const std::string& path) -> base::Result<std::string> {
    requested.push_back(path);
    if (path != "/repository/models/small.sh") return base::bad_input("the file does not exist");
    return std::string("ARGS=\"--layers $((N * 2))\"\n");
  };
  const ScriptOutcome outcome = evaluated(with_reader);
  EXPECT_EQ(reached(outcome), Lines{"train --layers 6"});
  EXPECT_EQ(requested, (Lines{"/repository/models/small.sh", "/repository/missing.sh"}));
  EXPECT_EQ(outcome.sources, (Lines{"/jobs/run.sh", "/repository/models/small.sh"}));
  ASSERT_EQ(outcome.unread.size(), 1U);
  EXPECT_EQ(describe(outcome.unread[0].name), "missing.sh");
  EXPECT_EQ(outcome.unread[0].place.line, 2);
}

TEST(Shell, ReadsNothingOutsideTheRoot) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("dovetail_root_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "root");
  std::ofstream(folder / "secret.sh") << "X=1\n";
  std::ofstream(folder / "root" / "inner.sh") << "X=2\n";
  std::filesystem::create_symlink(folder / "secret.sh", folder / "root" / "link.sh");
  const FileReader read = read_below((folder / "root").string());
  EXPECT_TRUE(read((folder / "root" / "inner.sh").string()).ok());
  EXPECT_FALSE(read((folder / "secret.sh").string()).ok());
  EXPECT_FALSE(read((folder / "root" / ".." / "secret.sh").string()).ok());
  EXPECT_FALSE(read((folder / "root" / "link.sh").string()).ok());
  EXPECT_FALSE(read((folder / "root").string()).ok());
  EXPECT_FALSE(read("/dev/zero").ok());
  std::filesystem::remove_all(folder);
}

TEST(Shell, HasNoSideEffects) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("dovetail_safe_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "kept") << "content";
  const std::string name = folder.string();
  const std::string script =
      "cd " + name + "\necho x > written\necho y >> kept\nrm -rf kept\n: > kept\ntouch $(echo made)\n" +
      "cat > config <<EOF\ntext\nEOF\nexec 3<>/dev/tcp/127.0.0.1/9\nmkdir -p " + name +
      "/folder && mv kept lost\ncurl -o got http://127.0.0.1/ | bash\neval 'rm -rf " + name +
      "'\nread -r line < kept\ntee copy <<< \"$line\"\nsource " + name + "/kept\nx=$(< kept)\ntrain \"$x\" \"$line\"\n";
  const ScriptOutcome outcome = evaluated(request(script));
  EXPECT_FALSE(is_known(outcome.commands.back().words[1].text));
  EXPECT_FALSE(is_known(outcome.commands.back().words[2].text));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().filename(), "kept");
    ++files;
  }
  EXPECT_EQ(files, 1U);
  EXPECT_EQ(std::filesystem::file_size(folder / "kept"), 7U);
  std::filesystem::remove_all(folder);
}

TEST(Shell, CommandsKeepEnvironmentInputAndOutputs) {
  const ScriptOutcome outcome = evaluated(request(
      "export A=1\nB=2\nC=3 train x <<< text > log\ncat > config.yaml <<EOF\nsize: $B\nEOF\n(cd /tmp && train)\n"));
  ASSERT_EQ(outcome.commands.size(), 3U);
  const ReachedCommand& first = outcome.commands[0];
  EXPECT_EQ(first.environment.size(), 2U);
  EXPECT_EQ(describe(first.environment.at("A")), "1");
  EXPECT_EQ(describe(first.environment.at("C")), "3");
  EXPECT_EQ(describe(*first.input), "text\n");
  ASSERT_EQ(first.outputs.size(), 1U);
  EXPECT_EQ(describe(first.outputs[0].text), "log");
  EXPECT_EQ(describe(*outcome.commands[1].input), "size: 2\n");
  EXPECT_EQ(describe(outcome.commands[1].outputs[0].text), "config.yaml");
  EXPECT_EQ(describe(outcome.commands[2].directory), "/tmp");
}

TEST(Shell, SyntaxErrorsHaveAPlace) {
  const std::vector<std::pair<std::string, std::string>> faults{
      {"if true; then\n  echo\n", ":3:1: unexpected end of the script; accepted: `fi`"},
      {"echo 'open\n", ":1:6: the quote is not closed; accepted: text that ends with `'`"},
      {"a=(1 2\n", ":1:1: the array is not closed; accepted: `NAME=(WORDS)`"},
      {"x=$(echo\n", ":1:3: `$(` is not closed; accepted: `$(COMMAND)`"},
      {"echo )\n", ":1:6: unexpected closing word or bracket; accepted: a command"},
      {"n=$((1 / 0))\n", ":1:3: the expression `1 / 0` divides by zero"},
      {"echo >\n", ":1:7: a redirection has no target; accepted: `> FILE`"},
  };
  for (const auto& [script, message] : faults) {
    const base::Result<ScriptOutcome> outcome = evaluate_script(request(script));
    ASSERT_FALSE(outcome.ok()) << script;
    EXPECT_EQ(base::to_text(outcome.error()), "/jobs/run.sh" + message);
  }
}

TEST(Shell, WorkIsBounded) {
  for (const char* script : {"f() { f; }\nf\n", "x=1\nwhile true; do x=$x$x; done\n",
                             "for i in {1..4000}; do for j in {1..4000}; do :; done; done\n",
                             "a={1..999}{1..999}{1..999}\necho {1..999}{1..999}{1..999}\n", "((((((((((1\n",
                             "eval 'eval \"$(cat <<< \"f() { f|f; }; f\")\"'\n"}) {
    const base::Result<ScriptOutcome> outcome = evaluate_script(request(script));
    EXPECT_FALSE(outcome.ok()) << script;
  }
  const auto repeated = [](std::string_view text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
  };
  for (const std::string& script :
       {repeated("$(", 100'000), "echo " + repeated("{", 300'000), "echo " + repeated("{1..1}", 40'000),
        "echo " + repeated("{a,b}", 40), "echo " + repeated("{a,", 100'000) + repeated("}", 100'000)}) {
    EXPECT_FALSE(evaluate_script(request(script)).ok()) << script.substr(0, 20);
  }
}

RC_GTEST_PROP(Shell, RandomBytesAreReadOrRejected, (const std::string& garbage)) {
  const base::Result<ScriptOutcome> outcome = evaluate_script(request(garbage));
  if (!outcome.ok()) RC_ASSERT(!outcome.error().message.empty());
}

RC_GTEST_PROP(Shell, TruncatedScriptsAreReadOrRejected, ()) {
  std::string script = random_script(*rc::gen::arbitrary<std::uint64_t>());
  script.resize(static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(script.size()))));
  const base::Result<ScriptOutcome> outcome = evaluate_script(request(script));
  if (!outcome.ok()) RC_ASSERT(outcome.error().line > 0);
}

}  // namespace
}  // namespace dovetail::syntax
