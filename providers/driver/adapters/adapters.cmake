# SPDX-License-Identifier: MIT
# The adapters' own tests, against the toys and against what our program serves; what is missing is a skip with its name.

# sp_adapter_test(NAME INTERPRETER VERSION REASON ARGUMENTS...): a test, or REASON where the interpreter is missing or older.
function(sp_adapter_test name interpreter version reason)
  if(interpreter)
    execute_process(COMMAND ${interpreter} --version OUTPUT_VARIABLE found ERROR_QUIET)
    string(REGEX MATCH "[0-9]+\\.[0-9]+" found "${found}")
  endif()
  if(interpreter AND found VERSION_GREATER_EQUAL version)
    add_test(NAME ${name} COMMAND ${interpreter} ${ARGN})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "SANDPROOF=${CMAKE_BINARY_DIR}/sandproof")
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

if(SANDPROOF_TESTS)
  set(adapters ${CMAKE_CURRENT_LIST_DIR})
  find_program(SANDPROOF_NODE NAMES node nodejs)
  find_program(SANDPROOF_PYTHON NAMES python3)
  file(GLOB adapter_tests CONFIGURE_DEPENDS ${adapters}/node/test/*.test.mjs)
  sp_adapter_test(driver_adapter_node "${SANDPROOF_NODE}" 18 "no node of version 18 or newer" --test ${adapter_tests})
  sp_adapter_test(driver_adapter_python "${SANDPROOF_PYTHON}" 3.9 "no python3 of version 3.9 or newer"
                  ${adapters}/python/test/test_driver.py)
endif()
