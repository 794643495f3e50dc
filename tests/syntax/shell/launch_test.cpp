#include "syntax/shell/launch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dovetail::syntax {
namespace {

bool is_trainer(const EntryPoint& entry) {
  return entry.is_module ? entry.name == "trainer.main" : entry.name.ends_with("train.py");
}

struct Found {
  ScriptOutcome outcome;
  std::vector<Launch> launches;
};

Found found(const std::string& script, std::map<std::string, std::string> environment = {}) {
  ScriptRequest request;
  request.path = "run.sh";
  request.content = script;
  request.directory = "/repository";
  request.environment = std::move(environment);
  request.read = [](const std::string& path) -> base::Result<std::string> {
    if (path != "/repository/inner.sh") return base::bad_input("the file does not exist");
    return std::string("\npython -m trainer.main a=$1 b=$B\n");
  };
  base::Result<ScriptOutcome> outcome = evaluate_script(request);
  EXPECT_TRUE(outcome.ok());
  Found result{.outcome = std::move(*outcome), .launches = {}};
  base::Result<std::vector<Launch>> launches = find_launches(result.outcome, request, is_trainer);
  EXPECT_TRUE(launches.ok());
  result.launches = std::move(*launches);
  return result;
}

std::string arguments_of(const Launch& launch) {
  std::string text;
  for (const Word& word : launch.arguments) text += (text.empty() ? "" : " ") + describe(word.text);
  return text;
}

TEST(Launch, IsFoundAfterLaunchers) {
  for (const char* script :
       {"python3 -u -m trainer.main a=1 b",
        "/opt/bin/python3.11 train.py a=1 b",
        "./train.py a=1 b",
        "uv run --frozen --extra vllm python3 -m trainer.main a=1 b",
        "uv run examples/train.py a=1 b",
        "ray job submit --address=http://x:1 --runtime-env-json='{\"a\": 1}' -- python3 train.py a=1 b",
        "ray job submit --working-dir . python train.py a=1 b",
        "srun -N 2 -w \"$HOST\" bash -c \"python train.py a=1 b\"",
        "srun --overlap bash -c 'pip install x && ray job submit -- python -m trainer.main a=1 b' &> log",
        "torchrun --nproc_per_node 8 -m trainer.main a=1 b",
        "torchrun --standalone train.py a=1 b",
        "accelerate launch --config_file x.yaml train.py a=1 b",
        "deepspeed --num_gpus 8 train.py a=1 b",
        "python -m torch.distributed.run --nproc-per-node=8 train.py a=1 b",
        "deepspeed --module trainer.main a=1 b",
        "nohup env X=1 python train.py a=1 b &",
        "exec python train.py a=1 b",
        "time sudo -E python train.py a=1 b",
        "conda run -n python310 python train.py a=1 b",
        "python train.py a=1 b 2>&1 | tee log",
        "X=1 Y=2 python train.py a=1 b",
        "eval \"python train.py a=1 b\"",
        "$PYTHON -m trainer.main a=1 b",
        "set -x; (cd x && time python train.py a=1 b)"}) {
    const Found result = found(script);
    ASSERT_EQ(result.launches.size(), 1U) << script;
    EXPECT_EQ(arguments_of(result.launches[0]), "a=1 b") << script;
    EXPECT_TRUE(only_launch(result.outcome, result.launches).ok()) << script;
  }
}

TEST(Launch, IsNotFoundInArgumentsOfOtherCommands) {
  for (const char* script : {"echo python train.py", "pkill -f train.py", "python -c 'import train' train.py",
                             "python -m pytest train.py", "python other.py train.py", "ls train.py", "bash missing.sh"})
    EXPECT_TRUE(found(script).launches.empty()) << script;
}

TEST(Launch, InAnotherScriptHasAPlaceInThatScript) {
  const Found result = found("export B=2\nbash inner.sh 1\n");
  ASSERT_EQ(result.launches.size(), 1U);
  EXPECT_EQ(arguments_of(result.launches[0]), "a=1 b=2");
  EXPECT_EQ(result.outcome.sources[static_cast<std::size_t>(result.launches[0].place.source)], "/repository/inner.sh");
  EXPECT_EQ(result.launches[0].place.line, 2);
}

TEST(Launch, InInlineTextHasAPlaceInTheFile) {
  const Found result = found("ls\nsrun bash -c 'sleep 1\n  python train.py a=1'\n");
  ASSERT_EQ(result.launches.size(), 1U);
  EXPECT_EQ(result.launches[0].place.line, 3);
  EXPECT_EQ(result.outcome.sources[static_cast<std::size_t>(result.launches[0].place.source)], "run.sh");
}

TEST(Launch, UnknownPiecesOfInlineTextArePreserved) {
  const Found result = found("A=$(probe)\nB=\"a=1 b=$A\"\nsrun bash -c \"cd x; python train.py $B c=${D}\"\n");
  ASSERT_EQ(result.launches.size(), 1U);
  EXPECT_EQ(arguments_of(result.launches[0]), "a=1 b=<the output of `probe`> c=<environment variable `D`>");
  EXPECT_EQ(first_unknown(result.launches[0].arguments[1].text).place.line, 1);
  EXPECT_EQ(first_unknown(result.launches[0].arguments[1].text).variable, "A");
}

TEST(Launch, DetectsTheConfigFlagOfTheTrainer) {
  for (const char* script : {"python train.py --config a.yaml b=1", "python train.py b=1 --config=$X",
                             "uv run --config x train.py --config a.yaml", "torchrun train.py --config $X",
                             "srun bash -c \"python train.py --config a\""}) {
    const Found result = found(script);
    ASSERT_EQ(result.launches.size(), 1U) << script;
    EXPECT_TRUE(result.launches[0].entry.has_configuration) << script;
  }
  for (const char* script : {"python train.py a=1", "uv run --config x train.py a=1", "python train.py --config_file x",
                             "python train.py a --configs=b", "python train.py $CONFIG"}) {
    const Found result = found(script);
    ASSERT_EQ(result.launches.size(), 1U) << script;
    EXPECT_FALSE(result.launches[0].entry.has_configuration) << script;
  }
}

TEST(Launch, RecursiveScriptsAreLimited) {
  ScriptRequest request;
  request.path = "run.sh";
  request.content = "bash run.sh\nbash run.sh\nbash run.sh\npython train.py\n";
  request.read = [&](const std::string&) -> base::Result<std::string> { return request.content; };
  base::Result<ScriptOutcome> outcome = evaluate_script(request);
  ASSERT_TRUE(outcome.ok());
  const base::Result<std::vector<Launch>> launches = find_launches(*outcome, request, is_trainer);
  ASSERT_FALSE(launches.ok());
  EXPECT_NE(launches.error().message.find("starts too many other scripts"), std::string::npos);
}

TEST(Launch, NestedScriptsShareTheStepLimit) {
  ScriptRequest request;
  request.path = "run.sh";
  request.content = "bash long.sh\nbash long.sh\nbash long.sh\npython train.py\n";
  const std::string loop = "for i in {1..%}; do :; done\n";
  for (const auto& [rounds, fits] : {std::pair{"500", true}, std::pair{"2000", false}}) {
    std::string content;
    for (int i = 0; i < 5; ++i) content += loop.substr(0, loop.find('%')) + rounds + loop.substr(loop.find('%') + 1);
    request.read = [&](const std::string&) -> base::Result<std::string> { return content; };
    ScriptRequest alone = request;
    alone.content = content;
    EXPECT_TRUE(evaluate_script(alone).ok());
    base::Result<ScriptOutcome> outcome = evaluate_script(request);
    ASSERT_TRUE(outcome.ok());
    const base::Result<std::vector<Launch>> launches = find_launches(*outcome, request, is_trainer);
    EXPECT_EQ(launches.ok(), fits);
    if (!fits) {
      EXPECT_NE(launches.error().message.find("takes too many steps"), std::string::npos);
    }
  }
}

TEST(Launch, MustBeUnique) {
  const auto message = [](const std::string& script) {
    const Found result = found(script);
    const base::Result<Launch> launch = only_launch(result.outcome, result.launches);
    return launch.ok() ? "" : base::to_text(launch.error());
  };
  EXPECT_EQ(message("python train.py a\npython train.py a\n"), "");
  EXPECT_EQ(message("python train.py a\npython train.py b\n"),
            "run.sh:2:8: the script also starts a different training run at line 1; accepted: one run");
  EXPECT_EQ(message("echo\n"),
            "run.sh:1:1: the script starts no trainer; accepted: a script that starts a supported trainer");
  EXPECT_EQ(message("exit 2\n"),
            "run.sh:1:1: the script exits with code 2 before it starts a trainer; "
            "accepted: a script that starts a supported trainer");
  EXPECT_EQ(
      message("M=$(probe)\nif [ $M = a ]; then python train.py a; else python train.py b; fi\n"),
      "run.sh:1:5: whether the trainer starts depends on an unknown value: the output of `probe` is unknown; accepted: "
      "`--env M=VALUE`");
}

}  // namespace
}  // namespace dovetail::syntax
