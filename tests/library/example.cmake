# The example and the quickstart: cmake -DPROGRAM=<the built example> -DSOURCE=<repository> -P example.cmake
# docs/quickstart.md shows what docs/examples/plan.c prints; docs/adding-an-algorithm.md shows a row that there is.

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

file(READ ${SOURCE}/docs/adding-an-algorithm.md adding)
file(READ ${SOURCE}/methods/exchanges.c exchanges)
string(REGEX MATCH "const struct gw_exchange_kind gw_exchange_leader = {.*" exchange "${exchanges}")
string(FIND "${exchange}" "\n};\n" end)
math(EXPR end "${end} + 4")
string(SUBSTRING "${exchange}" 0 ${end} exchange)
string(FIND "${adding}" "```c\n${exchange}```" place)
if(place EQUAL -1)
  message(FATAL_ERROR "docs/adding-an-algorithm.md: expected the row of methods/exchanges.c as it is:\n${exchange}")
endif()
