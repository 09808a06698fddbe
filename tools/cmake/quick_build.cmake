# What halves a build from scratch: common headers are compiled once a target, and several files are compiled as one.
#
# So names in unnamed namespaces differ within a room, or their file stands in the list below. REPRISE_QUICK_BUILD=OFF, as
# the fuzz targets are built, compiles each file alone and finds a missing include; we would drop this if it kept finding
# some. Considered: precompiled headers alone (a fifth instead of half), and explicit templates (few are shared).

# Files that share names with their neighbours, as op files do by rule (infer, forward, backward), are compiled alone.
set(REPRISE_ALONE "^${PROJECT_SOURCE_DIR}/ops/" /tools/bench/ /tools/report/markdown /tools/report/workloads
  explain_test report_test conform_test chart_ticks_test plan_step_test)

# reprise_quick_build(TARGET [HEADER | third-party target]...): for a target whose sources are known.
function(reprise_quick_build target)
  if(NOT REPRISE_QUICK_BUILD)
    return()
  endif()
  set(headers algorithm array cmath cstdint cstring filesystem fstream functional map memory optional set span sstream
    string string_view utility vector fmt/format.h)
  if("nlohmann_json::nlohmann_json" IN_LIST ARGN)
    list(APPEND headers nlohmann/json.hpp)
  endif()
  if("GTest::gtest" IN_LIST ARGN)
    list(APPEND headers gtest/gtest.h)
  endif()
  list(TRANSFORM headers REPLACE ".+" "$<$<COMPILE_LANGUAGE:CXX>:<\\0$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND REPRISE_CCACHE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache needs it
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A file's own class with members of its unnamed namespace, taken for a header's.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  get_target_property(sources ${target} SOURCES)
  foreach(pattern ${REPRISE_ALONE})
    set(alone ${sources})
    list(FILTER alone INCLUDE REGEX "${pattern}")
    set_property(SOURCE ${alone} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()
