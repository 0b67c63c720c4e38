export type { OrgRow } from './org-store.ts';
export { type Admin, type AdminOptions, openAdmin } from './service.ts';
export type { UserRow } from './user-store.ts';
