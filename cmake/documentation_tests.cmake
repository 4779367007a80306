# Tests of the documents: their C++ compiles, their links and commands lead somewhere, and the README can be followed.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

set(perdure_documents ${PROJECT_SOURCE_DIR}/tests/docs)

# perdure_add_documents_test(<name> <script> <argument>...)
function(perdure_add_documents_test name script)
  add_test(NAME docs.${name} COMMAND ${Python3_EXECUTABLE} ${perdure_documents}/${script} ${ARGN} COMMAND_EXPAND_LISTS)
  set_tests_properties(docs.${name} PROPERTIES LABELS docs TIMEOUT 600 ENVIRONMENT "LC_ALL=C.UTF-8;PYTHONDONTWRITEBYTECODE=1")
endfunction()

perdure_add_documents_test(self_test self_test.py)

# With the flags of what must compile (compile_tests.cmake), except that a fragment shows more than it uses. g++ takes what
# a #line directive places in another file for a header.
set(perdure_block_options -Wno-unused)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND perdure_block_options -Wno-subobject-linkage)
endif()
perdure_add_documents_test(blocks blocks.py --root ${PROJECT_SOURCE_DIR} --work ${PROJECT_BINARY_DIR}/docs/blocks
  -- ${perdure_compile_command} ${perdure_block_options})

if(TARGET perdure_cli)
  set(perdure_program --perdure $<TARGET_FILE:perdure_cli>)
endif()
perdure_add_documents_test(references references.py --root ${PROJECT_SOURCE_DIR} ${perdure_program})

# `make demo` in the tree that it is about, which is built already: another tree would compile the library once more.
if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build/release")
  # The variables are those of the make that may have started this run.
  add_test(NAME docs.make_demo WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMAND ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MFLAGS --unset=MAKELEVEL make demo)
  set_tests_properties(docs.make_demo PROPERTIES LABELS docs TIMEOUT 600 RUN_SERIAL ON)
endif()

# What the README tells a user to do, with the library as packaging_tests.cmake installs it.
if(TEST packaging.install)
  perdure_add_documents_test(readme readme.py --root ${PROJECT_SOURCE_DIR} --work ${PROJECT_BINARY_DIR}/docs/readme)
  set_tests_properties(docs.readme PROPERTIES FIXTURES_REQUIRED perdure_installed
    ENVIRONMENT_MODIFICATION "CMAKE_PREFIX_PATH=set:${perdure_prefix};CXX=set:${CMAKE_CXX_COMPILER}")
endif()
