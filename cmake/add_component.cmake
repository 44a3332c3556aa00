# add_component(name SOURCES a.cc ... [DEPENDS tutti::core ...] [PRIVATE_DEPENDS ...]
#               [TESTS a_test.cc ...] [TEST_DEPENDS ...] [WITH_TORCH])
#
# Adds the library tutti_<name>, alias tutti::<name>, from the sources of the calling directory, and one test
# program <name>_test from its TESTS with the labels unit, asan and <name>. Libraries below tutti/ are installed; the
# installed headers are those of cmake/public_headers.cmake.
# WITH_TORCH: the library uses libtorch. It is not installed, and not tested under sanitizers, which libtorch does not support.
function(add_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WITH_TORCH" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS;TESTS;TEST_DEPENDS")
  add_library(tutti_${name} STATIC ${arg_SOURCES})
  add_library(tutti::${name} ALIAS tutti_${name})
  set_target_properties(tutti_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(tutti_${name} PUBLIC cxx_std_20)  # also for users of the installed library
  target_link_libraries(tutti_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  if(arg_WITH_TORCH)
    use_torch(tutti_${name})
  elseif(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tutti/"
         AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tutti/(train|models|tune)(/|$)")  # parts of a program, not a library
    install_component(${name})
  endif()
  if(arg_TESTS)
    set(labels unit ${name})
    if(arg_WITH_TORCH)
      set(with_torch WITH_TORCH)
    else()
      list(APPEND labels asan)
    endif()
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tutti/(core|os|io|comm|fusion|learn)(/|$)")  # multithreaded
      list(APPEND labels tsan)
    endif()
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tutti/launch/" AND NOT name STREQUAL "launch")
      list(APPEND labels launch)  # its directories are tested together
    endif()
    add_test_program(${name}_test ${with_torch} SOURCES ${arg_TESTS} LABELS ${labels}
                     DEPENDS tutti::${name} ${arg_PRIVATE_DEPENDS} ${arg_TEST_DEPENDS})
  endif()
endfunction()

# add_test_program(name SOURCES a_test.cc ... [DEPENDS ...] [LABELS ...] [WITH_TORCH])
#
# Adds a GoogleTest program whose cases are separate ctest tests; WITH_TORCH: one test, because
# libtorch takes most of a second to load. The target `tests` builds all of them, which `all` does not; for every label L
# there is a target tests-L that builds exactly what `ctest -L '^L$'` runs. The labels asan and tsan make `make test` run
# the program under these sanitizers too.
include(GoogleTest)
function(add_test_program name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "WITH_TORCH" "" "SOURCES;DEPENDS;LABELS")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} GTest::gtest_main GTest::gmock)
  # The library under test is optimised; optimising the tests as well would only cost compile time. The precompiled headers
  # of libtorch require optimisation.
  if(arg_WITH_TORCH)
    target_compile_options(${name} PRIVATE -O1)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
       AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
      target_compile_options(${name} PRIVATE -munroll-only-small-loops)  # part of -O2, and precompiled headers must agree
    endif()
  else()
    target_compile_options(${name} PRIVATE -O0)
  endif()
  list(TRANSFORM arg_LABELS PREPEND tests- OUTPUT_VARIABLE groups)
  foreach(group tests ${groups})
    if(NOT TARGET ${group})
      add_custom_target(${group})
    endif()
    add_dependencies(${group} ${name})
  endforeach()
  if(arg_WITH_TORCH)
    use_torch(${name})
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
    return()
  endif()
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 120)
  # gtest_discover_tests accepts one label only, so the list is set when ctest reads the cases.
  set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
  file(WRITE "${labels_file}" "if(${name}_TESTS)
  set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
endfunction()

# for_each_processor([WITHOUT_SANITIZERS] a.cc ...)
#
# Sources with vector code that include themselves once per instruction set (Highway), and therefore cannot be compiled
# in a unity build. WITHOUT_SANITIZERS: sources that would take minutes to compile with sanitizers.
function(for_each_processor)
  cmake_parse_arguments(PARSE_ARGV 0 arg "WITHOUT_SANITIZERS" "" "")
  set_source_files_properties(${arg_UNPARSED_ARGUMENTS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(TUTTI_SANITIZE AND arg_WITHOUT_SANITIZERS)
    set_property(SOURCE ${arg_UNPARSED_ARGUMENTS} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
  endif()
endfunction()
