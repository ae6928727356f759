# One precompiled header for src/ and one, with GoogleTest, for tests/. All targets reuse these two: precompiling per
# target costs more than it saves. Flags are the same for the whole tree (flags.cmake), which reuse requires.
function(drover_add_precompiled owner header)
  if(NOT DROVER_PCH)
    return()
  endif()
  set(empty ${CMAKE_BINARY_DIR}/generated/${owner}.cc)
  if(NOT EXISTS ${empty})
    file(WRITE ${empty} "")
  endif()
  add_library(${owner} OBJECT ${empty})
  target_link_libraries(${owner} PRIVATE ${ARGN})
  target_precompile_headers(${owner} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
endfunction()

# Uses the precompiled header named by the variable DROVER_PCH_OWNER of the calling directory.
function(drover_use_precompiled target)
  get_target_property(type ${target} TYPE)
  if(DROVER_PCH AND NOT type STREQUAL "INTERFACE_LIBRARY")
    target_precompile_headers(${target} REUSE_FROM ${DROVER_PCH_OWNER})
  endif()
endfunction()
