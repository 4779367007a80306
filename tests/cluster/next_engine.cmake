# perdure_worker_next_child: the worker of the cluster tests with the engine that comes after this one, for the tests of
# upgrades. It has a later version and a kind of event that this one cannot read. Two sources know of that; they are
# compiled a second time into the program itself, so that the library's own are not linked.
math(EXPR perdure_next_minor "${PROJECT_VERSION_MINOR} + 1")
set(perdure_next_version ${PROJECT_VERSION_MAJOR}.${perdure_next_minor}.0)
add_executable(perdure_worker_next_child cluster/worker_child.cpp
  ${PROJECT_SOURCE_DIR}/src/model/version.cpp ${PROJECT_SOURCE_DIR}/src/model/event_codec.cpp)
set_target_properties(perdure_worker_next_child PROPERTIES CXX_EXTENSIONS OFF)
target_include_directories(perdure_worker_next_child PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(perdure_worker_next_child PRIVATE
  PERDURE_NEXT_ENGINE PERDURE_VERSION="${perdure_next_version}")
target_link_libraries(perdure_worker_next_child PRIVATE
  perdure::perdure perdure::testing perdure_postgres_test_support perdure_development)
target_compile_options(perdure_worker_next_child PRIVATE ${perdure_test_options})
target_precompile_headers(perdure_worker_next_child REUSE_FROM perdure_test_headers)

add_dependencies(perdure_cluster_tests perdure_worker_next_child)
target_compile_definitions(perdure_cluster_tests PRIVATE
  PERDURE_NEXT_VERSION="${perdure_next_version}"
  PERDURE_WORKER_NEXT_CHILD="$<TARGET_FILE:perdure_worker_next_child>")
