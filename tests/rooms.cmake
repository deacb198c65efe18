# Holds the rooms to what they may use: cmake -DSOURCE=<repository> -P rooms.cmake
# Every #include of a room's header must be of the room itself or of a room that it may use, and there of a public
# header; sim and planner must build without MPI and CUDA; sim and exec must know no algorithm by name.

cmake_minimum_required(VERSION 3.25)

set(rooms core device engine traces published planner kernels collectives transport methods goal sim exec calibrate study
    report library cli)

set(core_may_use)
set(device_may_use core)
set(engine_may_use core)
set(traces_may_use core)
set(published_may_use core traces)
set(planner_may_use core traces methods)
set(kernels_may_use core device traces methods)
set(collectives_may_use core)
set(transport_may_use core device)
set(methods_may_use core traces)
set(goal_may_use core engine)
set(sim_may_use core engine traces collectives methods goal)
set(exec_may_use core device traces methods kernels transport)
set(calibrate_may_use core device traces methods kernels transport)
set(study_may_use core traces methods planner collectives goal kernels sim transport)
set(report_may_use core traces published methods planner collectives goal kernels study calibrate)
set(library_may_use core device traces methods planner kernels transport exec calibrate study report)
set(cli_may_use core device traces published planner kernels collectives goal transport methods sim exec calibrate study
    report)

# Public headers; without a list, the one that is named after the room. All of core's are public.
set(traces_public traces.h cluster.h counts.h data.h gradients.h imports.h model.h paper_table.h plan.h result.h timeline.h)
set(device_public device.h cuda.h launch.cuh)
set(transport_public transport.h gpu.h group.h watch.h)
set(kernels_public codes.h gpu.h kernels.h low_rank.h memory.h sketch.h gradients/emulation.h)
set(study_public study.h advice.h axes.h check.h crossovers.h difference.h grid.h plan_sweep.h plans.h points.h predict.h scenario.h
    rank.h reproduction.h survey.h validate.h)
set(report_public report.h page.h pictures.h measurements.h sweep.h)
set(methods_public methods.h costs.h kernel_cost.h schedule.h)

set(without_mpi_and_cuda core engine traces published planner collectives methods goal sim study report
    library)
set(without_algorithm_names sim exec)

# Of the line `number` of `file`, which the caller has.
function(violation what)
  set_property(GLOBAL APPEND_STRING PROPERTY violations "\n  ${file}:${number}: ${what}")
endfunction()

# The file's lines, with what would upset a list of CMake's replaced.
function(read_lines path out)
  file(READ ${path} text)
  string(REGEX REPLACE "[][;\\]" "?" text "${text}")
  string(REPLACE "\n" ";" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(find_algorithm_names out)
  file(STRINGS ${SOURCE}/methods/presets.c found REGEX "\\.name = \"")
  string(REGEX MATCHALL "\\.name = \"[^\"]+\"" found "${found}")
  string(REGEX REPLACE "\\.name = \"([^\"]+)\"" "\\1" names "${found}")
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# `header` is what a file of `room` includes in quotes.
function(check_include room header)
  if(NOT "${header}" MATCHES "^([a-z]+)/(([a-z]+/)*[a-z0-9_]+\\.(h|inc|cuh))$")
    violation("#include \"${header}\": expected \"room/header.h\" or \"room/folder/header.h\"")
  else()
    set(used ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    set(public ${${used}_public})
    if(NOT public)
      set(public ${used}.h)
    endif()
    if(used STREQUAL "${room}")
      # its own
    elseif(NOT used IN_LIST ${room}_may_use)
      string(REPLACE ";" ", " allowed "${${room}_may_use}")
      violation("#include \"${header}\": ${room} may use: ${allowed}")
    elseif(NOT used STREQUAL core AND NOT name IN_LIST public)
      string(REPLACE ";" ", " allowed "${public}")
      violation("#include \"${header}\": private to ${used}, whose public headers are: ${allowed}")
    endif()
  endif()
endfunction()

function(check_line room line)
  if("${line}" MATCHES "^[ \t]*#[ \t]*include[ \t]*\"([^\"]+)\"")
    check_include(${room} "${CMAKE_MATCH_1}")
  endif()
  if(${room} IN_LIST without_mpi_and_cuda AND
      "${line}" MATCHES "^[ \t]*#[ \t]*include[ \t]*[<\"](mpi|cuda[a-z_]*|nccl|cublas[a-z0-9_]*)\\.h")
    violation("#include of ${CMAKE_MATCH_1}.h: ${room} must build without MPI and CUDA")
  endif()
  # a collective may have an algorithm's name
  if(${room} IN_LIST without_algorithm_names AND "${line}" MATCHES "${quoted_names}" AND
      NOT "${line}" MATCHES "\\.collective = ")
    violation("${CMAKE_MATCH_0}: ${room} must know no algorithm by name")
  endif()
endfunction()

find_algorithm_names(algorithm_names)
list(LENGTH algorithm_names algorithm_count)
if(algorithm_count LESS 2)
  message(FATAL_ERROR "${SOURCE}/methods/presets.c: expected descriptors with .name = \"...\", found ${algorithm_count}")
endif()
string(REPLACE ";" "|" quoted_names "\"(${algorithm_names})\"")

set(file_count 0)
foreach(room IN LISTS rooms)
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${room}/*.c ${SOURCE}/${room}/*.h ${SOURCE}/${room}/*.cu
       ${SOURCE}/${room}/*.cuh)
  if(NOT files)
    message(FATAL_ERROR "${SOURCE}/${room}: expected a room with sources, found none")
  endif()
  foreach(file IN LISTS files)
    math(EXPR file_count "${file_count} + 1")
    set(number 0)
    read_lines(${SOURCE}/${file} lines)
    foreach(line IN LISTS lines)
      math(EXPR number "${number} + 1")
      check_line(${room} "${line}")
    endforeach()
  endforeach()
endforeach()

get_property(violations GLOBAL PROPERTY violations)
if(violations)
  message(FATAL_ERROR "Rooms use what they may not (tests/rooms.cmake has the rules):${violations}")
endif()
message(STATUS "${file_count} files in their rooms; algorithms: ${algorithm_names}")
