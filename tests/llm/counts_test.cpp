// Parameters, FLOPs and bytes.
#include "llm/counts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "llm/bundled_models.h"
#include "llm/random_transformer.h"
#include "llm/tensors.h"

namespace dovetail::llm {
namespace {

Transformer bundled(std::string_view name) { return find_bundled_model(name).value(); }

struct KnownCount {
  const char* name;
  std::int64_t parameters;
};

// Published checkpoints, with each weight counted once. Vision and audio models are left out.
constexpr KnownCount known_counts[] = {
    {"llama-7b", 6'738'415'616},
    {"llama-13b", 13'015'864'320},
    {"llama-2-7b", 6'738'415'616},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"codellama-34b", 33'743'970'304},
    {"llama-3-8b", 8'030'261'248},
    {"llama-3-70b", 70'553'706'496},
    {"llama-3.1-8b", 8'030'261'248},
    {"llama-3.1-70b", 70'553'706'496},
    {"llama-3.1-405b", 405'853'388'800},
    {"llama-3.2-1b", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"qwen2-0.5b", 494'032'768},
    {"qwen2-1.5b", 1'543'714'304},
    {"qwen2-7b", 7'615'616'512},
    {"qwen2-72b", 72'706'203'648},
    {"qwen2.5-0.5b", 494'032'768},
    {"qwen2.5-1.5b", 1'543'714'304},
    {"qwen2.5-3b", 3'085'938'688},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen2.5-72b", 72'706'203'648},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"mistral-7b", 7'241'732'096},
    {"mistral-7b-v0.3", 7'248'023'552},
    {"mistral-nemo-12b", 12'247'782'400},
    {"mixtral-8x7b", 46'702'792'704},
    {"mixtral-8x22b", 140'620'634'112},
    {"gemma-2b", 2'506'172'416},
    {"gemma-7b", 8'537'680'896},
    {"seed-oss-36b", 36'151'104'512},
    {"deepseek-llm-7b", 6'910'365'696},
    {"deepseek-coder-6.7b", 6'740'512'768},
    {"deepseek-r1-distill-qwen-1.5b", 1'777'088'000},
    {"deepseek-v2-lite", 15'706'484'224},
    {"deepseek-v2", 235'741'434'880},
    {"deepseek-v3", 671'026'419'200},
    {"kimi-k2", 1'026'408'232'448},
    {"glm-4.5-air", 106'852'251'264},
    {"glm-4.5", 352'797'829'024},
    {"glm-4.7-flash", 29'943'393'920},
    {"opt-1.3b", 1'315'758'080},
    {"opt-13b", 12'853'473'280},
};

struct PublishedCount {
  const char* name;
  double parameters;
};

// Published sizes are rounded, or include weights that are not counted: rotary tables of moonlight (27 of 64), output
// norms of the layers of GLM-4-9B-0414.
constexpr PublishedCount published_counts[] = {
    {"llama-33b", 32.5e9},    // LLaMA, Table 2
    {"llama-65b", 65.2e9},    // LLaMA, Table 2
    {"rlhfuse-13b", 13.0e9},  // the corresponding LLaMA
    {"rlhfuse-33b", 32.5e9},  // the corresponding LLaMA
    {"rlhfuse-65b", 65.2e9},  // the corresponding LLaMA
    {"opt-6.7b", 6.7e9},      // from its name
    {"opt-66b", 66e9},        // from its name
    {"moonlight-16b-a3b", 15'960'111'936.0},
    {"glm-4-9b", 9'400'279'040.0},
    {"minimax-m2", 229e9},           // slime
    {"hy3", 295e9},                  // NeMo AutoModel
    {"minicpm-o-2.6", 7.62e9},       // Qwen2.5-7B, its base model
    {"qwen3-omni-30b-a3b", 30.5e9},  // Qwen3-30B-A3B, its base model
};

TEST(Counts, ParametersOfPublishedModels) {
  for (const KnownCount& known : known_counts)
    EXPECT_EQ(count_parameters(bundled(known.name)).all, known.parameters) << known.name;
  for (const PublishedCount& published : published_counts)
    EXPECT_NEAR(static_cast<double>(count_parameters(bundled(published.name)).all) / published.parameters, 1, 0.01)
        << published.name;
}

TEST(Counts, EachBundledModelHasAPublishedSize) {
  for (const std::string& name : bundled_model_names()) {
    const auto is_it = [&](const auto& each) { return name == each.name; };
    EXPECT_TRUE(std::any_of(std::begin(known_counts), std::end(known_counts), is_it) ||
                std::any_of(std::begin(published_counts), std::end(published_counts), is_it))
        << name;
  }
}

TEST(Counts, ActiveParametersOfMixturesOfExperts) {
  EXPECT_NEAR(static_cast<double>(count_parameters(bundled("mixtral-8x7b")).active), 12.9e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(bundled("deepseek-v3")).active), 37.5e9, 0.6e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(bundled("qwen3-235b-a22b")).active), 22.2e9, 0.3e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(bundled("moonlight-16b-a3b")).active), 2.9e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(bundled("kimi-k2")).active), 32.6e9, 1e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(bundled("glm-4.5-air")).active), 12e9, 2e9);
}

TEST(Counts, AScalarHeadHasOneRow) {
  const Transformer actor = bundled("llama-2-7b");
  EXPECT_EQ(count_parameters(actor).all - count_parameters(with_scalar_head(actor)).all,
            (actor.vocabulary - 1) * actor.hidden);
  const Transformer tied = bundled("qwen3-0.6b");
  EXPECT_EQ(count_parameters(with_scalar_head(tied)).all - count_parameters(tied).all, tied.hidden);
}

TEST(Counts, OnlyAdaptersAreTrained) {
  Transformer model = bundled("llama-2-7b");
  model.adapter_rank = 16;
  const ParameterCounts counts = count_parameters(model);
  // Four projections of h x h and three of h x f; each has `rank` rows and columns.
  EXPECT_EQ(counts.adapters, 32 * 16 * (4 * 2 * 4096 + 3 * (4096 + 11008)));
  EXPECT_EQ(counts.trained, counts.adapters);
  EXPECT_EQ(counts.all, 6'738'415'616);
}

RC_GTEST_PROP(Counts, MatchTheSumOverTensors, ()) {
  const Transformer model = *test::random_transformer();
  RC_ASSERT(!find_fault(model));
  const ParameterCounts counts = count_parameters(model);
  std::int64_t all = 0;
  std::int64_t adapters = 0;
  for (const Tensor& tensor : tensors_of(model)) {
    if (tensor.tied) continue;
    (tensor.adapter ? adapters : all) += tensor.elements();
  }
  RC_ASSERT(counts.all == all);
  RC_ASSERT(counts.adapters == adapters);
  RC_ASSERT(counts.active <= counts.all);
}

TEST(Counts, ForwardFlopsAreTwoPerMultiplicationAndToken) {
  const Transformer model = bundled("llama-2-7b");
  const double multiplied = 6'738'415'616.0 - 32000 * 4096.0 - 65 * 4096.0;  // no look-up, no norms
  EXPECT_DOUBLE_EQ(forward_flops(model, {1000, 0}), 2 * multiplied * 1000);
  // Causal scores: 2 h s^2 for each layer.
  EXPECT_DOUBLE_EQ(forward_flops(model, {0, 4096.0 * 4096.0}), 32 * 2.0 * 4096 * 4096 * 4096);
}

TEST(Counts, KeysAndValuesOfAToken) {
  EXPECT_EQ(key_value_elements(bundled("llama-2-7b")), 32 * 2 * 4096);
  EXPECT_EQ(key_value_elements(bundled("llama-2-70b")), 80 * 2 * 8 * 128);
  EXPECT_EQ(key_value_elements(bundled("llama-2-70b"), 8), 80 * 2 * 128);
  EXPECT_EQ(key_value_elements(bundled("llama-2-70b"), 16), 80 * 2 * 128);
  EXPECT_EQ(key_value_elements(bundled("deepseek-v3")), 61 * 576);
  EXPECT_EQ(key_value_elements(bundled("deepseek-v3"), 8), 61 * 576);
}

}  // namespace
}  // namespace dovetail::llm
