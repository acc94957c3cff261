# registry(<header> <file>...): the file name is the registration. Writes one X(<stem>) line per
# file to <header> in the build tree; the table that includes it expands X twice (declare, list). A
# file that does not define the expected symbol fails to link with that symbol's name.
function(registry header)
  set(lines "")
  list(SORT ARGN)
  foreach(file IN LISTS ARGN)
    get_filename_component(stem ${file} NAME_WE)
    string(REGEX REPLACE "^(cmd|import)_" "" stem ${stem})
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol ${stem})
    string(APPEND lines "X(${symbol})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${header} CONTENT "${lines}" @ONLY)
endfunction()

# embed(<target> <symbol> <file>): the file's bytes as `const unsigned char <symbol>[]`
# (NUL-terminated) and `const size_t <symbol>_size`. C17 has no #embed.
function(embed target symbol file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embed_${symbol}.c)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${source} -DSYMBOL=${symbol}
            -P ${CMAKE_SOURCE_DIR}/ci/cmake/embed.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/ci/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
