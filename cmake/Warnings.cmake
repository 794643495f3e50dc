# Compiler settings of all targets of this project.
add_library(dovetail_settings INTERFACE)
target_compile_options(dovetail_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual
  # In a group, the constants of one file are visible where another file may use their names for variables.
  $<IF:$<BOOL:${DOVETAIL_UNITY}>,$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>,-Wshadow>
  # No fused multiply-add for two operations in the source, so results are equal on every machine.
  -ffp-contract=off)
# By default, g++ spends a tenth of its time on garbage collection, to save memory that every machine has.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(dovetail_settings INTERFACE "SHELL:--param ggc-min-expand=1000" "SHELL:--param ggc-min-heapsize=524288")
endif()
# g++ 12 reports overlapping copies inside std::string that do not exist (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(dovetail_settings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # libstdc++ 12's std::stable_sort calls functions that the library itself marks as deprecated.
  target_compile_options(dovetail_settings INTERFACE -Wno-deprecated-declarations)
endif()
option(DOVETAIL_WARNINGS_AS_ERRORS "Fail on warnings" ON)
if(DOVETAIL_WARNINGS_AS_ERRORS)
  target_compile_options(dovetail_settings INTERFACE -Werror)
endif()
