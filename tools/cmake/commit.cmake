# Run at every build (cmake -D SOURCE=... -D OUTPUT=... -P): writes the source file that says which commit is built, and
# leaves it alone while that is the same, so that nothing is compiled anew. Sources without a history say "unknown".
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT status EQUAL 0 OR NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
  set(commit "unknown")
endif()
set(text "#include \"tools/cli/commit.h\"\n\nnamespace reprise {\n\nconst char* build_commit() { return \"${commit}\"; }\n\n}  // namespace reprise\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT before STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
