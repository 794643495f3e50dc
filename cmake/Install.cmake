# Installs the program and its completions, the MPI module, the libraries with their headers, and the CMake package.
set(dovetail_libraries base parallel pipeline timeline fuse llm cluster workflow plan realloc batching text weights learn transport execute kernels control records cost syntax trainers simulate predict planner measure study answer report)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dovetail)

install(TARGETS dovetail RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
list(TRANSFORM dovetail_libraries PREPEND dovetail_ OUTPUT_VARIABLE library_targets)
install(TARGETS ${library_targets} dovetail_all EXPORT dovetail_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET dovetail_mpi)
  install(TARGETS dovetail_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dovetail)
endif()
foreach(folder IN LISTS dovetail_libraries)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dovetail FILES_MATCHING PATTERN "*.h")
endforeach()

install(EXPORT dovetail_targets NAMESPACE dovetail:: DESTINATION ${package_folder})
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dovetailConfig.cmake.in ${PROJECT_BINARY_DIR}/dovetailConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dovetailConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dovetailConfig.cmake ${PROJECT_BINARY_DIR}/dovetailConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindNettle.cmake ${CMAKE_CURRENT_LIST_DIR}/FindPCRE2.cmake ${CMAKE_CURRENT_LIST_DIR}/FindUtf8proc.cmake
  ${CMAKE_CURRENT_LIST_DIR}/PlainLibrary.cmake
  DESTINATION ${package_folder})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/dovetail)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program writes its own completions, so it must be able to run on this machine.
if(NOT CMAKE_CROSSCOMPILING)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  add_custom_command(OUTPUT ${completions}/dovetail ${completions}/_dovetail
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND dovetail completion bash > ${completions}/dovetail
    COMMAND dovetail completion zsh > ${completions}/_dovetail
    DEPENDS dovetail VERBATIM)
  add_custom_target(dovetail_completions ALL DEPENDS ${completions}/dovetail ${completions}/_dovetail)
  install(FILES ${completions}/dovetail DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_dovetail DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
