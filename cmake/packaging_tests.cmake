# Tests of being used by others: install into the build tree, then build and run tests/consumer with find_package, with
# pkg-config, and with the source as a subproject.
find_package(PkgConfig REQUIRED)

set(perdure_packaging_dir ${PROJECT_BINARY_DIR}/packaging)
set(perdure_prefix ${perdure_packaging_dir}/prefix)
set(perdure_consumer ${PROJECT_SOURCE_DIR}/tests/consumer)

# What an earlier run installed goes first: a file that is no longer installed must be missed.
add_test(NAME packaging.clean COMMAND ${CMAKE_COMMAND} -E rm -rf ${perdure_prefix})
add_test(NAME packaging.install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${perdure_prefix})
set_tests_properties(packaging.clean PROPERTIES LABELS packaging FIXTURES_SETUP perdure_prefix)
set_tests_properties(packaging.install PROPERTIES
  LABELS packaging FIXTURES_REQUIRED perdure_prefix FIXTURES_SETUP perdure_installed)

function(perdure_add_packaging_test how)
  add_test(NAME packaging.${how} COMMAND ${CMAKE_COMMAND}
    -DHOW=${how} -DSOURCE=${perdure_consumer} -DBINARY=${perdure_packaging_dir}/${how}
    -DPREFIX=${perdure_prefix} -DLIBDIR=${CMAKE_INSTALL_LIBDIR} -DPERDURE_SOURCE=${PROJECT_SOURCE_DIR}
    -DVERSION=${PROJECT_VERSION} -DWANTED=${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    -DCXX=${CMAKE_CXX_COMPILER} -DCXX_FLAGS=${CMAKE_CXX_FLAGS} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
    -DBUILD_TYPE=${CMAKE_BUILD_TYPE} -DGENERATOR=${CMAKE_GENERATOR} -DPKG_CONFIG=${PKG_CONFIG_EXECUTABLE}
    -P ${perdure_consumer}/run.cmake)
  set_tests_properties(packaging.${how} PROPERTIES LABELS packaging TIMEOUT 900)
endfunction()

perdure_add_packaging_test(find_package)
perdure_add_packaging_test(pkg_config)
set_tests_properties(packaging.find_package packaging.pkg_config PROPERTIES FIXTURES_REQUIRED perdure_installed)
perdure_add_packaging_test(add_subdirectory)
set_tests_properties(packaging.add_subdirectory PROPERTIES PROCESSORS 2)  # it compiles the library
