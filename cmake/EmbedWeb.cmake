# Writes OUTPUT, a C++ source with the report's template, style sheet and script. Usage: cmake -DTEMPLATE=...
# -DSTYLE=... -DSCRIPT=... -DOUTPUT=... -P.
set(source "// Generated from the files of web/ by cmake/EmbedWeb.cmake.\n#include \"report/page/page.h\"\n\nnamespace dovetail::report {\n\n")
foreach(part IN ITEMS TEMPLATE STYLE SCRIPT)
  string(TOLOWER ${part} name)
  file(READ ${${part}} content)
  string(APPEND source "std::string_view html_${name}() { return R\"dovetail(${content})dovetail\"; }\n\n")
endforeach()
string(APPEND source "}  // namespace dovetail::report\n")
file(WRITE ${OUTPUT} "${source}")
