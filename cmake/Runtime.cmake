# src/runtime, a leaf, and dovetail-train, the only program that links libtorch. All else builds without.
option(DOVETAIL_RUNTIME "Build dovetail-train where libtorch is found" ON)
set(DOVETAIL_TORCH_VERSION "")
if(DOVETAIL_RUNTIME)
  find_package(Libtorch)
endif()
if(Libtorch_FOUND)
  # The headers of libtorch 1.13 are none for clang in C++20.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES Libtorch::Libtorch)
  set(CMAKE_REQUIRED_FLAGS "-std=c++20 ${CMAKE_CXX_FLAGS}")
  set(CMAKE_REQUIRED_DEFINITIONS -DAT_PER_OPERATOR_HEADERS)
  check_cxx_source_compiles("#include <ATen/core/Tensor.h>
    #include <ATen/ops/mm.h>
    int main() { return at::mm(at::Tensor(), at::Tensor()).sum().item<float>() > 0; }" DOVETAIL_TORCH_COMPILES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT DOVETAIL_TORCH_COMPILES)
    message(STATUS "dovetail-train is not built: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} does not take the headers of libtorch ${Libtorch_VERSION}")
  endif()
endif()

if(DOVETAIL_TORCH_COMPILES)
  set(DOVETAIL_TORCH_VERSION ${Libtorch_VERSION})
  dovetail_library(runtime USES dovetail::cli dovetail::records dovetail::batching dovetail::kernels Libtorch::Libtorch
    PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> fmt::fmt ${CMAKE_DL_LIBS})
  target_compile_definitions(dovetail_runtime PUBLIC AT_PER_OPERATOR_HEADERS)
  add_executable(dovetail_train ${CMAKE_CURRENT_SOURCE_DIR}/runtime/main.cpp)
  set_target_properties(dovetail_train PROPERTIES OUTPUT_NAME dovetail-train)
  target_link_libraries(dovetail_train PRIVATE dovetail_settings dovetail::runtime fmt::fmt)
endif()
