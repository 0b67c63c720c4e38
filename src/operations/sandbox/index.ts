export { dropOldLedger, type LedgerRow, sandboxLedger } from './store.ts';
