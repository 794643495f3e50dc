# Installs the build in a folder of its own, then builds and runs a program that finds it there with find_package(dovetail).
# Needs: BUILD_DIR, CONSUMER_DIR, WORK_DIR, COMPILER, FLAGS, BUILD_TYPE
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
foreach(file bin/dovetail include/dovetail/fuse/solver.h share/bash-completion/completions/dovetail share/zsh/site-functions/_dovetail)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "--install left out ${file}")
  endif()
endforeach()
run(${prefix}/bin/dovetail --version)

run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_BUILD_TYPE=${BUILD_TYPE})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
if(NOT output MATCHES "makespan [0-9]+, bound [0-9]+")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
message(STATUS "${output}")
