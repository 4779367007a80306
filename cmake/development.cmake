# perdure_development: the warnings and sanitizers that our own targets compile with. It is linked as a build interface
# only, so that a project which uses the library inherits none of it.
add_library(perdure_development INTERFACE)

target_compile_options(perdure_development INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion -Wsign-conversion
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>
  $<$<BOOL:${PERDURE_WERROR}>:-Werror>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It sees overlapping copies inside std::string where there are none (GCC PR 105329, PR 105651; gone in 13).
  target_compile_options(perdure_development INTERFACE -Wno-restrict)
endif()

set(perdure_sanitizers ${PERDURE_SANITIZE})
if(PERDURE_BUILD_FUZZERS)
  list(APPEND perdure_sanitizers fuzzer-no-link)  # coverage feedback from the library; fuzz/ links the driver itself
endif()
if(perdure_sanitizers)
  list(JOIN perdure_sanitizers "," perdure_sanitizer_list)
  target_compile_options(perdure_development INTERFACE -fsanitize=${perdure_sanitizer_list} -fno-omit-frame-pointer)
  target_link_options(perdure_development INTERFACE -fsanitize=${perdure_sanitizer_list})
  if("undefined" IN_LIST perdure_sanitizers)
    # A report that lets the program go on is a report that a test does not see.
    target_compile_options(perdure_development INTERFACE -fno-sanitize-recover=all)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 17)
      # Its function sanitizer cannot emit coroutines: "Cannot represent a difference across sections".
      target_compile_options(perdure_development INTERFACE -fno-sanitize=function)
    endif()
  endif()
endif()

# perdure_unite(<target> [<source that stays alone>...]): several sources of a library as one, if that is asked for. The
# names in their anonymous namespaces must differ then.
function(perdure_unite target)
  if(NOT PERDURE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # which takes an included source for a header
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()
