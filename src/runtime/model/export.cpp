#include "runtime/model/export.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "llm/computation.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view tokenizer_files[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt",     "chat_template.jinja",   "generation_config.json"};

std::string_view head_suffix(const llm::Transformer& shape) {
  return shape.head == llm::Head::scalar ? "ForSequenceClassification" : "ForCausalLM";
}

/// The source's configuration with the head that the model has.
base::Result<std::string> adapted_config(const llm::Transformer& shape, const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  Json config = Json::parse(content, nullptr, false);
  if (!config.is_object()) return base::Error{base::Failure::bad_input, path, 0, 0, "it is no JSON object"};
  const Json known = config.value("architectures", Json::array());
  const std::string name = known.empty() || !known.front().is_string() ? "" : known.front().get<std::string>();
  if (name.ends_with(head_suffix(shape))) return content;
  const std::size_t end = name.find("For");
  if (end == std::string::npos) return content;
  config["architectures"] = {name.substr(0, end) + std::string(head_suffix(shape))};
  if (shape.head == llm::Head::scalar)
    config["num_labels"] = 1;
  else
    config.erase("num_labels");
  return config.dump(2) + "\n";
}

base::Status copy_if_there(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return {};
  DOVETAIL_TRY(const std::string content, base::read_file(from.string()));
  return base::write_file(to.string(), content);
}

}  // namespace

base::Status write_model_folder(const llm::Transformer& shape, const llm::Computation& computation,
                                const std::string& source, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::Error{base::Failure::io, folder, 0, 0, "cannot be made: " + error.message()};
  const fs::path out(folder);
  const fs::path in(source);
  const bool has_config = !source.empty() && fs::exists(in / "config.json", error);
  base::Result<std::string> config =
      has_config ? adapted_config(shape, (in / "config.json").string()) : llm::config_text(shape, computation);
  if (!config.ok()) return std::move(config).error();
  DOVETAIL_CHECK(base::write_file((out / "config.json").string(), *config));
  if (source.empty()) return {};
  for (const std::string_view name : tokenizer_files) DOVETAIL_CHECK(copy_if_there(in / name, out / name));
  return {};
}

}  // namespace dovetail::runtime
