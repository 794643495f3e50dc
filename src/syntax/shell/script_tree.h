// Syntax tree of a shell script, internal to the evaluator.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/text.h"

namespace dovetail::syntax {

struct ShellNode;
struct WordPart;
using WordParts = std::vector<WordPart>;

/// A part of a word before expansion.
struct WordPart {
  enum class Kind { text, parameter, command, arithmetic, process };
  Kind kind = Kind::text;
  bool quoted = false;
  Place place;
  std::string text;                  ///< the characters, or the name of a parameter
  char prefix = 0;                   ///< prefix of a parameter: '#' for its length, '!' for indirection; 0: none
  std::string operation;             ///< operator on a parameter: ":-", "%%", "//", ...; empty: none
  std::vector<WordParts> subscript;  ///< zero or one element
  std::vector<WordParts> operands;   ///< operands of the operation, or the arithmetic expression
  std::vector<ShellNode> commands;   ///< the list of a command or process substitution
};

struct ShellWord {
  WordParts parts;
  Place place;
};

struct ArrayElement {
  std::vector<WordParts> subscript;  ///< zero or one element
  ShellWord value;
};

struct Assignment {
  Place place;
  std::string name;
  std::vector<WordParts> subscript;  ///< zero or one element
  bool adds = false;                 ///< the operator is `+=`
  bool is_list = false;              ///< the value is a list: `name=(...)`
  ShellWord value;
  std::vector<ArrayElement> elements;
};

struct Redirection {
  int descriptor = -1;    ///< file descriptor; -1: not given
  std::string operation;  ///< "<", ">", ">>", "<<", "<<<", ">&", "&>", ...
  ShellWord target;
  std::size_t here_document = 0;  ///< for "<<": index into ShellTrees::here_documents
};

/// A condition in `[[ ]]`: an operator on conditions ("!", "&&", "||") or on words ("-n", "==", "=~", ...).
struct TestTree {
  std::string operation;
  std::vector<TestTree> operands;
  std::vector<ShellWord> words;
};

struct ShellNode {
  /// Kind of command. The comments list the members that a node of each kind uses.
  enum class Kind {
    simple,          ///< assignments, words
    pipeline,        ///< children
    and_or,          ///< children, operators between them
    list,            ///< children
    group,           ///< children: one list
    subshell,        ///< children: one list
    conditional,     ///< children: condition, list, condition, list, ..., optionally the list of `else`
    loop,            ///< children: condition, list; negated for `until`
    for_each,        ///< name, words; children: one list
    for_arithmetic,  ///< three expressions; children: one list
    choice,          ///< `case`: one word; arms; children: one list per arm
    function,        ///< name; children: the body
    test,            ///< `[[ ]]`
    arithmetic,      ///< `(( ))`: one expression
  };
  struct Arm {
    std::vector<ShellWord> patterns;
    std::string end;  ///< ";;", ";&" or ";;&"
  };

  Kind kind = Kind::simple;
  Place place;
  bool negated = false;        ///< pipeline: `!` precedes it; loop: it is an `until` loop
  bool in_background = false;  ///< `&` follows it
  bool has_words = false;      ///< for_each: has `in` and words; otherwise the loop is over `"$@"`
  std::string name;
  std::vector<ShellNode> children;
  std::vector<std::string> operators;
  std::vector<Assignment> assignments;
  std::vector<ShellWord> words;
  std::vector<Redirection> redirections;
  std::vector<Arm> arms;
  std::vector<WordParts> expressions;
  std::vector<TestTree> test;
};

/// Syntax trees of all scripts read in an evaluation. Addresses of nodes are stable.
struct ShellTrees {
  std::deque<ShellNode> roots;
  std::deque<WordParts> here_documents;
};

/// Parses a script and adds it to `trees`. `begin` is the place of its first character. Returns an Error at the place
/// of a syntax error in the file `path`.
base::Result<const ShellNode*> parse_shell(std::string_view content, const std::string& path, Place begin,
                                           ShellTrees& trees);

/// Parses text as if between double quotes, as in a here-document or `(( ))`.
base::Result<WordParts> parse_quoted(std::string_view content, const std::string& path, Place begin, ShellTrees& trees);

}  // namespace dovetail::syntax
