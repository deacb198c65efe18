# The example and the quickstart: cmake -DPROGRAM=<the built example> -DSOURCE=<repository> -P example.cmake
# docs/quickstart.md shows what docs/examples/plan.c prints.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output ERROR_VARIABLE complaint RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM}: expected exit status 0, got ${status}: ${complaint}")
endif()

file(READ ${SOURCE}/docs/quickstart.md quickstart)
string(REGEX REPLACE "\n([^\n])" "\n    \\1" block "    ${output}")
string(FIND "${quickstart}" "\n${block}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "docs/quickstart.md: expected what docs/examples/plan.c prints:\n${block}")
endif()
