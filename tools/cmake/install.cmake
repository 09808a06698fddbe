# The package: `cmake --install BUILD --prefix P` puts the program, the libraries and the headers below P, with files by
# which CMake (find_package(reprise)) and pkg-config find them.
#
# Headers lie in include/reprise/, room by room, and that folder is on the include path of whoever links a room: so
# "core/tensor.h" means the same to a program outside as in here, and nothing lies in include/ itself.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/reprise")

# reprise::core ... reprise::models, and reprise::program, the command line with all its verbs.
get_property(rooms GLOBAL PROPERTY REPRISE_ROOMS)
foreach(target ${rooms} reprise_tools)
  string(REGEX REPLACE "^reprise_" "" name ${target})
  string(REPLACE tools program name ${name})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(reprise::${name} ALIAS ${target})
endforeach()
set_target_properties(reprise_flags PROPERTIES EXPORT_NAME flags)
set_target_properties(reprise_xxhash PROPERTIES EXPORT_NAME xxhash)
set(targets ${rooms} reprise_tools reprise_flags reprise_xxhash)
if(TARGET reprise_cuda)
  set_target_properties(reprise_cuda PROPERTIES EXPORT_NAME cuda)
  list(APPEND targets reprise_cuda)
endif()

install(TARGETS ${targets} EXPORT reprise ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS reprise RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
foreach(folder core memory autograd ops recompute data models tools)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/reprise"
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" PATTERN "cmake" EXCLUDE PATTERN "verbs" EXCLUDE)
endforeach()
install(EXPORT reprise NAMESPACE reprise:: FILE reprise-targets.cmake DESTINATION "${package_folder}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/reprise-config.cmake.in"
  "${PROJECT_BINARY_DIR}/reprise-config.cmake" INSTALL_DESTINATION "${package_folder}")
# Until version 1 a new minor version may change what a model or an op has to provide.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/reprise-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/reprise-config.cmake" "${PROJECT_BINARY_DIR}/reprise-config-version.cmake"
  DESTINATION "${package_folder}")

# pkg-config: libraries from the top down, as a linker wants archives.
set(pc_libraries ${rooms} reprise_tools)
list(REVERSE pc_libraries)
list(JOIN pc_libraries " -l" pc_libraries)
if(TARGET reprise_cuda)
  string(APPEND pc_libraries " -lreprise_cuda -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lcublas -ldl -lrt")
endif()
if(REPRISE_ONEDNN)
  string(APPEND pc_libraries " -ldnnl")
endif()
if(REPRISE_OPENMP)
  string(APPEND pc_libraries " -fopenmp")
endif()
set(pc_flags ${cxx_flags})
list(FILTER pc_flags EXCLUDE REGEX "-W")
list(JOIN pc_flags " " pc_flags)
file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/reprise.pc.in" "${PROJECT_BINARY_DIR}/reprise.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/reprise.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
