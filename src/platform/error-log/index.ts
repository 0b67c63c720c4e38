export { type ErrorLog, type ErrorRow, openErrorLog } from './error-log.ts';
