# Builds the shared module that `dovetail_parallel` loads on request for MPI; nothing else links MPI. Its place relative
# to the program is the same in the build and after installation.
option(DOVETAIL_MPI "Build the MPI module if MPI is found" ON)
set(module_folder ${CMAKE_INSTALL_LIBDIR}/dovetail)
file(RELATIVE_PATH module_folder_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/dovetail)

set(MPI_CXX_SKIP_MPICXX TRUE)
if(DOVETAIL_MPI)
  find_package(MPI COMPONENTS CXX)
endif()
if(DOVETAIL_MPI AND MPI_CXX_FOUND)
  set(mpi_module_was_built 1)
  add_library(dovetail_mpi MODULE ${CMAKE_CURRENT_SOURCE_DIR}/mpi/mpi_module.cpp)
  set_target_properties(dovetail_mpi PROPERTIES PREFIX "" SUFFIX .so CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${module_folder})
  target_include_directories(dovetail_mpi PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(dovetail_mpi PRIVATE dovetail_settings MPI::MPI_CXX Threads::Threads)
  target_link_options(dovetail_mpi PRIVATE LINKER:--as-needed)
  add_dependencies(dovetail_parallel dovetail_mpi)
else()
  set(mpi_module_was_built 0)
endif()

target_link_libraries(dovetail_parallel PRIVATE ${CMAKE_DL_LIBS})
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/parallel/exchange.cpp APPEND PROPERTY COMPILE_DEFINITIONS
  DOVETAIL_MODULE_FOLDER_FROM_BIN="${module_folder_from_bin}" DOVETAIL_MODULE_FOLDER="${CMAKE_INSTALL_FULL_LIBDIR}/dovetail"
  DOVETAIL_MPI_MODULE_WAS_BUILT=${mpi_module_was_built})
