# add_component(name SOURCES a.cc ... [DEPENDS tutti::core ...] [PRIVATE_DEPENDS ...] [TESTS a_test.cc ...])
#
# Makes the library tutti_<name>, alias tutti::<name>, from the sources of the calling folder, and one test
# program <name>_test from its TESTS, each of whose cases ctest knows by name (label: <name>).
include(GoogleTest)

function(add_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS;TESTS;TEST_DEPENDS")
  add_library(tutti_${name} STATIC ${arg_SOURCES})
  add_library(tutti::${name} ALIAS tutti_${name})
  set_target_properties(tutti_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(tutti_${name} PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>"
                                                  "$<INSTALL_INTERFACE:include>")
  target_link_libraries(tutti_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  if(arg_TESTS AND BUILD_TESTING)
    add_executable(${name}_test ${arg_TESTS})
    target_link_libraries(${name}_test PRIVATE tutti::${name} ${arg_PRIVATE_DEPENDS} ${arg_TEST_DEPENDS}
                                               GTest::gtest_main GTest::gmock)
    gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${name} TIMEOUT 120)
  endif()
endfunction()
