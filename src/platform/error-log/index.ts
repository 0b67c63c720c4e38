export { type ErrorLog, type ErrorRow, openErrorLog, errorsRetention } from './error-log.ts';
