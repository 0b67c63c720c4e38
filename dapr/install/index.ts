export { findDapr } from './find.ts';
export { installDapr } from './install.ts';
export { DAPR_VERSION, type DaprPrograms, type Environment, type Say } from './version.ts';
