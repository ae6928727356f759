# embed_dashboard(TARGET)
#
# Builds web/ and compiles what comes out into TARGET: drover::server::embedded_dashboard() (src/server/dashboard.h). Without
# DROVER_DASHBOARD, or without web/, there are no files in it, and the server says so.
#
# Nothing is written to the source tree: packages and output are in the build folder, under web/. They are made again when
# package-lock.json or a source of web/ changes. docs/internals/server.md has what `npm run build` is expected to write.
set(DROVER_WEB_DIR ${CMAKE_SOURCE_DIR}/web CACHE PATH "The sources of the dashboard")
mark_as_advanced(DROVER_WEB_DIR)

# Fails when Node or npm is missing or too old.
function(drover_need_node)
  find_program(NODE_PROGRAM node)
  find_program(NPM_PROGRAM npm)
  mark_as_advanced(NODE_PROGRAM NPM_PROGRAM)
  set(version 0)
  if(NODE_PROGRAM)
    execute_process(COMMAND ${NODE_PROGRAM} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REGEX REPLACE "^v" "" version "${version}")
  endif()
  if(NOT NPM_PROGRAM OR version VERSION_LESS 18)
    message(FATAL_ERROR "The dashboard needs Node 18 or later and npm (./dev installs them). "
                        "To build without it, configure with -DDROVER_DASHBOARD=OFF.")
  endif()
endfunction()

function(embed_dashboard target)
  set(folder ${CMAKE_BINARY_DIR}/web)
  set(source ${CMAKE_BINARY_DIR}/generated/dashboard_files.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/dashboard_script.cmake)
  set(inputs ${script})
  set(arguments -DOUTPUT=${source})
  if(DROVER_DASHBOARD AND EXISTS ${DROVER_WEB_DIR}/package.json)
    drover_need_node()
    set(installed ${folder}/installed)
    add_custom_command(
      OUTPUT ${installed}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${CMAKE_COMMAND} -E copy ${DROVER_WEB_DIR}/package.json ${DROVER_WEB_DIR}/package-lock.json ${folder}
      COMMAND ${NPM_PROGRAM} ci --prefix ${folder} --no-audit --no-fund --silent
      COMMAND ${CMAKE_COMMAND} -E touch ${installed}
      DEPENDS ${DROVER_WEB_DIR}/package.json ${DROVER_WEB_DIR}/package-lock.json
      COMMENT "Installing what the dashboard is built with"
      VERBATIM)
    file(GLOB files CONFIGURE_DEPENDS LIST_DIRECTORIES false ${DROVER_WEB_DIR}/*)
    file(GLOB_RECURSE more CONFIGURE_DEPENDS ${DROVER_WEB_DIR}/src/* ${DROVER_WEB_DIR}/tools/* ${DROVER_WEB_DIR}/public/*)
    list(APPEND inputs ${installed} ${files} ${more})
    list(APPEND arguments -DWEB=${DROVER_WEB_DIR} -DFOLDER=${folder} -DNPM=${NPM_PROGRAM})
  elseif(DROVER_DASHBOARD)
    message(STATUS "There is no ${DROVER_WEB_DIR}: building without the dashboard")
  endif()
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} ${arguments} -P ${script}
    DEPENDS ${inputs}
    COMMENT "Building the dashboard"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
