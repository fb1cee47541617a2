// SPDX-License-Identifier: MIT
// For drivers in JavaScript: Driver with the subjects that it serves. For their users: what a driver offers, as the
// objects that TanStack AI works with.

export { Cancel, Driver } from './lib/driver.mjs';
export { DriverError } from './lib/errors.mjs';
export { loadSubject } from './lib/load.mjs';
export { LockSubject } from './lib/locks.mjs';
export { ProviderSubject } from './lib/sandboxes.mjs';
export { StoreSubject } from './lib/stores.mjs';
export { Connection, attachDriver, startDriver } from './lib/connection.mjs';
export { ServedProvider, UnsupportedCapabilityError } from './lib/served.mjs';
export { ServedLocks, ServedStore } from './lib/served-store.mjs';
