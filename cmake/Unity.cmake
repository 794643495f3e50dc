# DOVETAIL_UNITY compiles several files of a target as one, which takes a fraction of the time where everything is built
# anew: headers are read and templates instantiated once a group. OFF, the default, compiles each alone: what a
# developer wants after a change, and what finds a missing #include.
set(DOVETAIL_UNITY OFF CACHE STRING "Compile several files as one: OFF, tests (those of the tests alone) or all")
set_property(CACHE DOVETAIL_UNITY PROPERTY STRINGS OFF tests all)
if(NOT DOVETAIL_UNITY MATCHES "^(OFF|tests|all)$")
  message(FATAL_ERROR "DOVETAIL_UNITY is '${DOVETAIL_UNITY}'; accepted: OFF, tests, all")
endif()
if(DOVETAIL_UNITY)
  find_program(DOVETAIL_PYTHON python3 HINTS /usr/bin REQUIRED)
endif()

# KIND is what the target belongs to: library or tests.
function(dovetail_unity target kind)
  if(NOT (DOVETAIL_UNITY STREQUAL all OR DOVETAIL_UNITY STREQUAL kind))
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  execute_process(COMMAND ${DOVETAIL_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py 12 ${sources}
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
