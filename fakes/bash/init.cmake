# SPDX-License-Identifier: MIT
# Process 1 of a sandbox: no libc, and none of the project's flags (sanitizers, coverage) apply to it.
set(fake_init ${CMAKE_BINARY_DIR}/fake_init)
add_custom_command(
  OUTPUT ${fake_init}
  COMMAND ${CMAKE_C_COMPILER} -std=c17 -Os -Wall -Wextra -Wno-unused-command-line-argument -ffreestanding -fno-builtin -fno-stack-protector -fno-pie
          -fno-asynchronous-unwind-tables -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,noexecstack -s
          -o ${fake_init} ${CMAKE_SOURCE_DIR}/fakes/bash/init/init.c
  DEPENDS ${CMAKE_SOURCE_DIR}/fakes/bash/init/init.c
  COMMENT "Building process 1 of the sandboxes"
  VERBATIM)
add_custom_target(fake_init_program DEPENDS ${fake_init})
add_dependencies(fake_bash fake_init_program)
set_source_files_properties(${CMAKE_SOURCE_DIR}/fakes/bash/blob.c PROPERTIES
  OBJECT_DEPENDS ${fake_init} COMPILE_DEFINITIONS FAKE_INIT_FILE="${fake_init}")
