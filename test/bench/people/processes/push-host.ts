// A process of the product for the benchmark `push`: pushes that are due, sent as actor hosts send them.
import { generateKeyPairSync } from 'node:crypto';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { socketConnector } from '../../../../src/platform/outbound/pools.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';

const { databaseUrl, port, cert } = JSON.parse(process.argv[2]!) as { databaseUrl: string; port: number; cert: string };
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const sql = openDatabase({ url: databaseUrl });
const beneath = socketConnector([cert]);
const { context } = await testApp({
  sql,
  env: {
    FCM_PROJECT_ID: 'bench',
    FCM_CLIENT_EMAIL: 'push@example.com',
    FCM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().replaceAll('\n', '\\n'),
  },
  network: {
    resolver: async () => ['127.0.0.1'],
    connector: (options, callback) => beneath({ ...options, port: String(port) }, callback),
  },
});
let sender: AsyncDisposable | undefined;

answering({
  /** People with a device each, and a push to it that is due. */
  async seed({ devices }: { devices: number }) {
    await sql`delete from users`;
    await sql`
      with made as materialized (
        select gen_random_uuid() as id from generate_series(1, ${devices}::int)
      ), u as (
        insert into users (id, email, provider_name, provider_id, activated)
        select id, id || '@example.com', 'local', id::text, true
        from made
      ), s as (
        insert into sessions (id, user_id, token_hash, expires_at)
        select id, id, sha256(id::text::bytea), now() + interval '1 year'
        from made
      ), t as (
        insert into push_tokens (id, user_id, session_id, token, token_hash, via, platform)
        select id, id, id, id::text, sha256(id::text::bytea), 'fcm', 'android'
        from made
      )
      insert into pushes (id, token_id, category, title, content)
      select id, id, 'channel_issues', 'Acme is disabled', 'A member disabled it.'
      from made`;
    await sql`vacuum (analyze) push_tokens, pushes`;
  },
  tokens: async () => (await sql<{ token: string }[]>`select token from push_tokens`).map(({ token }) => token),
  start: () => void (sender = context.push.startSender({ restMs: 10 })),
  async stop() {
    await sender?.[Symbol.asyncDispose]();
    return (await sql`select from pushes`).count;
  },
});
