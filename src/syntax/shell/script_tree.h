// A shell script as a tree. Only what evaluates scripts needs it.
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

/// A piece of a word before it is expanded.
struct WordPart {
  enum class Kind { text, parameter, command, arithmetic, process };
  Kind kind = Kind::text;
  bool quoted = false;
  Place place;
  std::string text;                  ///< the characters, or the name of a parameter
  char prefix = 0;                   ///< of a parameter: '#' for its length, '!' for what it names
  std::string operation;             ///< of a parameter: ":-", "%%", "//", ...; empty for none
  std::vector<WordParts> subscript;  ///< none or one
  std::vector<WordParts> operands;   ///< of the operation; of arithmetic its expression
  std::vector<ShellNode> commands;   ///< of a command or process substitution, one list
};

struct ShellWord {
  WordParts parts;
  Place place;
};

struct ArrayElement {
  std::vector<WordParts> subscript;  ///< none or one
  ShellWord value;
};

struct Assignment {
  Place place;
  std::string name;
  std::vector<WordParts> subscript;  ///< none or one
  bool adds = false;                 ///< `+=`
  bool is_list = false;              ///< `name=(...)`
  ShellWord value;
  std::vector<ArrayElement> elements;
};

struct Redirection {
  int descriptor = -1;    ///< -1 where none is written
  std::string operation;  ///< "<", ">", ">>", "<<", "<<<", ">&", "&>", ...
  ShellWord target;
  std::size_t here_document = 0;  ///< of "<<": index into ShellTrees::here_documents
};

/// A condition of `[[ ]]`: an operator over conditions ("!", "&&", "||") or over words ("-n", "==", "=~", ...).
struct TestTree {
  std::string operation;
  std::vector<TestTree> operands;
  std::vector<ShellWord> words;
};

struct ShellNode {
  enum class Kind {
    simple,          ///< assignments, words
    pipeline,        ///< children
    and_or,          ///< children, operators between them
    list,            ///< children
    group,           ///< children: one list
    subshell,        ///< children: one list
    conditional,     ///< children: condition, list, condition, list, ..., and perhaps the list of `else`
    loop,            ///< children: condition, list; negated for `until`
    for_each,        ///< name, words; children: one list
    for_arithmetic,  ///< expressions: three; children: one list
    choice,          ///< `case`: words: one; arms; children: a list for each arm
    function,        ///< name; children: the body
    test,            ///< `[[ ]]`
    arithmetic,      ///< `(( ))`: expressions: one
  };
  struct Arm {
    std::vector<ShellWord> patterns;
    std::string end;  ///< ";;", ";&" or ";;&"
  };

  Kind kind = Kind::simple;
  Place place;
  bool negated = false;
  bool in_background = false;
  bool has_words = false;  ///< of for_each: `in` was written
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

/// The trees of all scripts that an evaluation has read; nodes stay where they are.
struct ShellTrees {
  std::deque<ShellNode> roots;
  std::deque<WordParts> here_documents;
};

/// Parses a script and adds it to `trees`. `begin` is the place of its first character. A mistake of syntax is an Error
/// at its place, `path` its file.
base::Result<const ShellNode*> parse_shell(std::string_view content, const std::string& path, Place begin,
                                           ShellTrees& trees);

/// What a run of text means between double quotes, as in a here-document or `(( ))`.
base::Result<WordParts> parse_quoted(std::string_view content, const std::string& path, Place begin, ShellTrees& trees);

}  // namespace dovetail::syntax
