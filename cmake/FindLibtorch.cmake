# Defines Libtorch::Libtorch for dovetail-train: libtorch_cpu and libc10 with their headers, and the CUDA libraries if
# DOVETAIL_CUDA is on.
#
# Searches, in this order, the path DOVETAIL_TORCH (a torch folder of a Python, an unpacked libtorch, or a prefix such
# as /usr), the active Python's torch (2.7 or newer), and the system's. Does not use torch's own CMake package, which
# requires a CUDA toolkit if the wheel has CUDA and links every library.
#
# With DOVETAIL_CUDA, also defines Libtorch::Nccl if the headers of NCCL and CUDA that c10d's headers include are found:
# those of the Python packages next to torch, otherwise the system's.
#
# Sets Libtorch_VERSION, Libtorch_FOLDER, and, if no usable libtorch is found, Libtorch_REASON.
set(DOVETAIL_TORCH "" CACHE PATH "libtorch to use: a torch folder of a Python, an unpacked libtorch, or a prefix")
option(DOVETAIL_CUDA "Link the CUDA libraries of libtorch" OFF)

# Returns the version in a libtorch's headers, or an empty string.
function(libtorch_version folder result)
  set(${result} "" PARENT_SCOPE)
  # The file moved: torch 2.10 and newer have the first one.
  set(header ${folder}/include/torch/headeronly/version.h)
  if(NOT EXISTS ${header})
    set(header ${folder}/include/torch/csrc/api/include/torch/version.h)
  endif()
  if(NOT EXISTS ${header})
    return()
  endif()
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${header} line REGEX "define TORCH_VERSION_${part} " LIMIT_COUNT 1)
    string(REGEX REPLACE ".* " "" ${part} "${line}")
  endforeach()
  set(${result} ${MAJOR}.${MINOR}.${PATCH} PARENT_SCOPE)
endfunction()

# Finds the torch folder of the active Python without importing torch, which takes seconds and may load CUDA.
function(libtorch_of_python result)
  set(${result} "" PARENT_SCOPE)
  # Searched for every time, because the active environment may have changed.
  find_program(active_python NAMES python3 python NO_CACHE)
  if(NOT active_python)
    return()
  endif()
  execute_process(COMMAND ${active_python} -c
    "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '', end='')"
    OUTPUT_VARIABLE folder ERROR_QUIET)
  libtorch_version("${folder}" version)
  if(folder AND version VERSION_GREATER_EQUAL 2.7)
    set(${result} ${folder} PARENT_SCOPE)
  elseif(folder AND NOT folder MATCHES "^/usr/lib")
    message(STATUS "ignoring torch ${version} of the active Python in ${folder}: 2.7 or newer is required")
  endif()
endfunction()

set(libtorch_folder "${DOVETAIL_TORCH}")
if(NOT libtorch_folder)
  libtorch_of_python(libtorch_folder)
endif()
if(NOT libtorch_folder)
  set(libtorch_folder /usr)
endif()

libtorch_version("${libtorch_folder}" Libtorch_VERSION)
unset(Libtorch_REASON)
set(libtorch_found)
if(NOT Libtorch_VERSION)
  set(Libtorch_REASON "no libtorch in ${libtorch_folder}")
else()
  set(libtorch_names torch_cpu c10)
  if(DOVETAIL_CUDA)
    list(APPEND libtorch_names torch_cuda c10_cuda)
    if(Libtorch_VERSION VERSION_LESS 2.9)
      set(Libtorch_REASON "libtorch ${Libtorch_VERSION} in ${libtorch_folder} is too old for DOVETAIL_CUDA: 2.9 or newer is required")
    endif()
  endif()
  foreach(name IN LISTS libtorch_names)
    find_library(library_${name} ${name} PATHS ${libtorch_folder}/lib ${libtorch_folder}/lib/${CMAKE_LIBRARY_ARCHITECTURE}
      NO_DEFAULT_PATH NO_CACHE)
    if(NOT library_${name})
      set(Libtorch_REASON "libtorch ${Libtorch_VERSION} in ${libtorch_folder} has no lib${name}.so")
    endif()
    list(APPEND libtorch_found ${library_${name}})
  endforeach()
