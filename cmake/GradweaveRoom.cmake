# What all rooms share: the language, the warnings, the sanitizers, and how a room is declared.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(gradweave_options INTERFACE)
target_include_directories(gradweave_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(gradweave_options INTERFACE _GNU_SOURCE)
set(warnings -Wall -Wextra -Wshadow $<$<BOOL:${GRADWEAVE_WERROR}>:-Werror>)
target_compile_options(gradweave_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${warnings};-Wconversion;-ffp-contract=off;-fvisibility=hidden>"
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings};-ffp-contract=off;-fvisibility=hidden>"
  # Products are not fused into sums: what a GPU gives is to the bit what the CPU gives.
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Xcompiler=-Wall,-Wextra,-fvisibility=hidden>"
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${GRADWEAVE_WERROR}>>:-Werror=all-warnings>")
if(GRADWEAVE_SANITIZE)
  set(sanitize -fsanitize=${GRADWEAVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(gradweave_options INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:${sanitize}>")
  target_link_options(gradweave_options INTERFACE ${sanitize})
endif()
if(GRADWEAVE_FUZZ)
  target_compile_options(gradweave_options INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
if(GRADWEAVE_HAVE_CUDA)
  target_compile_definitions(gradweave_options INTERFACE GW_HAVE_CUDA)
endif()

include(CheckIPOSupported)
check_ipo_supported(RESULT GRADWEAVE_HAVE_IPO LANGUAGES C)
# Programs with CUDA are linked by nvcc's host compiler, which must know what the C compiler's objects are.
if(CMAKE_CUDA_COMPILER AND NOT "${CMAKE_C_COMPILER_ID} ${CMAKE_CUDA_HOST_LINK_LAUNCHER}" MATCHES "^(GNU .*(gcc|g[+][+]|/c[+][+])|.*Clang .*clang)")
  message(STATUS "No inlining across files: ${CMAKE_C_COMPILER_ID} compiles C, and ${CMAKE_CUDA_HOST_LINK_LAUNCHER} links")
  set(GRADWEAVE_HAVE_IPO FALSE)
endif()

# gradweave_room(NAME SOURCES file... USES room-or-library... [INLINED])
# A room is a static library; what it may include is what it USES (tests/rooms.cmake holds it to that).
# INLINED: in release builds, functions are inlined across its files and those of other INLINED rooms.
function(gradweave_room name)
  cmake_parse_arguments(room "INLINED" "" "SOURCES;USES" ${ARGN})
  add_library(${name} STATIC ${room_SOURCES})
  target_link_libraries(${name} PUBLIC gradweave_options ${room_USES})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME gradweave_${name})
  if(room_INLINED)
    set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE ${GRADWEAVE_HAVE_IPO})
    if(GRADWEAVE_HAVE_IPO)
      # whoever links the room: clang's linker does not see by itself what the objects are
      target_link_options(${name} INTERFACE $<$<AND:$<C_COMPILER_ID:Clang>,$<CONFIG:Release>>:-flto=thin>)
    endif()
  endif()
endfunction()

# gradweave_cuda(ROOM file...): .cu files of a room, where there is CUDA; emulated, they are C++.
function(gradweave_cuda room)
  if(GRADWEAVE_HAVE_CUDA)
    target_sources(${room} PRIVATE ${ARGN})
  endif()
  if(GRADWEAVE_CUDA STREQUAL "EMULATED")
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX
      COMPILE_OPTIONS "-Wno-unknown-pragmas;-include;${CMAKE_SOURCE_DIR}/tests/emulation/kernels.h")
  endif()
endfunction()
