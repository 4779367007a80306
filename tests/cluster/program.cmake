# The tests of `perdure torture` on PostgreSQL run the program.
if(TARGET perdure_cli)
  add_dependencies(perdure_cluster_tests perdure_cli)
  target_compile_definitions(perdure_cluster_tests PRIVATE PERDURE_PROGRAM="$<TARGET_FILE:perdure_cli>")
endif()
