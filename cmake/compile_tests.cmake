# Tests of what the compiler says to a user. Every file in tests/must_not_compile starts with
#
#   // expect: <regular expression that the diagnostics must match>
#   // only: GNU<13                             (optional: GNU, Clang, and a version behind < or >=)
#
# and passes when it is refused with those words. Every file in tests/must_compile must be accepted: the guards must not
# refuse what is right. Its `only` line, if it has one, comes first. A file whose first line is "// alone" includes the
# library by itself, because something has to stand before it.
set(perdure_compile_command
  ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Werror -fdiagnostics-color=never
  "-I$<JOIN:$<TARGET_PROPERTY:perdure,INTERFACE_INCLUDE_DIRECTORIES>,$<SEMICOLON>-I>")

# Reading the library's headers takes longer than everything else in such a test, so they are compiled once.
set(perdure_compile_headers ${PROJECT_BINARY_DIR}/compile_tests/headers.h)
file(CONFIGURE OUTPUT ${perdure_compile_headers} CONTENT "#include <perdure/json.h>\n#include <perdure/perdure.h>\n")
set(perdure_precompile_command ${perdure_compile_command})
list(REMOVE_ITEM perdure_precompile_command -fsyntax-only)
set(extension gch)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(extension pch)
endif()
add_test(NAME compile.headers COMMAND ${perdure_precompile_command} -x c++-header ${perdure_compile_headers}
  -o ${perdure_compile_headers}.${extension} COMMAND_EXPAND_LISTS)
set_tests_properties(compile.headers PROPERTIES LABELS compile TIMEOUT 120 FIXTURES_SETUP perdure_compile_headers)

# Sets `result` to whether the compiler in use is the one that an `only` line asks for.
function(perdure_compiler_matches only file result)
  if(NOT only MATCHES "^(GNU|Clang)((<|>=)([0-9.]+))?$")
    message(FATAL_ERROR "${file}: cannot read '// only: ${only}'; write GNU, Clang, GNU<13 or Clang>=19")
  endif()
  set(id ${CMAKE_MATCH_1})
  set(operator "${CMAKE_MATCH_3}")
  set(version "${CMAKE_MATCH_4}")
  set(matches FALSE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL id)
    if(operator STREQUAL "")
      set(matches TRUE)
    elseif(operator STREQUAL "<" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS version)
      set(matches TRUE)
    elseif(operator STREQUAL ">=" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL version)
      set(matches TRUE)
    endif()
  endif()
  set(${result} ${matches} PARENT_SCOPE)
endfunction()

function(perdure_add_compile_test folder file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})  # its first lines are read here
  file(READ ${file} head LIMIT 4096)
  set(expect "")
  if(folder STREQUAL "must_not_compile")
    if(NOT head MATCHES "^// expect: ([^\n]+)\n(.*)")
      message(FATAL_ERROR "${file}: the first line must be '// expect: <regular expression>'")
    endif()
    set(expect "${CMAKE_MATCH_1}")
    set(head "${CMAKE_MATCH_2}")
  endif()
  if(head MATCHES "^// only: ([^\n]+)\n")
    perdure_compiler_matches("${CMAKE_MATCH_1}" ${file} applies)
    if(NOT applies)
      return()
    endif()
  endif()

  cmake_path(GET file STEM name)
  set(test ${folder}.${name})
  set(headers -include ${perdure_compile_headers})
  if(head MATCHES "^// alone\n")
    set(headers "")
  endif()
  add_test(NAME ${test} COMMAND ${perdure_compile_command} ${headers} ${file} COMMAND_EXPAND_LISTS)
  set_tests_properties(${test} PROPERTIES LABELS compile TIMEOUT 120 ENVIRONMENT LC_ALL=C
    FIXTURES_REQUIRED perdure_compile_headers)
  if(NOT expect STREQUAL "")
    set_tests_properties(${test} PROPERTIES PASS_REGULAR_EXPRESSION "${expect}")
  endif()
endfunction()

foreach(folder IN ITEMS must_not_compile must_compile)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  foreach(file IN LISTS files)
    perdure_add_compile_test(${folder} ${file})
  endforeach()
endforeach()
