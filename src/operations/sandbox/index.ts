import type { Database } from '../../platform/db/index.ts';
import { bind } from '../../platform/kernel/index.ts';
import { dropOldLedger, sandboxLedger } from './store.ts';

export type { LedgerRow } from './store.ts';

/** The ledger of the sandbox network. */
export const openSandbox = (sql: Database) => bind(sql, { dropOldLedger, listLedger: sandboxLedger });
