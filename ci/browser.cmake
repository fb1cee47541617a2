# SPDX-License-Identifier: MIT
# The HTML report in a real browser. The test is a named skip where there is none.
if(TARGET sandproof)
  add_executable(browser_shots EXCLUDE_FROM_ALL ci/browser_shots.c ci/browser.c)
  target_link_libraries(browser_shots PRIVATE sp_base)
endif()
if(SANDPROOF_TESTS)
  add_executable(ci_browser_test ci/browser_test.c ci/browser.c)
  target_link_libraries(ci_browser_test PRIVATE sp_reports sp_results sp_base PkgConfig::CRITERION)
  target_compile_definitions(ci_browser_test PRIVATE SP_TEST_BIN_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ci_browser_test COMMAND ci_browser_test --jobs 1)
  set_tests_properties(ci_browser_test PROPERTIES TIMEOUT 900)
endif()
