# Compiler settings that every target of the project shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

# Line tables are enough for stack traces; full debug information takes a third longer to compile, with libtorch
# twice as long. The preset debug enables it.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
# Sanitizers multiply the amount of code to optimise: -O2 takes three times as long.
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -DNDEBUG")
set(TUTTI_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
# Unity builds: most of the compile time is spent on headers that files have in common.
option(CMAKE_UNITY_BUILD "Compile several files of a target together: faster full builds, slower incremental ones" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

# mold is several times as fast as GNU ld.
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_C_STANDARD 11)
add_compile_options(-Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
# The presets enable it. Other compilers have other warnings, which must not break the build of users.
option(TUTTI_WERROR "Treat warnings as errors" OFF)
if(TUTTI_WERROR)
  add_compile_options(-Werror)
endif()
include_directories("${CMAKE_SOURCE_DIR}")
if(TUTTI_SANITIZE)
  # The four excluded checks cost as much time as all others together. AddressSanitizer also reports null pointers.
  add_compile_options(-fsanitize=${TUTTI_SANITIZE} -fno-sanitize=null,alignment,object-size,vptr -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  # g++ 12 warns about libstdc++ itself under sanitizers: members of <regex>, fences.
  add_compile_options(-Wno-maybe-uninitialized -Wno-tsan)
  add_link_options(-fsanitize=${TUTTI_SANITIZE})
endif()
