# The options of the build and their defaults.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(REPRISE_SANITIZE "" CACHE STRING
  "empty, address (AddressSanitizer + UBSan), thread (ThreadSanitizer) or fuzzer (address with libFuzzer, by clang)")
set_property(CACHE REPRISE_SANITIZE PROPERTY STRINGS "" address thread fuzzer)
if(NOT REPRISE_SANITIZE MATCHES "^(address|thread|fuzzer)?$")
  message(FATAL_ERROR "REPRISE_SANITIZE: expected address, thread or fuzzer, got '${REPRISE_SANITIZE}'")
endif()

# ThreadSanitizer does not understand the barriers of libgomp, which oneDNN uses too: both are off under it. Fuzzers read
# files and need neither.
set(threads_are_visible ON)
if(REPRISE_SANITIZE MATCHES "^(thread|fuzzer)$")
  set(threads_are_visible OFF)
endif()
option(REPRISE_OPENMP "Threads by OpenMP; OFF: by the project's own pool" ${threads_are_visible})
option(REPRISE_ONEDNN "Convolutions and matrix products by oneDNN; OFF: by Eigen" ${threads_are_visible})

# A CUDA compiler that is not on PATH is looked for where NVIDIA's packages put it.
find_program(REPRISE_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)
mark_as_advanced(REPRISE_NVCC)
set(cuda_default OFF)
if(REPRISE_NVCC AND NOT REPRISE_SANITIZE)
  set(cuda_default ON)
endif()
option(REPRISE_CUDA "Compile the .cu files of the rooms" ${cuda_default})
option(REPRISE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(REPRISE_QUICK_BUILD 
  "Compile several files at once, and common headers once; OFF: each file for itself, which finds missing includes" ON)
