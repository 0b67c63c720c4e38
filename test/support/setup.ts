import { startServices } from './wire/services.ts';

/** Once per project and run: a real Postgres and Redis, and the migrated template that every test file clones. */
export default async function setup(): Promise<void> {
  const services = await startServices();
  if (!services.redisUrl && process.env['PEERS_REQUIRED'] === '1')
    throw new Error('Redis is not on this machine, and PEERS_REQUIRED=1');
  process.env['TEST_DATABASE_URL'] = services.databaseUrl;
  process.env['TEST_REDIS_URL'] = services.redisUrl ?? '';
  (globalThis as { rookeryServices?: AsyncDisposable }).rookeryServices = services;
}
