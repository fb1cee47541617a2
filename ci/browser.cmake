# SPDX-License-Identifier: MIT
# The HTML report in a real browser. The test is a named skip where there is none.
if(TARGET sandproof)
  add_executable(browser_shots EXCLUDE_FROM_ALL ci/browser_shots.c ci/browser.c)
  target_link_libraries(browser_shots PRIVATE sp_base)
endif()
