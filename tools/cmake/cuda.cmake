# The CUDA side: every .cu file of the rooms goes into one library, reprise_cuda. cuBLAS comes with the toolkit; cuDNN
# and NCCL are used where they are found. A short list of architectures keeps the build quick.
if(NOT CMAKE_CUDA_COMPILER AND REPRISE_NVCC)
  set(CMAKE_CUDA_COMPILER "${REPRISE_NVCC}")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES "80;90")
endif()
enable_language(CUDA)
# Naming a system folder again would break the compiler's own order of folders; CMake leaves out those listed here.
list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
# The run-time library is linked by name (CUDA::cudart_static); CMake would add it without its folder.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know nvcc's flag for C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)

find_path(REPRISE_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(REPRISE_CUDNN_LIBRARY cudnn HINTS "${CUDAToolkit_LIBRARY_DIR}")
find_path(REPRISE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(REPRISE_NCCL_LIBRARY nccl HINTS "${CUDAToolkit_LIBRARY_DIR}")
mark_as_advanced(REPRISE_CUDNN_INCLUDE REPRISE_CUDNN_LIBRARY REPRISE_NCCL_INCLUDE REPRISE_NCCL_LIBRARY)

# Functors are host-device lambdas and templates over them; constexpr library functions such as bit_cast run on both sides.
target_compile_options(reprise_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;-lineinfo;-Xcompiler=-Wall>")
# fmt 9 takes nvcc for a compiler without constexpr functions, which breaks its check of format strings.
target_compile_definitions(reprise_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>")

function(reprise_cuda_library)
  foreach(room core memory autograd ops recompute data models)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room}/*.cu")
    list(APPEND sources ${found})
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(reprise_cuda STATIC ${sources})
  get_property(rooms GLOBAL PROPERTY REPRISE_ROOMS)
  target_link_libraries(reprise_cuda PUBLIC ${rooms} CUDA::cudart_static PRIVATE CUDA::cublas)
  foreach(library CUDNN NCCL)
    if(REPRISE_${library}_INCLUDE AND REPRISE_${library}_LIBRARY)
      target_include_directories(reprise_cuda SYSTEM PRIVATE "${REPRISE_${library}_INCLUDE}")
      target_link_libraries(reprise_cuda PRIVATE "${REPRISE_${library}_LIBRARY}")
      target_compile_definitions(reprise_cuda PRIVATE REPRISE_WITH_${library})
    endif()
  endforeach()
endfunction()
