export { type Action, ACTIONS, type Permission, type Resource, RESOURCES } from './permissions.ts';
