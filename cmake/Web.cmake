# Bundles the page of the HTML report (web/) with esbuild and adds it to dovetail_report.
find_program(ESBUILD_PROGRAM esbuild)
if(NOT ESBUILD_PROGRAM)
  message(FATAL_ERROR "esbuild, which bundles the script of the HTML report, was not found. Install the Debian or Ubuntu package `esbuild` "
    "(tools/setup build does), or set ESBUILD_PROGRAM to its path.")
endif()
set(web ${PROJECT_SOURCE_DIR}/web)
file(GLOB web_sources CONFIGURE_DEPENDS ${web}/src/*.ts)
set(web_script ${CMAKE_CURRENT_BINARY_DIR}/report.js)
set(web_style ${CMAKE_CURRENT_BINARY_DIR}/report.css)
set(embedded_web ${CMAKE_CURRENT_BINARY_DIR}/html_parts.cpp)
add_custom_command(OUTPUT ${embedded_web}
  COMMAND ${ESBUILD_PROGRAM} ${web}/src/main.ts --bundle --minify --target=es2020 --log-level=warning --outfile=${web_script}
  COMMAND ${ESBUILD_PROGRAM} ${web}/report.css --minify --log-level=warning --outfile=${web_style}
  COMMAND ${CMAKE_COMMAND} -DTEMPLATE=${web}/index.html -DSTYLE=${web_style} -DSCRIPT=${web_script} -DOUTPUT=${embedded_web}
    -P ${PROJECT_SOURCE_DIR}/cmake/EmbedWeb.cmake
  DEPENDS ${web_sources} ${web}/index.html ${web}/report.css ${web}/tsconfig.json ${PROJECT_SOURCE_DIR}/cmake/EmbedWeb.cmake VERBATIM)
target_sources(dovetail_report PRIVATE ${embedded_web})
