# Builds and runs the consumer in one of three ways: cmake -DHOW=find_package|add_subdirectory|pkg_config ... -P run.cmake
# The caller is cmake/packaging_tests.cmake, which sets every variable used here.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(HOW STREQUAL "pkg_config")
  # The way of a user without CMake: one command line.
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --modversion perdure
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "perdure.pc says version ${version}, not ${VERSION}")
  endif()
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs perdure
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(CXX_FLAGS UNIX_COMMAND "${CXX_FLAGS}")
  file(MAKE_DIRECTORY ${BINARY})
  run(${CXX} -std=c++20 ${CXX_FLAGS} ${SOURCE}/main.cpp -o ${BINARY}/consumer ${flags})
  run(${CXX} -std=c++20 -shared -fPIC ${CXX_FLAGS} ${SOURCE}/plugin.cpp -o ${BINARY}/libplugin.so ${flags})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs perdure-postgres
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} -std=c++20 ${CXX_FLAGS} ${SOURCE}/postgres.cpp -o ${BINARY}/postgres_consumer ${flags})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs perdure-prometheus perdure-spdlog
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} -std=c++20 ${CXX_FLAGS} ${SOURCE}/observe.cpp -o ${BINARY}/observe_consumer ${flags})
  set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})  # for BUILD_SHARED_LIBS
else()
  set(arguments -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  if(HOW STREQUAL "find_package")
    list(APPEND arguments -DCMAKE_PREFIX_PATH=${PREFIX} -DPERDURE_WANTED=${WANTED})
  elseif(HOW STREQUAL "add_subdirectory")
    # It compiles the whole library, and only to see that it can.
    list(APPEND arguments -DPERDURE_SOURCE=${PERDURE_SOURCE} -DCMAKE_BUILD_TYPE=Debug -DPERDURE_UNITY_BUILD=ON)
  else()
    message(FATAL_ERROR "HOW is '${HOW}'; it must be find_package, add_subdirectory or pkg_config")
  endif()
  # --fresh: a cache from an earlier run would answer for defaults that have changed since.
  run(${CMAKE_COMMAND} --fresh -S ${SOURCE} -B ${BINARY} -G ${GENERATOR} ${arguments})
  run(${CMAKE_COMMAND} --build ${BINARY} --parallel 2)
endif()

execute_process(COMMAND ${BINARY}/consumer OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
string(FIND "${output}" "${VERSION}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "the consumer did not print version ${VERSION}")
endif()

if(NOT HOW STREQUAL "add_subdirectory")  # where the components are off unless somebody asks for them
  execute_process(COMMAND ${BINARY}/postgres_consumer OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "postgres: .*check that the server runs")
    message(FATAL_ERROR "the consumer of perdure::postgres printed: ${output}")
  endif()
  execute_process(COMMAND ${BINARY}/observe_consumer OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "prometheus: listens.*spdlog: .*needs a logger")
    message(FATAL_ERROR "the consumer of perdure::prometheus and perdure::spdlog printed: ${output}")
  endif()
endif()

if(HOW STREQUAL "find_package")
  execute_process(COMMAND ${BINARY}/toolchain_consumer OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "toolchain: works")
    message(FATAL_ERROR "the consumer with other flags printed: ${output}")
  endif()
endif()
