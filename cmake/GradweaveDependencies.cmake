# Libraries. cJSON and GSL are needed; MPI, CUDA, NCCL and OpenMP are found or left out.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(cjson REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(gsl REQUIRED IMPORTED_TARGET gsl)

set(GRADWEAVE_HAVE_MPI FALSE)
if(GRADWEAVE_MPI)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI COMPONENTS C QUIET)
  set(GRADWEAVE_HAVE_MPI ${MPI_C_FOUND})
endif()

# Of the GPUs that kernels are built for; later ones take what the last, in PTX, stands for.
set(GRADWEAVE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "As CMAKE_CUDA_ARCHITECTURES")
set(GRADWEAVE_HAVE_CUDA FALSE)
if(GRADWEAVE_CUDA STREQUAL "EMULATED")
  enable_language(CXX)
  set(GRADWEAVE_HAVE_CUDA TRUE)
elseif(GRADWEAVE_CUDA)
  include(CheckLanguage)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
    set(CMAKE_CUDA_ARCHITECTURES ${GRADWEAVE_CUDA_ARCHITECTURES})
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      enable_language(CUDA)
      set(GRADWEAVE_HAVE_CUDA TRUE)
    endif()
  endif()
endif()

set(GRADWEAVE_HAVE_NCCL FALSE)
if(GRADWEAVE_CUDA STREQUAL "EMULATED")
  set(GRADWEAVE_HAVE_NCCL TRUE)
  set(NCCL_INCLUDE_DIR ${CMAKE_SOURCE_DIR}/tests/emulation)
elseif(GRADWEAVE_NCCL AND GRADWEAVE_HAVE_CUDA)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    set(GRADWEAVE_HAVE_NCCL TRUE)
  endif()
endif()

# The thread sanitizer does not see how OpenMP's own threads wait for each other.
set(GRADWEAVE_HAVE_OPENMP FALSE)
if(GRADWEAVE_OPENMP AND NOT GRADWEAVE_SANITIZE MATCHES thread)
  find_package(OpenMP COMPONENTS C QUIET)
  set(GRADWEAVE_HAVE_OPENMP ${OpenMP_C_FOUND})
endif()

message(STATUS "gradweave: MPI ${GRADWEAVE_HAVE_MPI}, CUDA ${GRADWEAVE_HAVE_CUDA}, "
               "NCCL ${GRADWEAVE_HAVE_NCCL}, OpenMP ${GRADWEAVE_HAVE_OPENMP}")
