# SPDX-License-Identifier: MIT
# The figures of ci/bench. A tool at the top: it may see every room.
if(TARGET sandproof)
  add_executable(bench EXCLUDE_FROM_ALL ci/bench.c ci/bench_exec.c ci/bench_run.c ci/bench_empty.c ci/bench_journal.c)
  target_link_libraries(bench PRIVATE sp_runner sp_journal sp_control sp_render sp_http sp_local sp_results sp_redact sp_base)
  add_dependencies(bench sandproof)
endif()
