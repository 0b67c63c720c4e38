export { presentLedger } from './present.ts';
export { dropOldLedger, type LedgerRow, sandboxLedger } from './store.ts';
