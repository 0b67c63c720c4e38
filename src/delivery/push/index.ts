export { openPush, type Push } from './service.ts';
export { type DeviceRow, type NewPush, PUSH_PLATFORMS } from './store.ts';
