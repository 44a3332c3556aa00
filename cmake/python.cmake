# Python modules. Sources are in python/, one directory per package; the build copies them, with the compiled extensions,
# to build/python for PYTHONPATH (ddlrun adds it automatically). Debian's Python, see dependencies.cmake.
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
set(PYTHON_EXECUTABLE "${Python3_EXECUTABLE}")
set(PYBIND11_FINDPYTHON OFF)
set(PYBIND11_NOPYTHON ON)
find_package(pybind11 REQUIRED)
set(TUTTI_PYTHON_FOLDER "${CMAKE_BINARY_DIR}/python")
# Search path of Debian's Python: below /usr one directory for all versions, elsewhere one per version.
set(python_version "${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(python_version "3")
endif()
set(TUTTI_PYTHON_INSTALL "lib/python${python_version}/dist-packages" CACHE STRING
    "Installation directory of the Python packages, relative to the prefix")

# All files of build/python.
if(NOT TARGET python_modules)
  add_custom_target(python_modules)
endif()

# add_python_package(name): copies python/<name> of the source; the next build picks up new and changed files.
function(add_python_package name)
  set(source "${PROJECT_SOURCE_DIR}/python/${name}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python" "${source}/*.py" "${source}/*.pyi" "${source}/py.typed")
  foreach(file ${files})
    add_custom_command(OUTPUT "${TUTTI_PYTHON_FOLDER}/${file}"
      COMMAND ${CMAKE_COMMAND} -E copy "${PROJECT_SOURCE_DIR}/python/${file}" "${TUTTI_PYTHON_FOLDER}/${file}"
      DEPENDS "${PROJECT_SOURCE_DIR}/python/${file}")
    list(APPEND copies "${TUTTI_PYTHON_FOLDER}/${file}")
  endforeach()
  add_custom_target(python_${name} ALL DEPENDS ${copies})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/${name}" DESTINATION "${TUTTI_PYTHON_INSTALL}"
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
  add_dependencies(python_modules python_${name})
endfunction()

# add_python_extension(name SOURCES a.cc ... DEPENDS tutti::comm ...): the compiled module tutti._<name>.
function(add_python_extension name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_library(python_extension_${name} MODULE ${arg_SOURCES})
  target_link_libraries(python_extension_${name} PRIVATE pybind11::headers Python3::Module ${arg_DEPENDS})
  set_target_properties(python_extension_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME "_${name}" LIBRARY_OUTPUT_DIRECTORY "${TUTTI_PYTHON_FOLDER}/tutti"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  add_dependencies(python_modules python_extension_${name})
  install(TARGETS python_extension_${name} LIBRARY DESTINATION "${TUTTI_PYTHON_INSTALL}/tutti")
endfunction()

# add_python_test(name file.py [LABELS ...]): runs pytest on the file, with build/python and build/bin on the paths.
function(add_python_test name file)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LABELS")
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} -B -m pytest -q -p no:cacheprovider "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set_tests_properties(${name} PROPERTIES LABELS "python;${arg_LABELS}" TIMEOUT 300 ENVIRONMENT
    "PYTHONPATH=${TUTTI_PYTHON_FOLDER};PATH=${CMAKE_BINARY_DIR}/bin:$ENV{PATH};OMP_NUM_THREADS=1")
endfunction()
