// A process of the product for the benchmark `ai-stream`: an organization with a key of OpenAI and a cap.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';

const { databaseUrl, upstream } = JSON.parse(process.argv[2]!) as { databaseUrl: string; upstream: string };
const app = await testApp({
  sql: openDatabase({ url: databaseUrl }),
  servers: { 'ai/openai': upstream },
  env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32', RATE_LIMIT_SCALE: '1000000' },
});
const { client } = await app.signUp();
await client.post('/providers/settings', { domain: 'ai', providerId: 'openai', credentials: { apiKey: 'key' } });
await client.put('/ai/budget', { monthlyCents: 100_000_000 });

answering({
  address: () => ({
    url: `${app.address}/ai/text`,
    headers: {
      cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'x-csrf-token': client.csrf!,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
  }),
  use: () => {
    const { user, system } = process.cpuUsage();
    return { cpuMs: (user + system) / 1_000, rssMib: process.memoryUsage.rss() / 1_024 ** 2 };
  },
});
