export { openBriefs } from './service.ts';
