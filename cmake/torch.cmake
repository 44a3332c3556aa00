# libtorch, for the few directories that may use it. Its CMake package requires packages that this project does not
# need.
find_path(TUTTI_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h REQUIRED)
find_library(TUTTI_TORCH_LIBRARY torch REQUIRED)
find_library(TUTTI_TORCH_CPU_LIBRARY torch_cpu REQUIRED)
find_library(TUTTI_C10_LIBRARY c10 REQUIRED)
add_library(tutti_torch INTERFACE)
target_include_directories(tutti_torch SYSTEM INTERFACE "${TUTTI_TORCH_INCLUDE}"
                           "${TUTTI_TORCH_INCLUDE}/torch/csrc/api/include")
target_link_libraries(tutti_torch INTERFACE "${TUTTI_TORCH_LIBRARY}" "${TUTTI_TORCH_CPU_LIBRARY}" "${TUTTI_C10_LIBRARY}")

# libtorch of tutti._torch, the extension of Python: Debian's, or that of another installation of torch, whose CMake
# package would require CUDA. Its pybind11 comes with it, because the two must agree.
set(TUTTI_TORCH "" CACHE PATH "Directory of the Python package torch to build tutti._torch with; empty: Debian's")
add_library(tutti_python_torch INTERFACE)
if(TUTTI_TORCH)
  if(NOT EXISTS "${TUTTI_TORCH}/lib/libtorch_python.so")
    message(FATAL_ERROR "-DTUTTI_TORCH=${TUTTI_TORCH}: no lib/libtorch_python.so in this directory. "
                        "Print the right one: python3 -c 'import torch; print(*torch.__path__)'")
  endif()
  set(Torch_FOUND TRUE)
  target_include_directories(tutti_python_torch SYSTEM INTERFACE
    "${TUTTI_TORCH}/include" "${TUTTI_TORCH}/include/torch/csrc/api/include")
  foreach(library torch_python torch_cpu c10)
    target_link_libraries(tutti_python_torch INTERFACE "${TUTTI_TORCH}/lib/lib${library}.so")
  endforeach()
else()
  find_package(Torch QUIET)
  if(Torch_FOUND)
    find_library(TUTTI_TORCH_PYTHON torch_python PATHS "${TORCH_INSTALL_PREFIX}/lib" REQUIRED)
    target_include_directories(tutti_python_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
    target_link_libraries(tutti_python_torch INTERFACE torch "${TUTTI_TORCH_PYTHON}")
  endif()
endif()

# Precompiled header: parsing these headers takes 7 s. torch/torch.h would take twice as long.
file(WRITE "${CMAKE_BINARY_DIR}/torch_header.cc" "// holds the precompiled headers of libtorch\n")
add_library(tutti_torch_header STATIC EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/torch_header.cc")
target_link_libraries(tutti_torch_header PUBLIC tutti_torch)
target_precompile_headers(tutti_torch_header PRIVATE <torch/autograd.h> <torch/nn/module.h> <torch/types.h> <torch/utils.h>)
target_compile_options(tutti_torch_header PRIVATE -fpch-preprocess -fPIC)  # needed by ccache

# use_torch(target): links libtorch and uses the precompiled header.
function(use_torch target)
  target_link_libraries(${target} PUBLIC tutti_torch)
  # Programs would be compiled with -fPIE, which does not match a header precompiled with -fPIC.
  target_compile_options(${target} PRIVATE -fpch-preprocess -fPIC)
  target_precompile_headers(${target} REUSE_FROM tutti_torch_header)
endfunction()
