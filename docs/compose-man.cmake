# A verb's man page: what its table of options says (gradweave VERB --help=mdoc) around the prose of
# docs/man/gradweave-VERB.1. In that, below ".Sh OPTIONS", text behind a line '.\" --name' is added
# to the option of that name.
#
#   cmake -DPROGRAM=path/to/gradweave -DVERB=plan -DPAGE=docs/man/gradweave-plan.1 -DOUT=page.1
#         -P docs/compose-man.cmake

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} ${VERB} --help=mdoc OUTPUT_VARIABLE page
  COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} prose)

# What stands before and from the first `mark` on in the text of a variable.
function(split variable mark before from)
  string(FIND "${${variable}}" "${mark}" at)
  string(SUBSTRING "${${variable}}" 0 ${at} head)
  set(tail "")
  if(NOT at EQUAL -1)
    string(SUBSTRING "${${variable}}" ${at} -1 tail)
  endif()
  set(${before} "${head}" PARENT_SCOPE)
  set(${from} "${tail}" PARENT_SCOPE)
endfunction()

split(prose ".Sh OPTIONS\n" description rest)
string(REPLACE ".Sh OPTIONS\n" "" rest "${rest}")
split(rest ".Sh " details sections)
while(NOT details STREQUAL "")
  string(REGEX MATCH "^\\.\\\\\" --[a-z-]+\n" mark "${details}")
  string(FIND "${page}" "${mark}" found)
  if(mark STREQUAL "" OR found EQUAL -1)
    message(FATAL_ERROR "${PAGE}: expected '.\\\" --name' of an option that gradweave ${VERB} has, "
                        "got:\n${details}")
  endif()
  string(LENGTH "${mark}" length)
  string(SUBSTRING "${details}" ${length} -1 details)
  split(details ".\\\" --" text details)
  string(REPLACE "${mark}" "${text}" page "${page}")
endwhile()
string(REGEX REPLACE "\\.\\\\\" --[a-z-]+\n" "" page "${page}")
string(REPLACE ".\\\" DESCRIPTION\n" "${description}" page "${page}")
file(WRITE ${OUT} "${page}${sections}.Sh SEE ALSO\n.Xr gradweave 1\n")
