import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { testApp } from '../../support/worlds/app.ts';
import { openNetwork, sealedLogin, startPublisher } from '../../support/worlds/publishing/world.ts';
import { picture } from '../../support/worlds/samples.ts';

let db: TestDatabase;
let site: Receiver;
beforeAll(async () => {
  db = await testDatabase();
  const png = await picture(4, 4);
  site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** A span as OTLP/HTTP carries it in JSON (opentelemetry-proto 1.x, `trace/v1/trace.proto`). */
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code?: number };
}
interface Sent {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: Span[] }[];
  }[];
}
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const SECRET_QUERY = 'signature=not-for-anybody';

/** Runs the product for a post and an upload from an address, and answers what the collector was sent. */
async function traced(env: (collector: string) => Record<string, string>) {
  await using collector = await startReceiver({
    answer: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
  });
  const logs = [];
  {
    await using world = await startPublisher({ url: db.url, network: openNetwork(), env: env(collector.url) });
    await using app = await testApp({ sql: db.sql, env: env(collector.url), ...world.beside });
    logs.push(app.log, world.log);
    const ann = await app.signUp();
    const key = await ann.withKey();
    key.headers['traceparent'] = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
    const channel = newId();
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${channel}, ${ann.orgId}, 'fake', 'v1', ${channel}, 'First', ${sealedLogin(channel)})`;
    const posted = await key.post('/public/v1/posts', {
      type: 'schedule',
      date: systemClock.in(3_600_000).toISOString(),
      posts: [{ integration: { id: channel }, value: [{ content: 'x', image: [] }] }],
    });
    expect(posted.status).toBe(201);
    expect((await key.post('/public/v1/upload-from-url', { url: `${site.url}/a.png?${SECRET_QUERY}` })).status).toBe(
      201,
    );
    expect((await key.get('/public/v1/posts/nothing-there/at-all')).status).toBe(404);
  }
  const sent = collector.ledger.map(({ path, body }) => ({ path, text: String(body) }));
  const batches = sent.flatMap(({ text }) => (JSON.parse(text) as Sent).resourceSpans);
  return {
    sent,
    warnings: logs.flatMap(({ lines }) => lines).filter(({ message }) => message.includes('spans')),
    services: new Set(
      batches.flatMap(({ resource }) =>
        resource.attributes.flatMap(({ key, value }) => (key === 'service.name' ? [value.stringValue] : [])),
      ),
    ),
    spans: batches.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  };
}
const attributesOf = (span: Span) =>
  Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

test('requests, turns of actors and calls to the outside are one trace, below that of the caller [DE31]', async () => {
  const { sent, spans } = await traced((url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/` }));
  expect(new Set(sent.map(({ path }) => path))).toEqual(new Set(['/v1/traces']));
  const named = (name: string) => spans.filter((span) => span.name === name && span.traceId === CALLER.traceId);

  const [create] = named('POST /public/v1/posts');
  expect(create).toMatchObject({ parentSpanId: CALLER.spanId, kind: 2 });
  expect(attributesOf(create!)).toMatchObject({ 'http.route': '/public/v1/posts', 'http.response.status_code': 201 });
  const [admit] = named('Organization.admit');
  expect(admit).toMatchObject({ parentSpanId: create!.spanId });

  const [upload] = named('POST /public/v1/upload-from-url');
  const [fetched] = named('GET');
  expect(fetched).toMatchObject({ parentSpanId: upload!.spanId, kind: 3 });
  expect(attributesOf(fetched!)).toMatchObject({ 'server.address': '127.0.0.1', 'http.response.status_code': 200 });
  expect(site.ledger.every(({ headers }) => headers['traceparent'] === undefined)).toBe(true);

  expect(named('GET unknown')).toHaveLength(1);
  expect(sent.some(({ text }) => text.includes(SECRET_QUERY) || text.includes('nothing-there'))).toBe(false);
});

test('spans name the service as it is set, service-backend by default [DE32]', async () => {
  const named = await traced((url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'mine' }));
  expect(named.services).toEqual(new Set(['mine']));
  const usual = await traced((url) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url }));
  expect(usual.services).toEqual(new Set(['service-backend']));
});

test('without an endpoint nothing is traced, and one that does not answer stops nothing [DE31]', async () => {
  expect(await traced(() => ({}))).toMatchObject({ sent: [], warnings: [] });
  const away = await traced(() => ({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }));
  expect(away.sent).toEqual([]);
  expect(away.warnings.map(({ level, message }) => `${level} ${message}`)).toEqual(
    Array.from({ length: 2 }, () => 'warn spans could not be sent to the collector'), // one of each process
  );
});
