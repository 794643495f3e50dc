// Generation of responses with continuous batching over a block cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "batching/engine_scheduler.h"
#include "control/models.h"
#include "runtime/generation/forward.h"
#include "runtime/model/model.h"
#include "text/stop.h"

namespace dovetail::runtime {

/// Generates the responses to some requests, in the steps that a batching::EngineScheduler selects.
class Generator {
 public:
  /// The cache takes at most `cache_bytes`, unless the longest sequence alone needs more. All arguments must outlive
  /// this object. REQUIRES: no prompt is empty.
  Generator(const Model& model, std::span<const control::GenerationRequest> requests,
            const control::GenerationSettings& settings, std::int64_t cache_bytes);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  bool is_done() const { return scheduler_.unfinished() == 0; }
  /// Runs one step and passes each response that ends in it to `on_response`, unless that is empty. REQUIRES:
  /// !is_done().
  void advance(const std::function<void(std::size_t index, const control::GeneratedResponse&)>& on_response);
  /// Returns the responses in request order. REQUIRES: is_done().
  std::vector<control::GeneratedResponse> take_responses();

 private:
  struct Running;
  struct SharedPrompt {
    std::vector<std::int64_t> blocks;
    std::int64_t holders = 0;
  };

  static batching::EngineLimits limits_of(const Model& model, std::span<const control::GenerationRequest> requests,
                                          const control::GenerationSettings& settings, std::int64_t cache_bytes);
  void enter(std::size_t index);
  void leave(std::size_t index);
  StepRows rows_of(const batching::EngineStep& step);
  void add_part(StepRows& rows, std::size_t index, std::int64_t first, std::int64_t count, bool is_cached);
  /// Draws the next token of a sequence from its logits and adds it. Returns whether the response is complete.
  bool take_token(std::size_t index, std::span<const float> logits);

  const Model& model_;
  const std::span<const control::GenerationRequest> requests_;
  const control::GenerationSettings& settings_;
  const batching::EngineLimits limits_;
  batching::EngineScheduler scheduler_;
  BlockCache cache_;
  std::vector<std::unique_ptr<Running>> running_;  // [request]; null before admission
  std::map<std::int64_t, SharedPrompt> prompts_;   // by GenerationRequest::group
  std::vector<control::GeneratedResponse> responses_;
};

}  // namespace dovetail::runtime