endif()

# The interfaces of our other libraries use the std::string of GCC's C++11 ABI, so libtorch must use it as well.
if(NOT Libtorch_REASON)
  file(STRINGS ${library_c10} symbols REGEX "__cxx11" LIMIT_COUNT 1)
  if(NOT symbols)
    message(FATAL_ERROR "The torch in ${libtorch_folder} (${Libtorch_VERSION}) was built with the old C++ ABI "
      "(_GLIBCXX_USE_CXX11_ABI=0), unlike all other libraries here. Accepted: a torch of 2.7 or newer, a libtorch \"cxx11 ABI\", "
      "or Debian's libtorch-dev; name its folder with -DDOVETAIL_TORCH=FOLDER.")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch REQUIRED_VARS libtorch_found VERSION_VAR Libtorch_VERSION REASON_FAILURE_MESSAGE "${Libtorch_REASON}")
if(Libtorch_FOUND AND NOT Libtorch_REASON AND NOT TARGET Libtorch::Libtorch)
  add_library(Libtorch::Libtorch INTERFACE IMPORTED)
  # Only its own headers: a wheel also contains headers of other libraries, such as a different fmt.
  set(libtorch_headers ${CMAKE_BINARY_DIR}/libtorch)
  file(MAKE_DIRECTORY ${libtorch_headers})
  foreach(part ATen c10 caffe2 torch)
    file(REMOVE ${libtorch_headers}/${part})
    file(CREATE_LINK ${libtorch_folder}/include/${part} ${libtorch_headers}/${part} SYMBOLIC)
  endforeach()
  foreach(header algorithm common/error context rendezvous/store transport/device)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/gloo.h ${libtorch_headers}/gloo/${header}.h COPYONLY)
  endforeach()
  # System headers, to silence their warnings. A wheel's libraries find their dependencies when they are loaded; the
  # linker does not see them.
  target_include_directories(Libtorch::Libtorch SYSTEM INTERFACE ${libtorch_headers} ${libtorch_headers}/torch/csrc/api/include)
  # Keeps the CUDA library, which takes effect when it is loaded: no symbol of it is referenced.
  target_link_libraries(Libtorch::Libtorch INTERFACE -Wl,--push-state,--no-as-needed ${libtorch_found} -Wl,--pop-state)
  target_link_options(Libtorch::Libtorch INTERFACE LINKER:--allow-shlib-undefined)
  set(Libtorch_FOLDER ${libtorch_folder})
  message(STATUS "libtorch ${Libtorch_VERSION} in ${libtorch_folder}")
endif()

if(TARGET Libtorch::Libtorch AND DOVETAIL_CUDA AND NOT TARGET Libtorch::Nccl)
  file(GLOB libtorch_packages ${libtorch_folder}/../nvidia/*)
  set(libtorch_cuda_headers)
  foreach(header nccl.h cuda_runtime.h crt/host_config.h cublas_v2.h cusparse.h cusolverDn.h)
    find_path(libtorch_${header} ${header} HINTS ${libtorch_packages} PATH_SUFFIXES include PATHS /usr/local/cuda NO_CACHE)
    list(APPEND libtorch_cuda_headers ${libtorch_${header}})
  endforeach()
  file(GLOB libtorch_cudart ${libtorch_folder}/../nvidia/*/lib/libcudart.so.*)
  if(NOT libtorch_cudart)
    unset(libtorch_cudart)
    find_library(libtorch_cudart cudart PATHS /usr/local/cuda/lib64 NO_CACHE)
  endif()
  if(libtorch_cuda_headers MATCHES NOTFOUND OR NOT libtorch_cudart)
    message(STATUS "no NCCL for ranks on GPUs: headers of NCCL and CUDA (including nvidia-cuda-crt) or libcudart are missing")
  else()
    list(REMOVE_DUPLICATES libtorch_cuda_headers)
    add_library(Libtorch::Nccl INTERFACE IMPORTED)
    target_include_directories(Libtorch::Nccl SYSTEM INTERFACE ${libtorch_cuda_headers})
    target_link_libraries(Libtorch::Nccl INTERFACE Libtorch::Libtorch ${libtorch_cudart})
  endif()
endif()
