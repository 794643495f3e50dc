#include "syntax/shell/random_script.h"

#include <array>
#include <random>
#include <string_view>

namespace dovetail::syntax {
namespace {

/// Writes random statements. Variables `a` to `e` are strings, `n` and `m` integers, `x` and `y` arrays, `t` an
/// associative array.
class ScriptWriter {
 public:
  explicit ScriptWriter(std::uint64_t seed) : random_(seed) {}

  std::string write() {
    script_ =
        "show() { mark \"$@\"; return 0; }\nunset unset_one\na=one b='two words' c= d=path/to/file.tar.gz e='  blanks  "
        "'\nn=3 m=-2\nx=(p 'q r' s) y=()\n"
        "declare -A t=([k]=v [l]='w w')\nset -- first 'second one' third\n";
    for (int i = below(8) + 4; i > 0; --i) statement(3);
    script_ +=
        "show \"$a\" \"$b\" \"$c\" \"$d\" \"$e\" $n $m \"${#x[@]}\" \"${x[@]}\" \"${y[@]}\" \"$@\" \"${t[k]}\"\n";
    return script_;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  template <std::size_t size>
  std::string one_of(const std::array<std::string_view, size>& choices) {
    return std::string(choices[static_cast<std::size_t>(below(static_cast<int>(size)))]);
  }

  std::string text_name() { return one_of(std::array<std::string_view, 5>{"a", "b", "c", "d", "e"}); }
  std::string number_name() { return one_of(std::array<std::string_view, 2>{"n", "m"}); }
  std::string list_name() { return one_of(std::array<std::string_view, 2>{"x", "y"}); }

  std::string arithmetic(int depth) {
    if (depth == 0 || below(3) == 0)
      return one_of(std::array<std::string_view, 7>{"1", "7", "n", "$m", "0x10", "12", "m"});
    const std::string left = arithmetic(depth - 1);
    const std::string right = arithmetic(depth - 1);
    switch (below(8)) {
      case 0:
        return "(" + left + ") / 3";
      case 1:
        return "(" + left + ") % 5";
      case 2:
        return "(" + left + " > " + right + " ? " + left + " : " + right + ")";
      case 3:
        return "-(" + left + ")";
      default:
        return "(" + left +
               one_of(std::array<std::string_view, 12>{" + ", " - ", " * ", " < ", " == ", " && ", " || ", " & ", " | ",
                                                       " ^ ", " != ", " << 1 + "}) +
               right + ")";
    }
  }

  std::string pattern() {
    return one_of(std::array<std::string_view, 12>{"*", "?", "o*", "*/", ".*", "[a-o]", "[!a-o]*", "\" \"", "*.gz",
                                                   "$a", "t*o", "e"});
  }

  /// Returns the text within `${...}`.
  std::string braced(int depth) {
    const std::string name =
        below(4) == 0 ? one_of(std::array<std::string_view, 4>{"1", "2", "unset_one", "x[1]"}) : text_name();
    switch (below(12)) {
      case 0:
        return "#" + name;
      case 1:
        return name + one_of(std::array<std::string_view, 3>{":-", "-", ":+"}) + "fall" + (depth > 0 ? "${a}" : "");
      case 2:
        return name + one_of(std::array<std::string_view, 4>{"#", "##", "%", "%%"}) + pattern();
      case 3:
        return name + one_of(std::array<std::string_view, 4>{"/", "//", "/#", "/%"}) + pattern() + "/R";
      case 4:
        return name + ":" + std::to_string(below(5)) + ":" + std::to_string(below(4));
      case 5:
        return name + ": -" + std::to_string(below(4) + 1);
      case 6:
        return name + one_of(std::array<std::string_view, 4>{"^", "^^", ",", ",,"});
      case 7:
        return "#" + list_name() + "[@]";
      case 8:
        return list_name() + "[" + std::to_string(below(3)) + "]";
      case 9:
        return "t[" + one_of(std::array<std::string_view, 3>{"k", "l", "$a"}) + "]";
      default:
        return name;
    }
  }

  std::string expansion(int depth) {
    switch (below(9)) {
      case 0:
        return "$((" + arithmetic(2) + "))";
      case 1:
        return depth > 0 ? "$(" + printing(depth - 1) + ")" : "$a";
      case 2:
        return "$" + text_name();
      case 3:
        return "$#";
      case 4:
        return "$1";
      default:
        return "${" + braced(depth) + "}";
    }
  }

  std::string printing(int depth) {
    switch (below(8)) {
      case 0:
        return "seq " + std::to_string(below(4)) + " " + std::to_string(below(9));
      case 1:
        return "dirname \"/p" + expansion(depth) + "/x\"";
      case 2:
        return "basename /q/" + one_of(std::array<std::string_view, 3>{"w.txt .txt", "w", "w/"});
      case 3:
        return "printf '%s-%d|' " + word(depth) + " $((" + arithmetic(1) + "))";
      case 4:
        return "cat <<< \"" + expansion(depth) + "\"";
      case 5:
        return "if " + condition(depth) + "; then echo yes " + word(depth) + "; else echo no; fi";
      default:
        return "echo " + word(depth) + " " + word(depth);
    }
  }

  /// Writes braces and what has a meaning between them, in any order.
  std::string braces() {
    std::string word = "b";
    for (int i = below(12) + 1; i > 0; --i)
      word += one_of(
          std::array<std::string_view, 12>{"{", "{", "{", ",", ",", "}", "}", "x", "1..3", "..", "\"q}\"", "${n}"});
    return word.substr(static_cast<std::size_t>(below(2)));
  }

  std::string word(int depth) {
    switch (below(12)) {
      case 0:
        return "plain";
      case 1:
        return "'single $a \"q\"'";
      case 2:
        return "$'tab\\there\\x41'";
      case 3:
        return "\"" + expansion(depth) + " and " + expansion(depth) + "\"";
      case 4:
        return "pre" + expansion(depth) + "/post";
      case 5:
        return "\"${" + list_name() + "[@]}\"";
      case 6:
        return one_of(std::array<std::string_view, 4>{"\"$@\"", "$*", "\"$*\"", "\"${x[*]}\""});
      case 7:
        return one_of(std::array<std::string_view, 6>{"{1..3}", "k{a,b}=$n", "{a,b{c,d}}", "x{5..1..2}y", "{only}",
                                                      "{a,\"b,c\"}"});
      case 8:
        return "k=\"" + expansion(depth) + "\"";
      case 9:
        return "\"${" + list_name() + "[@]:" + std::to_string(below(3)) + "}\"";
      case 10:
        return braces();
      default:
        return expansion(depth);
    }
  }

  std::string quoted(int depth) { return "\"" + expansion(depth) + "\""; }

  std::string condition(int depth) {
    switch (below(10)) {
      case 0:
        return "[ " + quoted(depth) + one_of(std::array<std::string_view, 2>{" = ", " != "}) + quoted(depth) + " ]";
      case 1:
        return "[ $n " + one_of(std::array<std::string_view, 4>{"-lt", "-eq", "-ge", "-ne"}) + " " +
               std::to_string(below(6)) + " ]";
      case 2:
        return "[[ $" + text_name() + one_of(std::array<std::string_view, 3>{" == ", " != ", " = "}) + pattern() +
               " ]]";
      case 3:
        return "[[ $" + text_name() + " =~ ^([a-z]+)(.*)$ ]]";
      case 4:
        return "(( " + arithmetic(2) + " ))";
      case 5:
        return one_of(std::array<std::string_view, 2>{"[ -z ", "[ -n "}) + quoted(depth) + " ]";
      case 6:
        return depth > 0 ? condition(depth - 1) + one_of(std::array<std::string_view, 2>{" && ", " || "}) +
                               condition(depth - 1)
                         : "true";
      case 7:
        return "! " + (depth > 0 ? condition(depth - 1) : std::string("false"));
      case 8:
        return "[[ ( -n $c || $n -gt 2 ) && $a < $b ]]";
      default:
        return one_of(std::array<std::string_view, 3>{"true", "false", "[ -n \"$a\" -a \"$b\" != x ]"});
    }
  }

  void line(const std::string& text) { script_ += text + "\n"; }

  void assignment(int depth) {
    switch (below(11)) {
      case 0:
        return line(text_name() + "=" + expansion(depth));
      case 1:
        return line(text_name() + "+=" + quoted(depth));
      case 2:
        return line(list_name() + "=(" + word(depth) + " " + word(depth) + ")");
      case 3:
        return line(list_name() + "+=(" + word(depth) + ")");
      case 4:
        return line("x[" + std::to_string(below(4)) + "]=" + quoted(depth));
      case 5:
        return line(number_name() + "=$(( (" + arithmetic(2) + ") % 1000 ))");
      case 6:
        return line("(( " + number_name() + one_of(std::array<std::string_view, 3>{"++", " += 2", " = n * 2 % 100"}) +
                    " ))");
      case 7:
        return line("printf -v " + text_name() + " '%s:%03d' " + quoted(depth) + " 7");
      case 8:
        return line("t[k]+=" + quoted(depth));
      case 9:
        return line("IFS=, read -r a b <<< \"" + expansion(depth) + ",rest of,it\"");
      default:
        return line(text_name() + "=" + quoted(depth) + "tail");
    }
  }

  void block(int depth, const std::string& begin, const std::string& end) {
    line(begin);
    for (int i = below(2) + 1; i > 0; --i) statement(depth - 1);
    line(end);
  }

  void compound(int depth) {
    const std::string counter = "i" + std::to_string(counters_++);
    switch (below(8)) {
      case 0:
        block(depth, "if " + condition(depth) + "; then", "elif " + condition(depth) + "; then");
        return block(depth, ":", "else show else; fi");
      case 1:
        return block(depth,
                     "for " + counter + " in " + word(depth) + " " + word(depth) + "; do show \"$" + counter + "\"",
                     "[ \"$" + counter + "\" = plain ] && break; done");
      case 2:
        return block(depth, "for ((" + counter + " = 0; " + counter + " < 3; " + counter + "++)); do show $" + counter,
                     "(( " + counter + " == 1 )) && continue; done");
      case 3:
        line(counter + "=0");
        return block(depth, "while (( " + counter + "++ < 2 )); do", "done");
      case 4:
        line("case " + quoted(depth) + " in");
        for (const std::string& begin : {pattern() + " | zzz) show first", std::string("\"$a\"*)"), pattern() + ")"})
          block(depth, begin, one_of(std::array<std::string_view, 3>{";;", ";&", ";;&"}));
        return block(depth, "*)", "esac");
      case 5: {
        const std::string name = "f" + std::to_string(counters_++);
        block(depth, name + "() { local a=$1 z; show in \"$a\" \"$#\"", condition(depth) + " && return 3; show end; }");
        line(name + " " + word(depth) + " x");
        return line("show status $?");
      }
      case 6:
        return block(depth, "( a=inner; show sub \"$a\"", ")");
      default:
        line("a=$(cat <<EOF\nhere $n ${b} $((n + 1)) \\$a\nEOF\n)");
        return line("show \"$a\"");
    }
  }

  void statement(int depth) {
    if (depth > 0 && below(3) == 0) return compound(depth);
    switch (below(5)) {
      case 0:
        return line("show " + word(2) + " " + word(2));
      case 1:
        return line(condition(2) + one_of(std::array<std::string_view, 2>{" && show and", " || show or"}));
      case 2:
        return below(4) == 0 ? line("set -- " + word(1) + " two") : below(3) == 0 ? line("shift") : assignment(2);
      default:
        return assignment(2);
    }
  }

  std::mt19937_64 random_;
  std::string script_;
  int counters_ = 0;
};

}  // namespace

std::string random_script(std::uint64_t seed) { return ScriptWriter(seed).write(); }

}  // namespace dovetail::syntax
