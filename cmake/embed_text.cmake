# embed_text(TARGET GROUP FILES...)
#
# Makes text files (.sql, .lua) available to C++ as constants. Generates the header "embedded/GROUP.h":
#
#   namespace drover::embedded {
#   inline constexpr std::string_view schema_sql = ...;   // the text of schema.sql
#   }
#
# In SQL, {pending} is the number of that state: TaskState is the one place that says it.
# One constant per file, named after the file with '.' and '-' as '_'. Editing a file rebuilds what includes the header.
# When FILES is empty nothing is generated.
# The target embedded_texts makes all headers, for tools that read sources without building.
add_custom_target(embedded_texts)

function(embed_text target group)
  if(NOT ARGN)
    return()
  endif()
  set(states_header ${CMAKE_SOURCE_DIR}/include/drover/task.h)
  set(header ${CMAKE_BINARY_DIR}/generated/embedded/${group}.h)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} "-DFILES=${ARGN}" -DSTATES_HEADER=${states_header}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_text_script.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_text_script.cmake ${states_header}
    COMMENT "Embedding ${group} texts"
    VERBATIM)
  add_custom_target(embedded_${group} DEPENDS ${header})
  add_dependencies(embedded_texts embedded_${group})
  target_sources(${target} PRIVATE ${header})
endfunction()
