#include "control/run_settings.h"

#include <filesystem>

#include "base/canonical_json.h"
#include "base/descriptor_file.h"
#include "base/json_object.h"
#include "base/sha256.h"
#include "base/utf8.h"

namespace dovetail::control {
namespace {

template <class Value, class Write>
std::string by_role(const std::map<std::string, Value>& values, const Write& write) {
  std::string members;
  for (const auto& [role, value] : values)
    members += (members.empty() ? "" : ", ") + base::json_string(role) + ": " + write(value);
  return "{" + members + "}";
}

/// A path as the job has it, wherever this program runs.
std::string from_job(const RunSettings& settings, const std::string& path) {
  const std::filesystem::path folder(settings.folder);
  return folder.empty() || path.empty() ? path : std::filesystem::path(path).lexically_proximate(folder).string();
}

}  // namespace

std::string hash_of(const RunSettings& settings) {
  base::JsonObject object;
  object.add("seed", std::to_string(settings.seed));
  RunData data = settings.data;
  for (std::string* const path : {&data.train, &data.validation}) *path = from_job(settings, *path);
  object.add("data", base::canonical_object(data).text());
  object.add("tokenizer", base::json_string(from_job(settings, settings.tokenizer)));
  object.add("weights", by_role(settings.weights,
                                [&](const std::string& path) { return base::json_string(from_job(settings, path)); }));
  object.add("precision", base::canonical_object(settings.precision).text());
  object.add("optimizer", by_role(settings.optimizer, [](const OptimizerSettings& optimizer) {
               return base::canonical_object(optimizer).text();
             }));
  object.add("sampling", base::canonical_object(settings.sampling).text());
  object.add("loss", base::canonical_object(settings.loss).text());
  if (settings.reward) object.add("reward", base::canonical_object(*settings.reward).text());
  object.add("evaluate", base::canonical_object(settings.evaluate).text());
  object.add("checkpoint", base::canonical_object(settings.checkpoint).text());
  object.add("guards", base::canonical_object(settings.guards).text());
  return base::sha256_hex(base::canonical_json(object.text()));
}

}  // namespace dovetail::control
