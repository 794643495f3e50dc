# DOVETAIL_UNITY compiles several files of a target as one and g++ reads common headers precompiled, which halves the time
# of a full build: headers are read and templates instantiated once per group. OFF, the default, compiles each file
# separately, which is better for incremental builds and finds headers that a file forgets to include.
option(DOVETAIL_UNITY "Compile several files as one" OFF)
if(DOVETAIL_UNITY)
  find_program(DOVETAIL_PYTHON python3 HINTS /usr/bin REQUIRED)
endif()

function(dovetail_unity target)
  if(NOT DOVETAIL_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  execute_process(COMMAND ${DOVETAIL_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py 64 ${sources}
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Precompiles headers for `target`, or shares those of another target with the same macros.
function(dovetail_precompile target)
  if(DOVETAIL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()
