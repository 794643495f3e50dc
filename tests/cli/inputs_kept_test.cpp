// No output overwrites an input, whether the command line or another input names it, and however its path is spelled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/job_files.h"
#include "cli/run_program.h"

namespace dovetail::cli {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;

const char* const model_config =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024, "intermediate_size": 2816,
  "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 32000, "torch_dtype": "bfloat16"})";

/// Folder with one input of each kind. The job names a model, efficiencies, lengths and a profile.
class Inputs {
 public:
  Inputs() {
    folder_.write("problem.yaml", small_problem);
    folder_.write("timings.csv", "model,stage,op,seconds\na,0,F,1\na,0,B,2\n");
    folder_.write("config.json", model_config);
    folder_.write("lengths.csv", "response_length\n100\n200\n300\n");
    folder_.write("efficiency.json",
                  R"({"format": "dovetail/efficiency@1", "name": "mine", "constants": {"slot": 0.002}})");
    folder_.write("profile.yaml", content_of(repository_file("examples/profiles/llama-3.1-8b.yaml")));
    folder_.write("growth.csv", "step,factor\n0,1\n10,2\n");
    folder_.write("plan.json", small_plan);
    folder_.write("log.jsonl",
                  "{\"step\": 1, \"timing_s/gen\": 2, \"timing_s/step\": 3}\n{\"step\": 2, \"timing_s/gen\": 2, "
                  "\"timing_s/step\": 3}\n");
    folder_.write("job.yaml", R"(format: dovetail/job@1
algorithm: {name: grpo, reward: rule}
models: {actor: config.json}
workload: {prompts: 32, samples_per_prompt: 8, mini_batches: 2, prompt_length: 128, response_length: {file: lengths.csv}}
cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}
software: {efficiency: efficiency.json, profile: profile.yaml}
)");
    folder_.write(
        "measurement.yaml",
        "format: dovetail/measurement@1\nname: m\nrows:\n  - {name: r, job: job.yaml, plan: plan.json, seconds: 10}\n");
    run_program({"schedule", file("problem.yaml"), "--solver", "1f1b", "-o", file("schedule.json")});
    run_program({"convert", file("schedule.json"), file("schedule.csv")});
  }

  std::string file(const std::string& name) const { return folder_.file(name); }

  /// `arguments` with input names replaced by paths in the folder.
  Arguments in_folder(Arguments arguments) const {
    for (std::string& word : arguments)
      if (std::filesystem::exists(file(word))) word = file(word);
    return arguments;
  }

 private:
  TemporaryFolder folder_;
};

struct Case {
  Arguments command;
  std::string ending;  ///< of the output
  Arguments inputs;
  std::string written = {};  ///< the file that is written, where that is not what -o says
};

/// "-o" comes last, except in convert, whose output is an argument.
const std::vector<Case> cases{
    {{"schedule", "problem.yaml", "--from", "schedule.json", "-o"}, ".json", {"problem.yaml", "schedule.json"}},
    {{"schedule", "problem.yaml", "--objective", "pareto", "--iterations", "10", "-o"}, ".json", {"problem.yaml"}},
    {{"convert", "schedule.json"}, ".svg", {"schedule.json"}},
    {{"convert", "schedule.csv", "--problem", "problem.yaml"}, ".json", {"schedule.csv", "problem.yaml"}},
    {{"report", "schedule.json", "--problem", "problem.yaml", "-o"}, ".html", {"schedule.json", "problem.yaml"}},
    {{"report", "job.yaml", "--plan", "plan.json", "-o"},
     ".html",
     {"job.yaml", "plan.json", "config.json", "lengths.csv", "efficiency.json", "profile.yaml"}},
    {{"problem", "problem.yaml", "-o"}, ".yaml", {"problem.yaml"}},
    {{"problem", "--from", "timings.csv", "--microbatches", "a=2", "-o"}, ".yaml", {"timings.csv"}},
    {{"plan", "job.yaml", "--iterations", "10", "-o"},
     ".json",
     {"job.yaml", "config.json", "lengths.csv", "efficiency.json", "profile.yaml"}},
    {{"simulate", "job.yaml", "--plan", "plan.json", "-o"},
     ".svg",
     {"job.yaml", "plan.json", "config.json", "lengths.csv", "efficiency.json", "profile.yaml"}},
    {{"sweep", "job.yaml", "--plan", "plan.json", "--over", "length", "-o"},
     ".csv",
     {"job.yaml", "plan.json", "config.json", "lengths.csv", "efficiency.json", "profile.yaml"}},
    {{"forecast", "job.yaml", "--plan", "plan.json", "--steps", "20", "--searches", "0", "--lengths", "growth.csv",
      "-o"},
     ".A.plan.json",
     {"job.yaml", "plan.json", "growth.csv", "config.json", "lengths.csv", "efficiency.json", "profile.yaml"}},
    // Calibrate may overwrite the efficiencies that the job names.
    {{"calibrate", "measurement.yaml", "--evaluations", "10", "--restarts", "0", "-o"},
     ".json",
     {"measurement.yaml", "job.yaml", "plan.json", "config.json", "lengths.csv", "profile.yaml"}},
    {{"measured", "log.jsonl", "--job", "job.yaml", "--plan", "plan.json", "-o"},
     ".yaml",
     {"log.jsonl", "job.yaml", "plan.json", "config.json", "lengths.csv", "efficiency.json", "profile.yaml"}},
};

