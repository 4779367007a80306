# perdure_storm: all faults at once, for `make storm` and, in short, for the tests.
file(GLOB perdure_storm_sources CONFIGURE_DEPENDS cluster/storm/*.cpp)
add_executable(perdure_storm ${perdure_storm_sources})
set_target_properties(perdure_storm PROPERTIES CXX_EXTENSIONS OFF)
target_include_directories(perdure_storm PRIVATE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/bench ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(perdure_storm PRIVATE
  perdure::perdure perdure::testing perdure_postgres_test_support perdure_development)
target_compile_options(perdure_storm PRIVATE ${perdure_test_options})
target_precompile_headers(perdure_storm REUSE_FROM perdure_test_headers)

add_dependencies(perdure_cluster_tests perdure_storm)
target_compile_definitions(perdure_cluster_tests PRIVATE PERDURE_STORM="$<TARGET_FILE:perdure_storm>")
