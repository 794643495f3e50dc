#include <array>

#include "trainers/slime/flags.h"

namespace dovetail::trainers {
namespace {

using syntax::Flag;
using syntax::FlagKind;

/// slime/backends/sglang_utils/arguments.py: SGLang's own, and those of its router.
constexpr std::array sglang_flags{
    // The engines.
    Flag{"--sglang-mem-fraction-static", FlagKind::number},
    Flag{"--sglang-ep-size", FlagKind::whole, "1", {}, "--sglang-expert-parallel-size"},
    Flag{"--sglang-dp-size", FlagKind::whole, "1", {}, "--sglang-data-parallel-size"},
    Flag{"--sglang-pp-size", FlagKind::whole, "1", {}, "--sglang-pipeline-parallel-size"},
    Flag{"--sglang-moe-dp-size", FlagKind::whole, "1", {}, "--sglang-moe-data-parallel-size"},
    Flag{"--sglang-moe-dense-tp-size", FlagKind::whole},
    Flag{"--sglang-enable-dp-attention", FlagKind::on},
    Flag{"--sglang-enable-dp-lm-head", FlagKind::on},
    Flag{"--sglang-server-concurrency", FlagKind::whole, "512"},
    Flag{"--sglang-max-running-requests", FlagKind::whole},
    Flag{"--sglang-chunked-prefill-size", FlagKind::whole},
    Flag{"--sglang-max-prefill-tokens", FlagKind::whole},
    Flag{"--sglang-context-length", FlagKind::whole},
    Flag{"--sglang-page-size", FlagKind::whole},
    Flag{"--sglang-disable-cuda-graph", FlagKind::on},
    Flag{"--sglang-cuda-graph-bs", FlagKind::list},
    Flag{"--sglang-cuda-graph-max-bs", FlagKind::whole},
    Flag{"--sglang-disable-radix-cache", FlagKind::on},
    Flag{"--sglang-disable-overlap-schedule", FlagKind::on},
    Flag{"--sglang-enable-hierarchical-cache", FlagKind::on},
    Flag{"--sglang-enable-deterministic-inference", FlagKind::on},
    Flag{"--sglang-dtype", FlagKind::text, "auto"},
    Flag{"--sglang-quantization", FlagKind::text},
    Flag{"--sglang-kv-cache-dtype", FlagKind::text, "auto"},
    Flag{"--sglang-attention-backend", FlagKind::text},
    Flag{"--sglang-moe-a2a-backend", FlagKind::text, "none"},
    Flag{"--sglang-moe-runner-backend", FlagKind::text, "auto"},
    Flag{"--sglang-deepep-mode", FlagKind::text, "auto"},
    Flag{"--sglang-enable-deepep-moe", FlagKind::on},
    Flag{"--sglang-enable-ep-moe", FlagKind::on},
    Flag{"--sglang-ep-num-redundant-experts", FlagKind::whole, "0"},
    Flag{"--sglang-enable-fp32-moe-router", FlagKind::on},
    Flag{"--sglang-speculative-algorithm", FlagKind::text},
    Flag{"--sglang-speculative-num-steps", FlagKind::whole},
    Flag{"--sglang-speculative-eagle-topk", FlagKind::whole},
    Flag{"--sglang-speculative-num-draft-tokens", FlagKind::whole},
    Flag{"--sglang-speculative-draft-model-path", FlagKind::path},
    Flag{"--sglang-config", FlagKind::text},
    Flag{"--prefill-num-servers", FlagKind::whole},
    Flag{"--sglang-log-level", FlagKind::text},
    Flag{"--sglang-watchdog-timeout", FlagKind::number},
    Flag{"--sglang-tool-call-parser", FlagKind::text},
    Flag{"--sglang-reasoning-parser", FlagKind::text},
    Flag{"--sglang-enable-metrics", FlagKind::on},
    Flag{"--sglang-router-ip", FlagKind::text},
    Flag{"--sglang-router-port", FlagKind::whole},
    Flag{"--sglang-router-request-timeout-secs", FlagKind::whole, "14400"},
    Flag{"--router-policy", FlagKind::text},
    Flag{"--router-balance-abs-threshold", FlagKind::whole, "10"},
    Flag{"--router-balance-rel-threshold", FlagKind::number, "1.2"},
    Flag{"--router-log-level", FlagKind::text, "warn"},
    Flag{"--sglang-disaggregation-ib-device", FlagKind::text},
    Flag{"--sglang-disaggregation-transfer-backend", FlagKind::text},
    Flag{"--sglang-mamba-scheduler-strategy", FlagKind::text},
    Flag{"--sglang-nsa-decode-backend", FlagKind::text},
    Flag{"--sglang-nsa-prefill-backend", FlagKind::text},
    Flag{"--sglang-speculative-draft-attention-backend", FlagKind::text},
};

}  // namespace

std::span<const Flag> slime_sglang_flags() { return sglang_flags; }

}  // namespace dovetail::trainers
