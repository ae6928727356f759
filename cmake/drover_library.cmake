# drover_library(NAME DEPENDS TARGETS...)
#
# The library of the current folder, from every .cc beneath it. DEPENDS names the layers and packages that it may use;
# they are public because a layer's headers speak the types of the layers beneath it. A folder without sources is an
# interface library, so that the layers above it still configure. BATCH: how many small files over the same large
# headers are compiled as one; they share unnamed namespaces then.
function(drover_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BATCH" "DEPENDS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(sources)
    add_library(${name} STATIC ${sources})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME drover_${name})
    if(arg_BATCH)
      set_target_properties(${name} PROPERTIES UNITY_BUILD ${DROVER_UNITY} UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
    endif()
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
                             ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} ${scope} ${arg_DEPENDS})
  drover_use_precompiled(${name})
endfunction()

# Moves symbols and debug information of a release into NAME.debug beside it, where debuggers look for them.
function(drover_split_debug name)
  if(DROVER_SPLIT_DEBUG)
    set(program $<TARGET_FILE:${name}>)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug ${program} ${program}.debug
      COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=${program}.debug ${program}
      VERBATIM)
  endif()
endfunction()

# drover_executable(NAME SOURCES... LINK TARGETS...)
#
# Nothing when there are no sources yet: callers ask `if(TARGET name)`.
function(drover_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(NOT arg_SOURCES)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  drover_use_precompiled(${name})
endfunction()
