// Models of a run as tensors on one rank.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/models.h"
#include "llm/layout.h"
#include "runtime/model/micro_batch_pass.h"
#include "runtime/run/rank_usage.h"
#include "runtime/training/optimizer.h"
#include "weights/checkpoint.h"

namespace dovetail::runtime {

/// Initial state and settings of a role.
struct RoleSetup {
  std::string name;
  llm::Transformer shape;
  llm::Computation computation;
  std::optional<weights::Checkpoint> checkpoint;  ///< if absent, the role copies `like`
  std::string like;    ///< earlier role to copy the weights from, except a head of another kind; empty: random weights
  std::string folder;  ///< source of config.json and tokenizer for exports; empty if unknown
  std::uint64_t seed = 0;  ///< seed of random weights
  bool trained = false;
  llm::Recomputation recomputation = llm::Recomputation::none;
};

/// Where the trained roles of a TorchModels take their optimizer steps.
enum class Stepping {
  here,       ///< in the TorchModels, which holds the gradients and moments
  elsewhere,  ///< in RankModels, whose stages hold the gradients and moments
};

/// control::Models on libtorch.
class TorchModels final : public control::Models {
 public:
  /// `cache_bytes` limits the KV cache of a generation. All computation is on `device`. REQUIRES: role names are
  /// unique; checkpoints pass control::check_weights.
  TorchModels(std::vector<RoleSetup> roles, std::int64_t cache_bytes, Stepping stepping = Stepping::here,
              const at::Device& device = at::kCPU);

  base::Result<std::vector<control::GeneratedResponse>> generate(
      const std::string& role, std::span<const control::GenerationRequest> requests,
      const control::GenerationSettings& settings, const parallel::Cancellation* cancellation,
      const std::function<void(std::size_t index, const control::GeneratedResponse&)>& on_response) override;
  base::Result<std::vector<control::Scores>> score(const std::string& role,
                                                   std::span<const control::TokenSequence> sequences,
                                                   const control::PassSettings& settings) override;
  base::Status train(std::span<const control::Training> trainings) override;
  void average(const std::string& role, const std::string& trained, double decay) override;
  base::Status save(const std::string& folder) const override;
  base::Status load(const std::string& folder) override;
  base::Status export_role(const std::string& role, const std::string& folder) const override;
  base::Result<std::vector<control::RankUsage>> take_usage() override;
  std::int64_t parameters(const std::string& role) const override;

  /// Returns the initial state of a role.
  const RoleSetup& setup(const std::string& role) const { return find(role).setup; }
  /// Returns the weights of a role, which may be changed.
  Weights& weights(const std::string& role) { return find(role).model.weights; }

  /// Adds the memory of all roles to `account`.
  void add_held(MemoryAccount& account) const;

 private:
  struct Role {
    RoleSetup setup;
    Model model;
    std::optional<Optimizer> optimizer;
    bool changes = false;  ///< true if the role is trained or a moving average
  };

  base::Status train(const control::Training& training);
  static base::Status add_gradients(Role& trained, const control::MiniBatch& mini_batch, control::PassSettings settings,
                                    control::TrainingSums& sums);
  Role& find(const std::string& name);
  const Role& find(const std::string& name) const;
  static Model initial_model(const RoleSetup& setup, const std::map<std::string, std::unique_ptr<Role>>& others,
                             const at::Device& device);

  std::map<std::string, std::unique_ptr<Role>> roles_;
  std::int64_t cache_bytes_;
  UsageMeter usage_;
};

}  // namespace dovetail::runtime
