#include "text/tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/document.h"
#include "base/file.h"
#include "text/added_tokens.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace dovetail::text {

using base::Node;
using base::Result;

struct Tokenizer::Impl {
  BytePairs model;
  PreTokenizer pre_tokenizer;
  TextFrame frame;
  bool composes = false;  ///< the normalizer is NFC
  bool decodes_bytes = false;
  std::vector<AddedToken> added;
  AddedTokenFinder raw;
  AddedTokenFinder normalized;
  std::vector<std::optional<std::string>> contents;  ///< [token]
  std::vector<bool> special;                         ///< [token]

  base::Status encode_text(std::string_view text, std::vector<TokenId>& tokens) const;
  void list_contents();
  bool has(TokenId token) const {
    return token >= 0 && static_cast<std::size_t>(token) < contents.size() && contents[static_cast<std::size_t>(token)];
  }
};

namespace {

/// Sets whether the normalizer composes characters: NFC does, null does not. Any other is an Error.
base::Status read_normalizer(const Node& node, bool& composes, int depth = 0) {
  if (node.is_null()) return {};
  DOVETAIL_TRY(const std::string_view type, type_of(node, "a normalizer"));
  if (type == "NFC") {
    composes = true;
    return {};
  }
  if (type == "Sequence")
    return for_each_component(node, "normalizers", depth,
                              [&](const Node& component) { return read_normalizer(component, composes, depth + 1); });
  return unknown_type(node, "the normalizer", "`NFC`, `Sequence`, null");
}

/// Sets whether the characters of tokens represent bytes.
base::Status read_decoder(const Node& node, bool& decodes_bytes) {
  if (node.is_null()) return {};
  DOVETAIL_TRY(const std::string_view type, type_of(node, "a decoder"));
  if (type != "ByteLevel") return unknown_type(node, "the decoder", "`ByteLevel`, null");
  decodes_bytes = true;
  return {};
}

}  // namespace

base::Status Tokenizer::Impl::encode_text(std::string_view text, std::vector<TokenId>& tokens) const {
  for (const TextPart& part : raw.parts(text)) {
    if (part.token != nullptr) {
      tokens.push_back(part.token->id);
      continue;
    }
    const std::string composed = composes ? to_nfc(part.text) : std::string(part.text);
    for (const TextPart& inner : normalized.parts(composed)) {
      if (inner.token != nullptr) {
        tokens.push_back(inner.token->id);
        continue;
      }
      DOVETAIL_TRY(const std::vector<std::string> pieces, pre_tokenizer.pieces(inner.text));
      for (const std::string& piece : pieces) model.encode(piece, tokens);
    }
  }
  return {};
}

void Tokenizer::Impl::list_contents() {
  const auto set = [this](TokenId id, const std::string& text, bool is_special) {
    const auto index = static_cast<std::size_t>(id);
    contents.resize(std::max(contents.size(), index + 1));
    special.resize(contents.size());
    contents[index] = text;
    special[index] = is_special;
  };
  for (const auto& [text, id] : model.vocabulary()) set(id, text, false);
  for (const AddedToken& token : added) set(token.id, token.content, token.special);
}

Result<Tokenizer> Tokenizer::parse(std::string_view content, const std::string& path) {
  constexpr std::string_view what = "a tokenizer";
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  const Node root = document.root();
  // `truncation` and `padding` are accepted but not used.
  DOVETAIL_CHECK(base::check_keys(root, what,
                                  {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                                   "post_processor", "decoder", "model"}));
  auto impl = std::make_shared<Impl>();
  DOVETAIL_TRY(const Node model, base::require(root, what, "model"));
  DOVETAIL_TRY(impl->model, BytePairs::parse(model));
  if (const auto node = root.find("pre_tokenizer")) {
    DOVETAIL_TRY(impl->pre_tokenizer, PreTokenizer::parse(*node));
  }
  if (const auto node = root.find("post_processor")) {
    DOVETAIL_TRY(impl->frame, parse_frame(*node));
  }
  if (const auto node = root.find("normalizer")) DOVETAIL_CHECK(read_normalizer(*node, impl->composes));
  if (const auto node = root.find("decoder")) DOVETAIL_CHECK(read_decoder(*node, impl->decodes_bytes));
  if (const auto node = root.find("added_tokens")) {
    DOVETAIL_TRY(impl->added, parse_added_tokens(*node));
  }
  impl->raw = AddedTokenFinder(impl->added, false);
  impl->normalized = AddedTokenFinder(impl->added, true);
  impl->list_contents();
  for (const std::vector<TokenId>* side : {&impl->frame.before, &impl->frame.after})
    for (const TokenId token : *side)
      if (!impl->has(token))
        return root.error(
            fmt::format("the post-processor adds token {}, which does not exist; accepted: a token of "
                        "the model or of `added_tokens`",
                        token));
  return Tokenizer(std::move(impl));
}

Result<Tokenizer> Tokenizer::read(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  return parse(content, path);
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, Frame frame) const {
  std::vector<TokenId> tokens;
  const TextFrame& around = impl_->frame;
  if (frame == Frame::added) tokens = around.before;
  DOVETAIL_CHECK(impl_->encode_text(text, tokens));
  if (frame == Frame::added) tokens.insert(tokens.end(), around.after.begin(), around.after.end());
  return tokens;
}

std::string Tokenizer::bytes_of(std::span<const TokenId> tokens, SpecialTokens special) const {
  std::string bytes;
  for (const TokenId token : tokens) {
    // A model's vocabulary may be larger than its tokenizer's.
    if (!has(token) || (special == SpecialTokens::left_out && is_special(token))) continue;
    const std::string& content = content_of(token);
    const auto decoded = impl_->decodes_bytes ? from_byte_characters(content) : std::nullopt;
    bytes += decoded ? *decoded : content;
  }
  return bytes;
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, SpecialTokens special) const {
  return to_valid_utf8(bytes_of(tokens, special));
}

std::size_t Tokenizer::size() const { return impl_->contents.size(); }

bool Tokenizer::has(TokenId token) const { return impl_->has(token); }

bool Tokenizer::is_special(TokenId token) const {
  DOVETAIL_ASSERT(has(token));
  return impl_->special[static_cast<std::size_t>(token)];
}

std::optional<TokenId> Tokenizer::find(std::string_view content) const {
  for (const AddedToken& token : impl_->added)
    if (token.content == content) return token.id;
  const auto found = impl_->model.vocabulary().find(content);
  return found == impl_->model.vocabulary().end() ? std::nullopt : std::optional(found->second);
}

const std::string& Tokenizer::content_of(TokenId token) const {
  DOVETAIL_ASSERT(has(token));
  return *impl_->contents[static_cast<std::size_t>(token)];
}

}  // namespace dovetail::text
