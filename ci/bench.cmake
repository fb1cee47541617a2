# SPDX-License-Identifier: MIT
# The figures of ci/bench. A tool at the top: it may see every room.
if(TARGET sandproof)
  add_executable(bench EXCLUDE_FROM_ALL ci/bench.c ci/bench_spawn.c ci/bench_series.c ci/bench_exec.c ci/bench_run.c ci/bench_empty.c ci/bench_journal.c
                 ci/bench_api.c ci/bench_server.c ci/bench_snapshot.c ci/bench_reports.c ci/browser.c)
  target_link_libraries(bench PRIVATE sp_cli sp_runner sp_journal sp_control sp_render sp_http sp_local sp_results sp_redact sp_base)
  add_dependencies(bench sandproof)
endif()
if(TARGET sp_stores_sqlite AND TARGET sp_stores_postgres)
  add_executable(bench_stores EXCLUDE_FROM_ALL ci/bench_stores.c ci/bench_raw_sqlite.c ci/bench_raw_postgres.c ci/bench_series.c)
  target_link_libraries(bench_stores PRIVATE sp_stores_sqlite sp_stores_postgres sp_base)
endif()
if(TARGET sandproof)
  add_executable(bench_driver EXCLUDE_FROM_ALL ci/bench_driver.c ci/bench_series.c ci/bench_spawn.c)
  target_link_libraries(bench_driver PRIVATE sp_driver sp_base)
  add_dependencies(bench_driver sandproof)
endif()
