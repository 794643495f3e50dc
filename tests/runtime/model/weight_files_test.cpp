#include "runtime/model/weight_files.h"

#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "runtime/tiny_model.h"
#include "support/temporary_folder.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;

/// Writes the model's tensors as another program might: in this type and in another order.
void write_foreign(const fs::path& path, const Weights& weights, at::ScalarType type, std::size_t begin,
                   std::size_t end) {
  std::vector<Tensor> values;
  std::vector<weights::StoredTensor> stored;
  for (std::size_t i = end; i-- > begin;) {
    const Parameter& parameter = weights.parameters[i];
    if (parameter.is.tied) continue;
    values.push_back(parameter.value.to(type).contiguous());
    const auto element = type == at::kBFloat16 ? weights::ElementType::bf16 : weights::ElementType::f16;
    stored.push_back(
        {parameter.is.name,
         element,
         values.back().sizes().vec(),
         {static_cast<const std::byte*>(values.back().data_ptr()), static_cast<std::size_t>(values.back().nbytes())}});
  }
  ASSERT_TRUE(weights::write_safetensors(path.string(), stored, {{"made_by", "a test"}}).ok());
}

TEST(WeightFiles, UnchangedWeightsAreWrittenByteIdentically) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const test::TemporaryFolder folder;
    const fs::path in = fs::path(folder.path()) / "in";
    const fs::path out = fs::path(folder.path()) / "out";
    fs::create_directories(in);
    fs::create_directories(out);
    const Model model = tiny_model({.tied = true, .bias = true}, 1, at::kFloat);
    write_foreign(in / "model.safetensors", model.weights, type, 0, model.weights.parameters.size());
    auto checkpoint = weights::Checkpoint::open(in.string());
    ASSERT_TRUE(checkpoint.ok());
    Weights read = empty_weights(model.weights.shape, model.weights.computation, at::kFloat);
    read_weights(*checkpoint, read);
    ASSERT_TRUE(write_weights(read, &*checkpoint, out.string()).ok());
    EXPECT_EQ(test::content_of(in / "model.safetensors"), test::content_of(out / "model.safetensors"));
  }
}

TEST(WeightFiles, ShardsStayShards) {
  const test::TemporaryFolder folder;
  const fs::path in = fs::path(folder.path()) / "in";
  const fs::path out = fs::path(folder.path()) / "out";
  fs::create_directories(in);
  fs::create_directories(out);
  const Model model = tiny_model({}, 2, at::kFloat);
  const std::size_t count = model.weights.parameters.size();
  write_foreign(in / "model-00001-of-00002.safetensors", model.weights, at::kBFloat16, 0, count / 2);
  write_foreign(in / "model-00002-of-00002.safetensors", model.weights, at::kBFloat16, count / 2, count);
  std::string map;
  for (std::size_t i = 0; i < count; ++i)
    map += (i == 0 ? "" : ", ") + ('"' + model.weights.parameters[i].is.name + "\": \"model-0000" +
                                   (i < count / 2 ? "1" : "2") + "-of-00002.safetensors\"");
  ASSERT_TRUE(base::write_file((in / "model.safetensors.index.json").string(), "{\"weight_map\": {" + map + "}}").ok());
  auto checkpoint = weights::Checkpoint::open(in.string());
  ASSERT_TRUE(checkpoint.ok()) << base::to_text(checkpoint.error());
  Weights read = empty_weights(model.weights.shape, model.weights.computation, at::kFloat);
  read_weights(*checkpoint, read);
  ASSERT_TRUE(write_weights(read, &*checkpoint, out.string()).ok());
  for (const fs::directory_entry& entry : fs::directory_iterator(in))
    EXPECT_EQ(test::content_of(entry.path()), test::content_of(out / entry.path().filename()));
}

TEST(WeightFiles, AMissingScalarHeadIsZero) {
  const test::TemporaryFolder folder;
  const Model actor = tiny_model({}, 3, at::kFloat);
  ASSERT_TRUE(write_weights(actor.weights, nullptr, folder.path()).ok());
  auto checkpoint = weights::Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  Weights critic = empty_weights(llm::with_scalar_head(actor.weights.shape), actor.weights.computation, at::kFloat);
  read_weights(*checkpoint, critic);
  EXPECT_EQ(critic.find("score.weight").value.abs().sum().item<float>(), 0);
  EXPECT_TRUE(critic.find("model.norm.weight")
                  .value.equal(actor.weights.parameters[actor.weights.parameters.size() - 2].value));
}

TEST(WeightFiles, TensorsRoundTripAndMismatchesAreErrors) {
  const test::TemporaryFolder folder;
  const std::string path = (fs::path(folder.path()) / "state.safetensors").string();
  const std::vector<NamedTensor> tensors{{"a", at::rand({3, 5})}, {"b", at::rand({7}, at::kDouble)}};
  ASSERT_TRUE(write_tensors(path, tensors).ok());
  std::vector<NamedTensor> read{{"a", at::rand({3, 5})}, {"b", at::rand({7}, at::kDouble)}};
  ASSERT_TRUE(read_tensors(path, read).ok());
  EXPECT_TRUE(read[0].value.equal(tensors[0].value) && read[1].value.equal(tensors[1].value));
  for (const NamedTensor& wrong :
       {NamedTensor{"c", at::rand({3, 5})}, NamedTensor{"a", at::rand({5, 3})}, NamedTensor{"b", at::rand({7})}}) {
    const base::Status status = read_tensors(path, {&wrong, 1});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().path, path);
  }
}

}  // namespace
}  // namespace dovetail::runtime
