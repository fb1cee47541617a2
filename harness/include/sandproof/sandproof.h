/* SPDX-License-Identifier: MIT */
/* Everything that a provider, store, lock, plugin or suite author needs. */
#ifndef SANDPROOF_SANDPROOF_H
#define SANDPROOF_SANDPROOF_H

#include <sandproof/cancel.h>
#include <sandproof/capabilities.h>
#include <sandproof/case.h>
#include <sandproof/control.h>
#include <sandproof/ensure.h>
#include <sandproof/error.h>
#include <sandproof/journal.h>
#include <sandproof/platform.h>
#include <sandproof/plugin.h>
#include <sandproof/process.h>
#include <sandproof/provider.h>
#include <sandproof/sandbox.h>
#include <sandproof/seams.h>
#include <sandproof/store.h>
#include <sandproof/subject.h>
#include <sandproof/transport.h>
#include <sandproof/types.h>

#endif
