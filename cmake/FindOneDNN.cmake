# Defines OneDNN::OneDNN, for matrix products of dovetail-train. This is the oneDNN that libtorch uses, so both share
# one thread pool. Debian's libtorch-dev provides it; a wheel's libtorch hides its own.
include(FindPackageHandleStandardArgs)
find_library(OneDNN_LIBRARY NAMES dnnl libdnnl.so.3 libdnnl.so.2
  PATHS ${Libtorch_FOLDER}/lib ${Libtorch_FOLDER}/lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH NO_CACHE)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY)
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY})
endif()
