export { presentError, presentOrg, presentUser } from './present.ts';
export { type Admin, type AdminOptions, openAdmin } from './service.ts';
