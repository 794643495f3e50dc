# Defines Nettle::Nettle, for SHA-256.
include(${CMAKE_CURRENT_LIST_DIR}/PlainLibrary.cmake)
find_plain_library(Nettle Nettle::Nettle nettle/sha2.h nettle)
