# What `cmake --install` leaves: a program that finds its data, and a library that pkg-config finds. Called with
# BUILD (folder), COMPILER, VERSION, WORK (a folder of its own), SOURCE (the repository), EXAMPLES (the folder with
# docs/examples as the build made them).
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

# run(OUT command...): the command's output; an error if it fails.
function(run out)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE result
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}${error}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

run(output ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# The program reads the installed data: a model that is only there is listed and found.
file(COPY_FILE ${prefix}/share/gradweave/models/resnet50.json ${prefix}/share/gradweave/models/only-here.json)
run(output ${prefix}/bin/gradweave list models)
if(NOT output MATCHES "only-here")
  message(FATAL_ERROR "the installed program does not list the installed models:\n${output}")
endif()
run(output ${prefix}/bin/gradweave simulate only-here --cluster p102-1gbe-16 --algo omgs)
foreach(file share/gradweave/plots/breakdown.gp share/gradweave/plots/lines.gp share/gradweave/plots/streams.gp
             share/man/man1/gradweave.1 include/gradweave.h)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()

# A program of someone else's.
file(GLOB_RECURSE description ${prefix}/lib*/gradweave.pc)
cmake_path(GET description PARENT_PATH folder)
cmake_path(GET folder PARENT_PATH library_folder)
set(ENV{PKG_CONFIG_PATH} ${folder})
file(WRITE ${WORK}/trainer.c
  "#include <gradweave.h>\n#include <stdio.h>\nint main(void) { return puts(gradweave_version()) < 0; }\n")
run(flags pkg-config --cflags --libs gradweave)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(output ${COMPILER} ${WORK}/trainer.c -o ${WORK}/trainer ${flags} -Wl,-rpath,${library_folder})
run(output ${WORK}/trainer)
if(NOT output STREQUAL VERSION)
  message(FATAL_ERROR "expected version ${VERSION} from the installed library, got ${output}")
endif()

# A trainer, which joins MPI by what was installed beside the library; alone it is a job of one rank.
file(GLOB plugin ${library_folder}/libgradweave_mpi.so)
if(plugin)
  run(output ${COMPILER} -O2 ${SOURCE}/docs/examples/train.c -o ${WORK}/train ${flags} -lm -Wl,-rpath,${library_folder})
  run(output ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      ${WORK}/train topk ${SOURCE}/docs/files.md)
  if(NOT output MATCHES "^topk, 1 ranks: loss")
    message(FATAL_ERROR "docs/examples/train.c: expected a loss from the installed library, got\n${output}")
  endif()
endif()

# The examples, the second one with the installed data.
set(data ${prefix}/share/gradweave)
set(plan_arguments)
set(predict_arguments ${data}/models/resnet50.json ${data}/clusters/p102-1gbe-16.json)
foreach(example plan predict)
  run(output ${COMPILER} ${SOURCE}/docs/examples/${example}.c -o ${WORK}/${example} ${flags} -Wl,-rpath,${library_folder})
  run(output ${WORK}/${example} ${${example}_arguments})
  run(expected ${EXAMPLES}/example_${example} ${${example}_arguments})
  if(NOT output STREQUAL expected OR output STREQUAL "")
    message(FATAL_ERROR "docs/examples/${example}.c: expected from the installed library\n${expected}\ngot\n${output}")
  endif()
endforeach()

# The library finds the installed data by itself, a model that is only there as well.
run(output ${WORK}/predict only-here p102-1gbe-16)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the installed library predicts of the installed model\n${output}\nin place of\n${expected}")
endif()
