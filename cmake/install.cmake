# Installation: the library, its headers, a CMake package and a pkg-config file. Two components, so that a distribution or
# a parent project can take the shared library without what only a compiler needs.
include(CMakePackageConfigHelpers)

set(perdure_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/perdure)

set(perdure_components perdure perdure_testing)
if(TARGET perdure_determinism_guard)
  list(APPEND perdure_components perdure_determinism_guard)
endif()
install(TARGETS ${perdure_components} EXPORT perdure_targets
  RUNTIME COMPONENT perdure-runtime
  LIBRARY COMPONENT perdure-runtime NAMELINK_COMPONENT perdure-dev
  ARCHIVE COMPONENT perdure-dev
  FILE_SET HEADERS COMPONENT perdure-dev)
if(TARGET perdure_cli)
  install(TARGETS perdure_cli RUNTIME COMPONENT perdure-runtime)
endif()
install(EXPORT perdure_targets NAMESPACE perdure:: DESTINATION ${perdure_cmake_dir} COMPONENT perdure-dev)

# Exported apart, each by itself, so that a project without libpq, prometheus-cpp or spdlog can use the rest.
foreach(component IN ITEMS postgres prometheus spdlog)
  set(perdure_has_${component} OFF)
  if(TARGET perdure_${component})
    set(perdure_has_${component} ON)
    install(TARGETS perdure_${component} EXPORT perdure_${component}_targets
      RUNTIME COMPONENT perdure-runtime
      LIBRARY COMPONENT perdure-runtime NAMELINK_COMPONENT perdure-dev
      ARCHIVE COMPONENT perdure-dev
      FILE_SET HEADERS COMPONENT perdure-dev)
    install(EXPORT perdure_${component}_targets NAMESPACE perdure:: DESTINATION ${perdure_cmake_dir}
      COMPONENT perdure-dev)
  endif()
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/perdureConfig.cmake.in ${PROJECT_BINARY_DIR}/perdureConfig.cmake
  INSTALL_DESTINATION ${perdure_cmake_dir})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/perdureConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/perdureConfig.cmake ${PROJECT_BINARY_DIR}/perdureConfigVersion.cmake
  DESTINATION ${perdure_cmake_dir} COMPONENT perdure-dev)

# The .pc file finds its prefix from its own place, so that the tree can be moved. How many levels up that is depends on
# the libdir: two from lib, three from lib/<triplet> as Debian has it. An absolute libdir cannot be moved at all.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(perdure_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(perdure_pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH perdure_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" perdure_pc_to_prefix "${perdure_pc_to_prefix}")
  set(perdure_pc_prefix "\${pcfiledir}/${perdure_pc_to_prefix}")
  set(perdure_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(perdure_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(perdure_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# A static library does not bring what it uses; pkg-config is asked for that only by those who say --static, and nobody does.
get_target_property(perdure_type perdure TYPE)
set(perdure_pc_requires "nlohmann_json >= 3.11")
set(perdure_pc_libs "")
if(perdure_type STREQUAL "STATIC_LIBRARY")
  string(APPEND perdure_pc_requires ", sqlite3 >= 3.40")
  set(perdure_pc_libs " -pthread")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/perdure.pc.in ${PROJECT_BINARY_DIR}/perdure.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/perdure.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT perdure-dev)
# perdure_install_pc(<component> <what it needs> <what it is>)
function(perdure_install_pc component needs description)
  if(NOT TARGET perdure_${component})
    return()
  endif()
  set(perdure_pc_requires "perdure = ${PROJECT_VERSION}")
  if(perdure_type STREQUAL "STATIC_LIBRARY")
    string(APPEND perdure_pc_requires ", ${needs}")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/perdure-component.pc.in ${PROJECT_BINARY_DIR}/perdure-${component}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/perdure-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT perdure-dev)
endfunction()
perdure_install_pc(postgres "libpq" "The PostgreSQL store of perdure")
perdure_install_pc(prometheus "prometheus-cpp-pull" "The endpoint for Prometheus of perdure")
perdure_install_pc(spdlog "spdlog" "The log sink for spdlog of perdure")
