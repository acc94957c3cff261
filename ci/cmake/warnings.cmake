# Warnings are errors with every compiler that builds us (gcc, clang; nvcc's are in cuda.cmake).
add_compile_options(
  $<$<COMPILE_LANGUAGE:C>:-Wall>
  $<$<COMPILE_LANGUAGE:C>:-Wextra>
  $<$<COMPILE_LANGUAGE:C>:-Wpedantic>
  $<$<COMPILE_LANGUAGE:C>:-Wshadow>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wpointer-arith>
  $<$<COMPILE_LANGUAGE:C>:-Wcast-qual>
  $<$<COMPILE_LANGUAGE:C>:-Wundef>
  $<$<COMPILE_LANGUAGE:C>:-Wvla>
  $<$<COMPILE_LANGUAGE:C>:-Wformat=2>
  $<$<COMPILE_LANGUAGE:C>:-Wconversion>
  $<$<COMPILE_LANGUAGE:C>:-Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:C>:-Werror>)
