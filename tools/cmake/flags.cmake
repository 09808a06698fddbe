# Compiler and linker flags. No -ffast-math and no -march=native: the same source gives the same bits on every machine
# of the x86-64-v3 family. Debug information is kept to line tables, so that a build from scratch stays short.
include(CheckCXXCompilerFlag)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG -g1")
add_library(reprise_flags INTERFACE)
target_compile_features(reprise_flags INTERFACE cxx_std_20)
target_include_directories(reprise_flags INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:include/reprise>")
# Eigen's own threads would bypass the pool and its fixed partition.
target_compile_definitions(reprise_flags INTERFACE EIGEN_DONT_PARALLELIZE)

set(cxx_flags -Wall -Wextra -fno-math-errno -fno-trapping-math -fopenmp-simd)
# Contracts are written with designated initialisers, and members left out have their defaults.
list(APPEND cxx_flags -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # These report paths inside the standard library and Eigen that cannot be taken.
  list(APPEND cxx_flags -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND cxx_flags -march=x86-64-v3)
endif()

# For this build alone, as no arithmetic depends on them. Nobody replaces our functions at load time, so the compiler may
# inline them in code that is also fit for a shared library; and records are copied by whole vector registers: together a
# sixth of what recording a node costs, and a third of differentiating it.
set(build_flags "")
foreach(flag IN ITEMS -fno-semantic-interposition -mmove-max=256 -mstore-max=256)
  string(MAKE_C_IDENTIFIER "REPRISE_HAS${flag}" has)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    list(APPEND build_flags "$<BUILD_INTERFACE:${flag}>")
  endif()
endforeach()

if(REPRISE_SANITIZE STREQUAL "address")
  set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(REPRISE_SANITIZE STREQUAL "fuzzer")
  set(sanitizer_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(REPRISE_SANITIZE STREQUAL "thread")
  set(sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
endif()
# What keeps a build from scratch short, beside headers compiled once. Tests and the program's own files are no hot code.
# Checks of undefined behaviour cost as much compile time as the address sanitizer: tests do without them, and the program
# without those of pointers, which the address sanitizer sees as well; the rooms below have them all.
set(REPRISE_TEST_FLAGS -O0)
set(REPRISE_PROGRAM_FLAGS -O1)
set(REPRISE_BENCH_FLAGS -O3)
if(REPRISE_SANITIZE STREQUAL "address")
  list(APPEND REPRISE_TEST_FLAGS -fno-sanitize=undefined)
  set(REPRISE_PROGRAM_FLAGS -O0 -fno-sanitize=null,vptr,object-size,alignment)
endif()
if(REPRISE_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")  # with assertions
  set(REPRISE_BENCH_FLAGS -O1)
  if(REPRISE_SANITIZE STREQUAL "thread")  # Eigen is all it has for its arithmetic, and crawls when it is not inlined
    set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DEIGEN_NO_DEBUG")
  endif()
  list(APPEND cxx_flags ${sanitizer_flags})
  target_link_options(reprise_flags INTERFACE ${sanitizer_flags})
endif()
# A program that links the package compiles its share of the headers' code with the same flags, and so gets the same
# bits; what it is warned about is its own affair.
set(shown_flags ${cxx_flags})
list(TRANSFORM shown_flags REPLACE "^-W.+$" "$<BUILD_INTERFACE:\\0>")
target_compile_options(reprise_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${shown_flags};${build_flags}>")

find_program(REPRISE_CCACHE ccache)
mark_as_advanced(REPRISE_CCACHE)
if(REPRISE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With precompiled headers ccache has to be told that it may trust what they define.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${REPRISE_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${REPRISE_CCACHE}")
endif()

# The system's linker: with lld 14 an exception thrown through some functions found no handler and ended the program.
