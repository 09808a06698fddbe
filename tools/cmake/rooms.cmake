# How a room becomes a library, and the tools room the program.

# reprise_room(NAME ROOMS [rooms it may include] LINKS [third-party targets]): the library reprise_NAME from NAME/**.cpp.
function(reprise_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS;LINKS")
  list(TRANSFORM arg_ROOMS PREPEND reprise_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${name}/*.cpp")
  if(sources)
    add_library(reprise_${name} STATIC ${sources})
    set(scope PUBLIC)
    reprise_quick_build(reprise_${name} ${arg_LINKS})
  else()
    add_library(reprise_${name} INTERFACE)  # headers only
    set(scope INTERFACE)
  endif()
  target_link_libraries(reprise_${name} ${scope} reprise_flags ${arg_ROOMS} ${arg_LINKS})
  set_property(GLOBAL APPEND PROPERTY REPRISE_ROOMS reprise_${name})
endfunction()

# What a room uses without showing it to the rooms above.
function(reprise_room_private name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS;DEFINITIONS")
  get_target_property(type reprise_${name} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(reprise_${name} PRIVATE ${arg_LINKS})
    target_compile_definitions(reprise_${name} PRIVATE ${arg_DEFINITIONS})
  endif()
endfunction()

# What `reprise doctor` says of the build.
function(reprise_build_facts)
  list(JOIN cxx_flags " " flags)
  set(options "OpenMP ${REPRISE_OPENMP}, oneDNN ${REPRISE_ONEDNN}, CUDA ${REPRISE_CUDA}")
  if(REPRISE_SANITIZE)
    string(APPEND options ", sanitizer ${REPRISE_SANITIZE}")
  endif()
  set(cuda "none")
  if(REPRISE_CUDA)
    set(cuda "${CUDAToolkit_VERSION}, for architectures ${CMAKE_CUDA_ARCHITECTURES}")
    string(REPLACE ";" " and " cuda "${cuda}")
  endif()
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/tools/doctor/program.cpp" "${PROJECT_SOURCE_DIR}/tools/doctor/machine.cpp"
    APPEND PROPERTY COMPILE_DEFINITIONS REPRISE_BUILD_TYPE="${CMAKE_BUILD_TYPE}"
    REPRISE_BUILD_FLAGS="${CMAKE_CXX_FLAGS_RELEASE} ${flags}" REPRISE_BUILD_OPTIONS="${options}"
    REPRISE_BUILD_CUDA="${cuda}" REPRISE_BUILD_YAML_CPP="${yaml-cpp_VERSION}")
endfunction()

# The source file that says which commit is built: looked at by every build.
function(reprise_commit target)
  set(output "${PROJECT_BINARY_DIR}/commit.cpp")
  add_custom_target(reprise_commit BYPRODUCTS "${output}" COMMENT "Looking up the commit"
    COMMAND "${CMAKE_COMMAND}" -D "SOURCE=${PROJECT_SOURCE_DIR}" -D "OUTPUT=${output}"
            -P "${PROJECT_SOURCE_DIR}/tools/cmake/commit.cmake")
  add_dependencies(${target} reprise_commit)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# The program: tools/main.cpp, and the rest of tools/ as a library that tests can link.
function(reprise_program)
  set(main "${PROJECT_SOURCE_DIR}/tools/main.cpp")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/*.cpp")
  list(REMOVE_ITEM sources "${main}")
  if(sources)
    set(bench ${sources})
    list(FILTER bench INCLUDE REGEX "/tools/bench/")  # what is measured is compiled like the rooms
    set_property(SOURCE ${bench} APPEND PROPERTY COMPILE_OPTIONS ${REPRISE_BENCH_FLAGS})
    set_property(SOURCE ${bench} PROPERTY SKIP_PRECOMPILE_HEADERS ON)  # those have the flags of the rest
    add_library(reprise_tools STATIC ${sources})
    target_compile_options(reprise_tools PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${REPRISE_PROGRAM_FLAGS}>")
    reprise_quick_build(reprise_tools nlohmann_json::nlohmann_json)
    target_link_libraries(reprise_tools PUBLIC reprise_models CLI11::CLI11 benchmark::benchmark OpenSSL::Crypto)
    target_compile_definitions(reprise_tools PRIVATE REPRISE_VERSION="${PROJECT_VERSION}")
    reprise_commit(reprise_tools)
  else()
    add_library(reprise_tools INTERFACE)
    target_link_libraries(reprise_tools INTERFACE reprise_models CLI11::CLI11)
  endif()
  reprise_build_facts()
  if(TARGET reprise_cuda)
    target_link_libraries(reprise_tools INTERFACE reprise_cuda)
  endif()
  if(EXISTS "${main}")
    add_executable(reprise "${main}")
    target_link_libraries(reprise PRIVATE reprise_tools)
  endif()
endfunction()
