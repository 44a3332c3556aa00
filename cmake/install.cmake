# Installing the libraries: a CMake package (find_package(tutti), targets tutti::core, tutti::comm, ...), a pkg-config
# file (tutti.pc, all libraries at once), and the public headers below include/tutti.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(public_headers)

# install_component(name): installs the library tutti_<name> of the calling directory.
function(install_component name)
  target_include_directories(tutti_${name} INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  install(TARGETS tutti_${name} EXPORT tutti ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  set_property(GLOBAL APPEND PROPERTY TUTTI_COMPONENTS ${name})
endfunction()

# install_package(): installs the public headers, the CMake package and the pkg-config file. Call it after the last component.
function(install_package)
  set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/tutti")
  set(TUTTI_MPI_PREFIX "")
  if(TARGET tutti_mpi_${TUTTI_MPI_FLAVOUR})
    install(TARGETS tutti_mpi_${TUTTI_MPI_FLAVOUR} EXPORT tutti)
    set(TUTTI_MPI_MODULE_openmpi ompi-c)
    set(TUTTI_MPI_MODULE_mpich mpich)
    set(TUTTI_MPI_MODULE "${TUTTI_MPI_MODULE_${TUTTI_MPI_FLAVOUR}}")
    string(TOUPPER "${TUTTI_MPI_FLAVOUR}" TUTTI_MPI_PREFIX)
  endif()
  foreach(header ${TUTTI_PUBLIC_HEADERS})
    cmake_path(GET header PARENT_PATH header_folder)
    install(FILES "${PROJECT_SOURCE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${header_folder}")
  endforeach()
  install(EXPORT tutti NAMESPACE tutti:: DESTINATION "${folder}" FILE tutti-targets.cmake)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tutti-config.cmake.in" tutti-config.cmake
                                INSTALL_DESTINATION "${folder}")
  write_basic_package_version_file(tutti-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tutti-config.cmake"
                "${CMAKE_CURRENT_BINARY_DIR}/tutti-config-version.cmake" DESTINATION "${folder}")

  get_property(components GLOBAL PROPERTY TUTTI_COMPONENTS)
  list(REVERSE components)  # link order: an archive precedes its dependencies
  list(TRANSFORM components PREPEND "-ltutti_")
  list(JOIN components " " TUTTI_LIBRARIES)
  file(RELATIVE_PATH TUTTI_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in" tutti.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tutti.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()
