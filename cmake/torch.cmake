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
