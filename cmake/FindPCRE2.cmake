# Defines PCRE2::8BIT, for the regular expressions of tokenizers.
include(${CMAKE_CURRENT_LIST_DIR}/PlainLibrary.cmake)
find_plain_library(PCRE2 PCRE2::8BIT pcre2.h pcre2-8)
