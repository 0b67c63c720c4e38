import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '../../api/http/openapi/index.ts';
import { described } from '../../api/resources/openapi/described.ts';
import { routes } from '../../api/resources/routes.gen.ts';
import { newId } from '../../src/platform/kernel/index.ts';
import { installPeer } from '../support/peers/peer-install.ts';
import { describePeer, startProcess } from '../support/peers/peers.ts';
import { type Answer, Client } from '../support/worlds/app.ts';
import { PUBLIC_CALLS, type PublicCallsWorld, publicCallsWorld } from '../support/worlds/public-calls.ts';
import { freePorts } from '../support/wire/ports.ts';

// The public API behind a proxy of others that holds each request and answer against the document.

const PREFIX = '/public/v1/';

let folder = '';
const notStarted = () => Promise.reject(new Error('it is started by the test'));
const find = async () => {
  folder = await installPeer('email-apis');
  return { start: notStarted };
};

/** Starts the proxy in front of the product, with the document of all routes. */
async function startProxy(address: string, place: string) {
  const document = openApi(routes, { ...described, prefix: '/', version: '1.0.0' });
  const file = join(place, 'openapi.json');
  await writeFile(file, JSON.stringify({ ...document, servers: [{ url: address }] }));
  const [port] = (await freePorts(1)) as [number];
  const url = `http://127.0.0.1:${port}`;
  const node = await readFile(`${folder}/node_modules/.node`, 'utf8');
  const command = `${folder}/node_modules/@stoplight/prism-cli/dist/index.js`;
  const args = [command, 'proxy', file, address, '--host', '127.0.0.1', '--port', String(port)];
  return startProcess('prism', node, args, {
    cwd: place,
    env: { SCARF_ANALYTICS: 'false' },
    probe: async () => {
      await fetch(url); // whatever it answers
      return { url };
    },
  });
}

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- a document
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

interface Operation {
  name: string;
  method: string;
  path: string;
  success: number;
  /** The examples of the document: of the body, and of each parameter by its place and name. */
  body: unknown;
  given: Record<'path' | 'query' | 'header', Record<string, string>>;
  isStream: boolean;
}
const operationsOf = (prefix: string): Operation[] =>
  Object.entries(openApi(routes, { ...described, prefix, version: '1.0.0' })['paths'] as Json).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const { requestBody, responses, parameters = [] } = item[method] as Json;
      const success = Object.keys(responses).find((status) => status < '4')!;
      const given: Operation['given'] = { path: {}, query: {}, header: {} };
      for (const { in: place, name, required, example } of parameters as Json[])
        if (required && place in given) given[place as 'path'][name] = String(example);
      return {
        name: `${method.toUpperCase()} ${path.replace(/^\/public\/v1(?=\/)/, '')}`,
        method: method.toUpperCase(),
        path,
        success: Number(success),
        body: requestBody?.content['application/json']?.example as unknown,
        given,
        isStream: 'text/event-stream' in (responses[success].content ?? {}),
      };
    }),
  );
/** Its refusals are in the words of OAuth where the client is at fault, and in ours otherwise. */
const BOTH_FORMS = 'POST /oauth/authorize 400 ';
const OPERATIONS = operationsOf(PREFIX);
const addressOf = (path: string, values: Record<string, string>, query: Record<string, string> = {}): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, key: string) => {
    if (values[key] === undefined) throw new Error(`${path} needs a value for ${key}`);
    return encodeURIComponent(values[key]);
  });
  return Object.keys(query).length > 0 ? `${filled}?${new URLSearchParams(query)}` : filled;
};

await describePeer('prism', find, () => {
  let place: string;
  let world: PublicCallsWorld;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let client: Client;
  const opened = new AsyncDisposableStack();
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'rookery-prism-'));
    opened.defer(() => rm(place, { recursive: true, force: true }));
    world = opened.use(await publicCallsWorld());
    proxy = opened.use(await startProxy(world.product.address, place));
    client = new Client(proxy.url);
    client.headers = { authorization: world.key.key };
  }, 180_000);
  afterAll(() => opened.disposeAsync());

  const violationsOf = ({ headers }: Answer) => headers.get('sl-violations');

  test.each(OPERATIONS)('$name is called and answers as its document says [S267]', async ({ name, ...operation }) => {
    const { path = {}, query, body = operation.body } = (await PUBLIC_CALLS[name]?.(world)) ?? {};
    const answer = await client.send(operation.method, addressOf(operation.path, path, query), body);
    expect([answer.status, violationsOf(answer), answer.status < 300 || answer.text]).toEqual([
      operation.success,
      null,
      true,
    ]);
  });

  test('every operation of the console answers the examples of the document as it says', async () => {
    const others = operationsOf('/').filter(({ path, isStream }) => !path.startsWith(PREFIX) && !isStream);
    const faults: string[] = [];
    let session: Client | undefined;
    for (const { name, method, path, body, given } of others) {
      if ((await session?.get('/user/self'))?.status !== 200) {
        const { client: fresh, userId } = await world.product.signUp(); // the last operation has ended the session
        await world.product.db.sql`update users set is_super_admin = true where id = ${userId}`;
        session = new Client(proxy.url);
        for (const [cookie, value] of fresh.cookies) session.cookies.set(cookie, value);
      }
      const answer = await session!.send(method, addressOf(path, given.path, given.query), body, given.header);
      const told = JSON.parse(violationsOf(answer) ?? '[]') as { location: string[]; message: string }[];
      // the document has no example of a body that is no JSON, and of a credential
      for (const { location, message } of told.filter(({ location: [side] }) => side === 'response'))
        faults.push(`${name} ${answer.status} ${location.join('.')}: ${message}`);
    }
    expect(others.length).toBeGreaterThan(300);
    expect(faults.filter((fault) => !fault.startsWith(BOTH_FORMS))).toEqual([]);
  }, 120_000);

  test('no row names an operation that is not there', () => {
    const names = new Set(OPERATIONS.map(({ name }) => name));
    expect(Object.keys(PUBLIC_CALLS).filter((name) => !names.has(name))).toEqual([]);
  });

  test('a lookup of what is not there, and an unchanged list, are as described, too', async () => {
    const gone = await client.get(`/public/v1/posts/${newId()}`);
    expect([gone.status, violationsOf(gone)]).toEqual([404, null]);
    const list = await client.get('/public/v1/tags');
    const same = await client.get('/public/v1/tags', { 'if-none-match': list.headers.get('etag')! });
    expect([same.status, violationsOf(same)]).toEqual([304, null]);
  });

  test('it does look: what the document does not know is told', async () => {
    const answer = await client.post('/public/v1/tags', { title: 'Ours' });
    expect([answer.status, violationsOf(answer)]).toEqual([400, expect.stringContaining('title')]);
  });
});
