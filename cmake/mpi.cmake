# Selection of MPI: -DTUTTI_MPI=openmpi, mpich, system (the result of FindMPI) or none.
# Default: the first of these that is installed. Sets TUTTI_MPI_FLAVOUR, and TUTTI_MPIRUN with the arguments that tests
# use to start ranks. Every installed MPI is a target tutti_mpi_<flavour>, without the deprecated C++ bindings.
set(TUTTI_MPI "" CACHE STRING "MPI to build with: openmpi, mpich, system or none; empty: the first found")
set_property(CACHE TUTTI_MPI PROPERTY STRINGS "" openmpi mpich system none)

function(tutti_add_mpi flavour library)
  add_library(tutti_mpi_${flavour} INTERFACE)
  target_link_libraries(tutti_mpi_${flavour} INTERFACE ${library})
  target_compile_definitions(tutti_mpi_${flavour} INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
endfunction()

pkg_check_modules(OPENMPI QUIET IMPORTED_TARGET ompi-c)
if(OPENMPI_FOUND)
  tutti_add_mpi(openmpi PkgConfig::OPENMPI)
endif()
pkg_check_modules(MPICH QUIET IMPORTED_TARGET mpich)
if(MPICH_FOUND)
  tutti_add_mpi(mpich PkgConfig::MPICH)
endif()
if(TUTTI_MPI STREQUAL "system" OR (TUTTI_MPI STREQUAL "" AND NOT OPENMPI_FOUND AND NOT MPICH_FOUND))
  find_package(MPI COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    tutti_add_mpi(system MPI::MPI_CXX)
  endif()
endif()

set(TUTTI_MPI_FLAVOUR "${TUTTI_MPI}")
foreach(flavour openmpi mpich system)
  if(TUTTI_MPI_FLAVOUR STREQUAL "" AND TARGET tutti_mpi_${flavour})
    set(TUTTI_MPI_FLAVOUR ${flavour})
  endif()
endforeach()
if(TUTTI_MPI_FLAVOUR STREQUAL "")
  set(TUTTI_MPI_FLAVOUR none)
endif()
if(NOT TUTTI_MPI_FLAVOUR STREQUAL "none" AND NOT TARGET tutti_mpi_${TUTTI_MPI_FLAVOUR})
  message(FATAL_ERROR "-DTUTTI_MPI=${TUTTI_MPI}: no such MPI here. On Debian: libopenmpi-dev or libmpich-dev.")
endif()
message(STATUS "MPI: ${TUTTI_MPI_FLAVOUR}")

find_program(TUTTI_MPIRUN_${TUTTI_MPI_FLAVOUR} NAMES mpirun.${TUTTI_MPI_FLAVOUR} mpirun mpiexec)
set(TUTTI_MPIRUN "${TUTTI_MPIRUN_${TUTTI_MPI_FLAVOUR}}")
if(TUTTI_MPI_FLAVOUR STREQUAL "openmpi")
  list(APPEND TUTTI_MPIRUN --oversubscribe --allow-run-as-root --bind-to none)
endif()

# add_mpi_test(name RANKS 2 4 SOURCES a.cc ... [DEPENDS ...])
#
# Adds the program <name> and one test <name>_<n> per rank count that runs it under mpirun, with the label mpi (and
# so part of the target tests-mpi). Without MPI it does nothing.
function(add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "RANKS;SOURCES;DEPENDS")
  if(TUTTI_MPI_FLAVOUR STREQUAL "none" OR NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest)
  if(NOT TARGET tests-mpi)
    add_custom_target(tests-mpi)
  endif()
  add_dependencies(tests-mpi ${name})
  foreach(ranks ${arg_RANKS})
    add_test(NAME ${name}_${ranks} COMMAND ${TUTTI_MPIRUN} -n ${ranks} $<TARGET_FILE:${name}>)
    # MPI never frees some memory, and synchronises in code that ThreadSanitizer does not instrument.
    set_tests_properties(${name}_${ranks} PROPERTIES LABELS mpi TIMEOUT 120 PROCESSORS 2
      ENVIRONMENT "TUTTI_TUNING_CACHE=none;ASAN_OPTIONS=detect_leaks=0;TSAN_OPTIONS=ignore_noninstrumented_modules=1")
  endforeach()
endfunction()
