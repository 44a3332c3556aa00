# Installing the libraries: a CMake package (find_package(tutti), targets tutti::core, tutti::comm, ...), a pkg-config
# file (tutti.pc, all libraries at once), and the headers below include/tutti without the private ones.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# install_component(name [NONE | a.h ...]): the library tutti_<name> of the calling folder with these headers, by default
# all that are not private.
function(install_component name)
  if(ARGN)
    set(headers ${ARGN})
    list(REMOVE_ITEM headers NONE)
  else()
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "*.h")
    list(FILTER headers EXCLUDE REGEX "/internal/|/test_[^/]*$")
  endif()
  target_sources(tutti_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
  install(TARGETS tutti_${name} EXPORT tutti ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" FILE_SET HEADERS)
  set_property(GLOBAL APPEND PROPERTY TUTTI_COMPONENTS ${name})
endfunction()

# install_package(): what tells others of the components. Call it after the last one.
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
  install(EXPORT tutti NAMESPACE tutti:: DESTINATION "${folder}" FILE tutti-targets.cmake)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tutti-config.cmake.in" tutti-config.cmake
                                INSTALL_DESTINATION "${folder}")
  write_basic_package_version_file(tutti-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tutti-config.cmake"
                "${CMAKE_CURRENT_BINARY_DIR}/tutti-config-version.cmake" DESTINATION "${folder}")

  get_property(components GLOBAL PROPERTY TUTTI_COMPONENTS)
  list(REVERSE components)  # an archive comes before those it needs
  list(TRANSFORM components PREPEND "-ltutti_")
  list(JOIN components " " TUTTI_LIBRARIES)
  file(RELATIVE_PATH TUTTI_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in" tutti.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tutti.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()
