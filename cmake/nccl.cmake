# CUDA runtime and NCCL: enabled only with -DTUTTI_NCCL=ON, because the binaries then require them. If
# only the headers are found (TUTTI_NCCL_INCLUDES), a test checks that the code compiles.
option(TUTTI_NCCL "Build the collectives of device buffers through NCCL into the library" OFF)

set(cuda_hints ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} /usr/local/cuda)
find_path(CUDART_INCLUDE cuda_runtime_api.h HINTS ${cuda_hints} PATH_SUFFIXES include)
find_path(NCCL_INCLUDE nccl.h HINTS ${cuda_hints} $ENV{NCCL_HOME} PATH_SUFFIXES include)
if(CUDART_INCLUDE AND NCCL_INCLUDE)
  set(TUTTI_NCCL_INCLUDES ${CUDART_INCLUDE} ${NCCL_INCLUDE})
  list(REMOVE_DUPLICATES TUTTI_NCCL_INCLUDES)
endif()

if(TUTTI_NCCL)
  find_library(CUDART_LIBRARY cudart HINTS ${cuda_hints} PATH_SUFFIXES lib64 lib)
  find_library(NCCL_LIBRARY nccl HINTS ${cuda_hints} $ENV{NCCL_HOME} PATH_SUFFIXES lib64 lib)
  if(NOT TUTTI_NCCL_INCLUDES OR NOT CUDART_LIBRARY OR NOT NCCL_LIBRARY)
    message(FATAL_ERROR "-DTUTTI_NCCL=ON: CUDA or NCCL was not found. Name their directory with CUDA_HOME and NCCL_HOME.")
  endif()
  add_library(tutti_nccl INTERFACE)
  target_include_directories(tutti_nccl SYSTEM INTERFACE ${TUTTI_NCCL_INCLUDES})
  target_link_libraries(tutti_nccl INTERFACE ${NCCL_LIBRARY} ${CUDART_LIBRARY})
endif()
