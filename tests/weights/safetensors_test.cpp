#include "weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "support/temporary_folder.h"

namespace dovetail::weights {
namespace {

using test::content_of;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Returns a file: the length of the header, the header, the data.
std::string file_with(const std::string& header, const std::string& data) {
  std::string file(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

/// Returns the output of safetensors.torch.save_file for {"b": tensor([1., 2.]), "a": tensor([[3]], dtype=int64)}.
std::string library_file() {
  const std::int64_t whole = 3;
  const float numbers[] = {1, 2};
  std::string data(16, '\0');
  std::memcpy(data.data(), &whole, 8);
  std::memcpy(data.data() + 8, numbers, 8);
  return file_with(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[1,1],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}   )",
      data);
}

TEST(Safetensors, ReadsFilesOfTheLibrary) {
  const TemporaryFolder folder;
  const auto file = SafetensorsFile::open(folder.write("model.safetensors", library_file()));
  ASSERT_TRUE(file.ok()) << to_text(file.error());
  ASSERT_EQ(file->tensors().size(), 2U);
  const StoredTensor* b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->type, ElementType::f32);
  EXPECT_THAT(b->shape, ElementsAre(2));
  EXPECT_EQ(b->elements(), 2);
  float numbers[2];
  std::memcpy(numbers, b->bytes.data(), 8);
  EXPECT_THAT(numbers, ElementsAre(1, 2));
  EXPECT_EQ(file->find("a")->type, ElementType::i64);
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_THAT(file->metadata(), ElementsAre(std::pair<std::string, std::string>("format", "pt")));
}

TEST(Safetensors, ReproducesTheBytesOfTheLibrary) {
  const TemporaryFolder folder;
  const auto file = SafetensorsFile::open(folder.write("model.safetensors", library_file()));
  const std::string copy = folder.file("copy.safetensors");
  ASSERT_TRUE(write_safetensors(copy, file->tensors(), file->metadata()).ok());
  EXPECT_EQ(content_of(copy), library_file());
}

TEST(Safetensors, AcceptsNoTensorsAndScalars) {
  const auto nothing = parse_safetensors(bytes_of(file_with("{}", "")), "f");
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->tensors.empty());
  const std::string one = file_with(
      R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"none":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}})",
      "a");
  const auto single = parse_safetensors(bytes_of(one), "f");
  ASSERT_TRUE(single.ok()) << to_text(single.error());
  EXPECT_EQ(single->tensors[0].name, "none");
  EXPECT_EQ(single->tensors[1].elements(), 1);
}

std::string error_of(const std::string& file) {
  const auto parsed = parse_safetensors(bytes_of(file), "f.safetensors");
  return parsed.ok() ? "no error" : to_text(parsed.error());
}

std::string error_of_header(const std::string& header) { return error_of(file_with(header, "12345678")); }

TEST(Safetensors, RejectsTruncatedFiles) {
  const std::string whole = library_file();
  ASSERT_EQ(error_of(whole), "no error");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(error_of(whole.substr(0, length)), HasSubstr("accepted: ")) << length;
  EXPECT_EQ(error_of("abc"),
            "f.safetensors: the file has only 3 bytes; accepted: a safetensors file of at least 8 bytes");
  EXPECT_THAT(error_of(whole.substr(0, 40)),
              HasSubstr("the file is truncated: its header ends at byte 152, the file at byte 40"));
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 1)),
              HasSubstr("the file is truncated: tensor `b` ends at byte 16 after the header, the file at byte 15"));
  EXPECT_THAT(error_of(whole + "x"), HasSubstr("1 bytes follow the last tensor"));
}

TEST(Safetensors, RejectsInvalidHeaders) {
  EXPECT_THAT(error_of("PK\x03\x04 a file of another kind"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(error_of_header("[]"), HasSubstr("f.safetensors:1:1: the header is a list; accepted: a map of tensors"));
  EXPECT_THAT(error_of_header("{]"), HasSubstr("f.safetensors:1:2: "));
  EXPECT_THAT(error_of_header(R"({"x":{"dtype":"F32","shape":[2]}})"),
              HasSubstr("tensor `x` needs the key `data_offsets`"));
  EXPECT_THAT(error_of_header(R"({"x":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})"),
              HasSubstr("f.safetensors:1:15: the type of tensor `x` is the string `F8_E4M3`; accepted: F64, F32"));
  EXPECT_THAT(
      error_of_header(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"),
      HasSubstr("tensor `x` of shape [3] has 8 bytes in the file; accepted: 12 (as its shape and type require)"));
  EXPECT_THAT(error_of_header(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
              HasSubstr("a dimension of tensor `x` must be an integer from 0"));
  EXPECT_THAT(error_of_header(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"),
              HasSubstr("the end offset of tensor `x` must be an integer from 8"));
  EXPECT_THAT(error_of_header(R"({"x":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8]}})"),
              HasSubstr("exceeds the maximum size of"));
  EXPECT_THAT(error_of_header(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
              HasSubstr("tensor `x` begins at byte 4 after the header; accepted: 0 (tensors must be contiguous)"));
  EXPECT_THAT(
      error_of_header(
          R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
      HasSubstr("tensor `y` begins at byte 4 after the header; accepted: 8"));
  EXPECT_THAT(
      error_of_header(
          R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})"),
      HasSubstr("`x`"));
  EXPECT_THAT(error_of_header(R"({"__metadata__":{"a":1}})"), HasSubstr("a metadata value is 1; accepted: a string"));
}

TEST(Safetensors, RejectsAFolderAndAMissingFile) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path(), folder.file("none.safetensors")}) {
    const auto file = SafetensorsFile::open(path);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().failure, base::Failure::io);
  }
}

RC_GTEST_PROP(Safetensors, RoundTrips, ()) {
  const auto count = *rc::gen::inRange(0, 6);
  std::vector<std::string> data;
  std::vector<StoredTensor> tensors;
  for (int index = 0; index < count; ++index) {
    StoredTensor tensor;
    tensor.name = "tensor " + std::to_string(index) + *rc::gen::element<std::string>("", "\"", ".weight", "\xC3\xA9");
    tensor.type = *rc::gen::elementOf(std::vector{ElementType::f64, ElementType::bf16, ElementType::boolean});
    tensor.shape = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4));
    data.emplace_back(static_cast<std::size_t>(tensor.elements() * weights::bytes_of(tensor.type)),
                      static_cast<char>('a' + index));
    tensors.push_back(tensor);
  }
  for (std::size_t index = 0; index < tensors.size(); ++index) tensors[index].bytes = bytes_of(data[index]);
  const TemporaryFolder folder;
  RC_ASSERT(write_safetensors(folder.file("x"), tensors, {}).ok());
  const auto file = SafetensorsFile::open(folder.file("x"));
  RC_ASSERT(file.ok());
  RC_ASSERT(file->tensors().size() == tensors.size());
  for (const StoredTensor& wanted : tensors) {
    const StoredTensor* found = file->find(wanted.name);
    RC_ASSERT(found != nullptr);
    RC_ASSERT(found->type == wanted.type);
    RC_ASSERT(found->shape == wanted.shape);
    RC_ASSERT(std::equal(found->bytes.begin(), found->bytes.end(), wanted.bytes.begin(), wanted.bytes.end()));
  }
}

}  // namespace
}  // namespace dovetail::weights