TEST(InputsKept, EveryCommandKeepsThemThroughLinks) {
  const Inputs inputs;
  for (const Case& one : cases) {
    for (const std::string& input : one.inputs) {
      const std::string before = content_of(inputs.file(input));
      ASSERT_FALSE(before.empty()) << input;
      const std::string output = inputs.file("output" + one.ending);
      std::filesystem::create_symlink(input, output);
      Arguments command = inputs.in_folder(one.command);
      command.push_back(one.command.front() == "forecast" ? inputs.file("output") : output);
      const ProgramResult result = run_program(command);
      EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(command);
      EXPECT_THAT(result.err, HasSubstr("would overwrite the input")) << testing::PrintToString(command);
      EXPECT_EQ(content_of(inputs.file(input)), before) << testing::PrintToString(command);
      std::filesystem::remove(output);
    }
  }
}

TEST(InputsKept, AreRecognizedByOtherPaths) {
  const Inputs inputs;
  std::filesystem::create_hard_link(inputs.file("problem.yaml"), inputs.file("hard.json"));
  for (const std::string& output :
       {inputs.file("../") + std::filesystem::path(inputs.file("")).parent_path().filename().string() + "/hard.json",
        inputs.file("./hard.json"), inputs.file("hard.json")}) {
    const ProgramResult result =
        run_program({"schedule", inputs.file("problem.yaml"), "--solver", "1f1b", "-o", output});
    EXPECT_EQ(result.exit_code, 2) << output;
    EXPECT_EQ(content_of(inputs.file("hard.json")), small_problem);
  }
}

TEST(InputsKept, AreRecognizedOnStandardInput) {
  const Inputs inputs;
  const std::string script = "\"$0\" schedule - --solver 1f1b -o \"$1\" --format json < \"$1\"";
  const ProgramResult result = run_other({"sh", "-c", script, DOVETAIL_BINARY, inputs.file("problem.yaml")});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(content_of(inputs.file("problem.yaml")), small_problem);
}

TEST(InputsKept, AreRecognizedOnStandardOutput) {
  const Inputs inputs;
  const std::string file = inputs.file("problem.yaml");
  for (const char* output : {"-", "/dev/stdout", "/dev/fd/1", "//dev/stdout", "\"$1\""}) {
    const std::string script =
        "\"$0\" schedule \"$1\" --solver 1f1b --format json -o " + std::string(output) + " 1<>\"$1\"";
    EXPECT_EQ(run_other({"sh", "-c", script, DOVETAIL_BINARY, file}).exit_code, 2) << output;
    EXPECT_EQ(content_of(file), small_problem) << output;
  }
}

TEST(StandardOutput, IsRecognizedByAllItsNames) {
  const Inputs inputs;
  for (const char* output : {"-", "/dev/stdout", "/dev/fd/1", "//dev/stdout", "/proc/self/fd/1"}) {
    const ProgramResult result =
        run_program({"schedule", inputs.file("problem.yaml"), "--solver", "1f1b", "--json", "-o", output});
    ASSERT_EQ(result.exit_code, 0) << output << result.err;
    EXPECT_TRUE(nlohmann::json::parse(result.out).contains("output")) << output;
  }
}

TEST(InputsKept, AreRecognizedInASetOfOutputs) {
  const Inputs inputs;
  // One member of the written set would be the file that is read.
  const std::string problem = inputs.file("two.yaml");
  run_program({"problem", "exp1", "-o", problem});
  run_program({"schedule", problem, "--solver", "greedy", "-o", inputs.file("set.json")});
  const ProgramResult first = run_program({"convert", inputs.file("set.json"), inputs.file("set.csv")});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string member = first.out.substr(9, first.out.find(" (csv)") - 9);
  const std::string before = content_of(inputs.file("set.json"));
  std::filesystem::remove(member);
  std::filesystem::create_symlink("set.json", member);
  const ProgramResult second = run_program({"convert", inputs.file("set.json"), inputs.file("set.csv")});
  EXPECT_EQ(second.exit_code, 2) << second.err;
  EXPECT_EQ(content_of(inputs.file("set.json")), before);
}

}  // namespace
}  // namespace dovetail::cli
