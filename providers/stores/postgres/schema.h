/* SPDX-License-Identifier: MIT */
#ifndef SP_STORES_POSTGRES_SCHEMA_H
#define SP_STORES_POSTGRES_SCHEMA_H

#include "pool.h"

/* Makes or migrates the tables, one process at a time. SP_UNSUPPORTED: a newer program made them.
 */
int pg_schema_up(struct pg_session *session, struct sp_error *err);

#endif
