import { startServices } from './services.ts';

/** Once per project and run: a real Postgres and Redis, and the migrated template that every test file clones. */
export default async function setup(): Promise<void> {
  const services = await startServices();
  process.env['TEST_DATABASE_URL'] = services.databaseUrl;
  process.env['TEST_REDIS_URL'] = services.redisUrl ?? '';
  (globalThis as { rookeryServices?: AsyncDisposable }).rookeryServices = services;
}
