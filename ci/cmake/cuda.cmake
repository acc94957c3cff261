# Finds CUDA when it is there and says so when it is not. Sets PLUMB_HAVE_CUDA.
set(PLUMB_HAVE_CUDA OFF)
if(NOT PLUMB_CUDA STREQUAL "OFF")
  find_program(PLUMB_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
  if(PLUMB_NVCC)
    set(CMAKE_CUDA_COMPILER ${PLUMB_NVCC} CACHE FILEPATH "CUDA compiler")
    # Architectures are given to nvcc directly: CMake 3.25 does not know the "a" ones.
    set(CMAKE_CUDA_ARCHITECTURES OFF)
    set(CMAKE_CUDA_STANDARD 20)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(PLUMB_HAVE_CUDA ON)
    message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: kernels are built for ${PLUMB_CUDA_ARCHS}")
  elseif(PLUMB_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PLUMB_CUDA=ON, but there is no nvcc; install CUDA or set CUDA_HOME")
  else()
    message(STATUS "CUDA: no nvcc found, so only the host device and its kernels are built")
  endif()
endif()

# cuda_flags(<target>): architectures, warnings as errors, uncompressed code (so that the code id
# can be read from the module).
function(cuda_flags target)
  foreach(arch IN LISTS PLUMB_CUDA_ARCHS)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_${arch},code=sm_${arch}>")
  endforeach()
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xfatbin=-compress=false;-Xptxas=-v>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror>")
endfunction()
