# The man pages against the program: there is one for each verb, whose prose names no option that the
# verb has not, and gradweave.1 has all verbs. A line of a page that shows another verb's command is
# held to that verb. (That a page has all options follows from how it is made.)
#
#   cmake -DPROGRAM=path/to/gradweave -DPAGES=path/to/build/docs/man -P tests/cli/man.cmake

cmake_minimum_required(VERSION 3.25)

foreach(variable PROGRAM PAGES)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "man.cmake: expected -D${variable}=...")
  endif()
endforeach()

function(run_help out)
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help
    OUTPUT_VARIABLE help ERROR_VARIABLE complaint RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " verb)
    message(FATAL_ERROR "gradweave ${verb} --help: expected exit status 0, got ${status}: ${complaint}")
  endif()
  set(${out} "${help}" PARENT_SCOPE)
endfunction()

# The page as a list of lines, with its long options as a user types them.
function(read_page page out)
  if(NOT EXISTS ${page})
    message(FATAL_ERROR "${page}: expected a man page, found none")
  endif()
  file(READ ${page} text)
  string(REPLACE "\\-" "-" text "${text}")
  string(REGEX REPLACE "Fl -([a-z])" "--\\1" text "${text}")
  string(REGEX REPLACE "[][;\\]" " " text "${text}") # what would upset CMake's lists
  string(REPLACE "\n" ";" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# ---- what the program has ------------------------------------------------------------------------

run_help(help)
string(REGEX MATCHALL "\n  [a-z]+ " verbs "${help}")
list(TRANSFORM verbs STRIP)
if(NOT verbs)
  message(FATAL_ERROR "gradweave --help: expected a list of verbs, found none")
endif()
foreach(verb ${verbs})
  run_help(help ${verb})
  string(REGEX MATCHALL "\n  (-.,|   ) --[a-z][a-z-]*" options "${help}")
  list(TRANSFORM options REPLACE "^.*(--[a-z-]+)$" "\\1")
  set(options_${verb} ${options})
  list(APPEND all_options ${options})
endforeach()

# ---- what the pages say --------------------------------------------------------------------------

set(faults 0)
macro(fault)
  message(SEND_ERROR "${ARGN}")
  math(EXPR faults "${faults} + 1")
endmacro()

foreach(verb ${verbs})
  set(page gradweave-${verb}.1)
  read_page(${PAGES}/${page} lines)
  foreach(line IN LISTS lines)
    set(subject ${verb})
    if(line MATCHES "gradweave[ -]([a-z]+)" AND CMAKE_MATCH_1 IN_LIST verbs)
      set(subject ${CMAKE_MATCH_1})
    endif()
    string(REGEX MATCHALL "--[a-z][a-z-]*" options "${line}")
    foreach(option ${options})
      if(NOT option IN_LIST options_${subject})
        fault("${page}: ${option}: expected an option of gradweave ${subject} --help")
      endif()
    endforeach()
  endforeach()
endforeach()

set(page gradweave.1)
read_page(${PAGES}/${page} lines)
foreach(verb ${verbs})
  if(NOT ".Xr gradweave-${verb} 1" IN_LIST lines)
    fault("${page}: expected the verb ${verb} with \".Xr gradweave-${verb} 1\"")
  endif()
endforeach()
string(REGEX MATCHALL "--[a-z][a-z-]*" options "${lines}")
foreach(option ${options})
  if(NOT option IN_LIST all_options)
    fault("${page}: ${option}: expected an option that some verb has")
  endif()
endforeach()

file(GLOB pages RELATIVE ${PAGES} ${PAGES}/gradweave-*.1)
foreach(file ${pages})
  string(REGEX REPLACE "^gradweave-(.*)\\.1$" "\\1" verb ${file})
  if(NOT verb IN_LIST verbs)
    fault("${file}: expected a page of a verb that gradweave --help lists")
  endif()
endforeach()

if(faults EQUAL 0)
  list(LENGTH verbs verb_count)
  list(LENGTH all_options option_count)
  message(STATUS "${verb_count} verbs, ${option_count} options: pages and program agree")
endif()
