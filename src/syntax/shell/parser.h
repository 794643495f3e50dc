// Parser of shell scripts, internal to the evaluator. One class parses words and commands, because each can contain the
// other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/shell/script_tree.h"

namespace dovetail::syntax {

/// Parses a script. The first error is stored and moves the position to the end, which stops parsing.
class ShellParser {
 public:
  ShellParser(std::string_view content, const std::string& path, Place begin, int depth, ShellTrees& trees);

  /// Parses commands up to the end, or to a reserved word or operator that ends a list.
  ShellNode parse_list();
  /// Parses the rest of the content as if it were between double quotes.
  WordParts parse_all_quoted();

  bool at_end() const { return position_ >= content_.size(); }
  Place place() const;
  void fail(Place place, std::string message);
  const std::optional<base::Error>& error() const { return error_; }

 private:
  friend class ParserDepth;
  struct PendingDocument {
    std::size_t index;
    std::string end;
    bool strips_tabs;
    bool is_literal;
  };

  // parser.cpp: commands and conditions
  ShellNode parse_and_or();
  ShellNode parse_pipeline();
  ShellNode parse_command();
  ShellNode parse_compound(std::string_view word);
  ShellNode parse_conditional();
  ShellNode parse_loop(bool until);
  ShellNode parse_for();
  ShellNode parse_for_arithmetic(ShellNode node);
  ShellNode parse_case();
  void parse_arm(ShellNode& node);
  ShellNode parse_function(std::string name, Place place);
  ShellNode parse_simple();
  bool parse_simple_part(ShellNode& node, bool& declares);
  ShellNode parse_test();
  TestTree parse_test_or();
  TestTree parse_test_and();
  TestTree parse_test_primary();
  ShellWord parse_regex();
  void parse_redirections(ShellNode& node);
  bool parse_redirection(ShellNode& node);
  bool parse_assignment(Assignment& assignment);
  void parse_elements(Assignment& assignment);
  ShellNode body_until(std::string_view word);
  void expect_word(std::string_view word);
  bool take_word(std::string_view word);
  ShellNode start(ShellNode::Kind kind) const;

  // words.cpp: characters
  char peek(std::size_t ahead = 0) const;
  bool starts_with(std::string_view text) const;
  bool take(std::string_view text);
  void skip_continuations();
  void skip_blanks();
  void skip_separators();
  /// Returns the characters up to the next blank or operator, or an empty string if one of them starts a quote or an
  /// expansion.
  std::string_view peek_plain() const;
  void take_newline();
  void read_document(const PendingDocument& document);
  std::string_view rest() const;
  std::string_view rest_of_line() const;

  // words.cpp: words
  ShellWord parse_word();
  void parse_word_parts(WordParts& parts);
  bool parse_quote(WordParts& parts);
  WordParts parse_until(std::string_view ends, bool quoted);
  void parse_double_quoted(WordParts& parts);
  void parse_single_quoted(WordParts& parts);
  void parse_ansi_quoted(WordParts& parts);
  void parse_dollar(WordParts& parts, bool quoted);
  void parse_braced(WordPart& part);
  void parse_operation(WordPart& part);
  bool parse_arithmetic(WordPart& part);
  WordParts parse_expression(std::string_view end);
  void parse_command_substitution(WordPart& part);
  void parse_backquoted(WordParts& parts, bool quoted);
  void add_text(WordParts& parts, char c, bool quoted, Place place);

  std::string_view content_;
  std::string path_;
  Place begin_;
  ShellTrees& trees_;
  std::size_t position_ = 0;
  std::vector<std::size_t> lines_;  ///< position of the start of each line
  std::vector<PendingDocument> pending_;
  int depth_ = 0;
  std::optional<base::Error> error_;
};

/// Increases the nesting depth during its lifetime. The parser fails if the depth exceeds the limit.
class ParserDepth {
 public:
  explicit ParserDepth(ShellParser& parser);
  ParserDepth(const ParserDepth&) = delete;
  ParserDepth& operator=(const ParserDepth&) = delete;
  ~ParserDepth() { --parser_.depth_; }

 private:
  ShellParser& parser_;
};

/// Returns whether a variable name may start with the character or, if `inside`, contain it.
bool is_name_character(char c, bool inside);
/// Returns whether the whole text is a variable name.
bool is_variable_name(std::string_view text);

}  // namespace dovetail::syntax
