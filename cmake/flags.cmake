# Flags are set once for the whole tree: every object is compiled alike, which is also what lets one precompiled
# header serve all targets.

# Assertions stay on in a release (no NDEBUG). -g1 is enough for a backtrace with lines.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -Wnull-dereference -Wimplicit-fallthrough
  # Designated initializers leave the rest at its default on purpose.
  -Wno-missing-field-initializers)
if(DROVER_WERROR)
  add_compile_options(-Werror)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # What g++ 12 and 13 report falsely, in optimised builds, about the inlined insides of string, vector, optional and
  # expected (GCC bugs 105651, 105329, 105562). The sanitizers see the true cases.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                      -Wno-maybe-uninitialized -Wno-null-dereference)
else()
  # clang counts more under these names than g++ does: signs in -Wconversion, init-captures in -Wshadow.
  add_compile_options(-Wno-sign-conversion -Wno-shadow -Wno-missing-designated-field-initializers)
  # clang reports a deprecated call inside the std::stable_sort of libstdc++ 12, at every use; g++ reports our own calls.
  add_compile_options(-Wno-deprecated-declarations)
endif()

# Hardening. Sanitizers bring their own checks and do not go with _FORTIFY_SOURCE.
add_compile_options(-fPIE -fstack-protector-strong)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
add_link_options(-pie -Wl,-z,relro,-z,now)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT DROVER_SANITIZE)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  set(DROVER_SPLIT_DEBUG ON)
endif()

if(DROVER_SANITIZE)
  add_compile_options(-fsanitize=${DROVER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DROVER_SANITIZE})
endif()

if(DROVER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(DROVER_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
