export { cacheFolder, findDapr, type Found } from './find.ts';
export { installDapr, type InstallOptions } from './install.ts';
export { DAPR_VERSION, type DaprPrograms, type Environment, type Say } from './version.ts';
