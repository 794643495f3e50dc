# Writes OUTPUT, a C++ source with a function TRAINER_NAME_defaults() in dovetail::trainers for each file of FOLDER.
# Usage: cmake -DTRAINER=... -DFOLDER=... -DOUTPUT=... -P.
file(GLOB files ${FOLDER}/*.yaml)
set(source "// Generated from the files of src/trainers/${TRAINER}/defaults by cmake/EmbedTexts.cmake.\n#include \"trainers/${TRAINER}/${TRAINER}.h\"\n\nnamespace dovetail::trainers {\n\n")
foreach(path IN LISTS files)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} content)
  string(APPEND source "std::string_view ${TRAINER}_${name}_defaults() {\n  return R\"yaml(${content})yaml\";\n}\n\n")
endforeach()
string(APPEND source "}  // namespace dovetail::trainers\n")
file(WRITE ${OUTPUT} "${source}")
