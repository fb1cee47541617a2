/* SPDX-License-Identifier: MIT */
/* The functions behind the records of env.c, by file. */
#ifndef SUITE_ENV_CASES_H
#define SUITE_ENV_CASES_H

#include <sandproof/case.h>

/* values.c */
void env_value_bytes(struct sp_case *t);
void env_value_shapes(struct sp_case *t);
void env_value_created(struct sp_case *t);
void env_value_many(struct sp_case *t);
void env_value_too_long(struct sp_case *t);
void env_value_too_much(struct sp_case *t);

/* names.c */
void env_name_refused(struct sp_case *t);
void env_name_created(struct sp_case *t);
void env_name_swallowed(struct sp_case *t);
void env_name_all_or_none(struct sp_case *t);

/* set.c */
void env_set_merges(struct sp_case *t);
void env_set_call_wins(struct sp_case *t);
void env_set_create(struct sp_case *t);
void env_set_resume(struct sp_case *t);
void env_set_shared(struct sp_case *t);
void env_set_rotation(struct sp_case *t);
void env_set_other_handle(struct sp_case *t);
void env_set_concurrent(struct sp_case *t);
void env_set_failed(struct sp_case *t);
void env_set_lost(struct sp_case *t);

/* secrecy.c */
void env_secret_requests(struct sp_case *t);
void env_secret_timeline(struct sp_case *t);
void env_secret_argv(struct sp_case *t);
void env_secret_own_argv(struct sp_case *t);
void env_secret_other_environ(struct sp_case *t);
void env_secret_other_user_held(struct sp_case *t);
void env_secret_call_file(struct sp_case *t);
void env_secret_never_started(struct sp_case *t);
void env_secret_at_rest(struct sp_case *t);
void env_secret_other_user(struct sp_case *t);
void env_secret_host(struct sp_case *t);
void env_secret_git(struct sp_case *t);

/* logs.c */
void env_secret_logs(struct sp_case *t);

/* errors.c */
void env_error_refused(struct sp_case *t);
void env_error_name(struct sp_case *t);
void env_error_upload(struct sp_case *t);
void env_error_start(struct sp_case *t);

#endif
