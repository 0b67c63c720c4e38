export { type Health, type HealthEngine, type HealthReport, openHealth } from './health.ts';
