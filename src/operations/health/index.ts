export { type Health, type HealthReport, openHealth } from './health.ts';
export { measureRooms } from './gauges.ts';
