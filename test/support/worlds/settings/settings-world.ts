import { afterAll, beforeAll, expect, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../app.ts';
import { testDatabase, type TestDatabase } from '../../wire/database.ts';
import { eventually } from '../../wire/eventually.ts';
import { type Outside, startOutside } from '../../wire/outside.ts';
import { wholeProduct } from '../product.ts';

export type Env = Readonly<Record<string, string>>;

/**
 * For each file of settings: a database, names of the Internet that lead to this process, an app with the usual
 * settings and its first user, a folder.
 */
export function settingsWorld(hosts: readonly string[] = []) {
  jest.setTimeout(240_000); // processes that start one after another: on a busy machine each takes its time
  const stack = new AsyncDisposableStack();
  let [db, outside, base, ann, folder] = [] as unknown as [TestDatabase, Outside, TestApp, SignedUp, string];
  const open = (env: Env = {}, more: Partial<Pick<Parameters<typeof testApp>[0], 'sql' | 'network'>> = {}) =>
    testApp({ sql: db.sql, env, network: outside.network, ...more });
  const whole = (env: Env = {}, more: Omit<Parameters<typeof wholeProduct>[0] & object, 'env'> = {}) =>
    wholeProduct({ env, network: outside.network, ...more });
  /** The first user at another app over the same rows. */
  const at = ({ address }: { address: string }): Client =>
    Object.assign(new Client(address), { cookies: ann.client.cookies });
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rookery-settings-'));
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    db = stack.use(await testDatabase({ connections: 8 }));
    outside = stack.use(await startOutside(['outside.example', ...hosts]));
    base = stack.use(await open());
    ann = await base.signUp();
  });
  afterAll(() => stack.disposeAsync());
  return {
    open,
    whole,
    at,
    /** Closes with the file. */
    use: <T extends AsyncDisposable>(opened: T): T => stack.use(opened),
    get db() {
      return db;
    },
    get outside() {
      return outside;
    },
    get base() {
      return base;
    },
    /** A super-admin. */
    get ann() {
      return ann;
    },
    get folder() {
      return folder;
    },
    /**
     * Asks a server that says nothing by the usual time limit, then by a short one: the short one must be over first.
     */
    async endsFirst(env: Env, ask: (client: Client, url: string) => Promise<unknown>): Promise<unknown> {
      await using silence = await startSilence();
      await using usual = await open();
      await using short = await open(env);
      const patient = ask(at(usual), silence.url).then(() => 'the usual one');
      await eventually('it is asked', () => silence.sockets.size > 0);
      const answer = ask(at(short), silence.url);
      expect(await Promise.race([answer.then(() => 'the short one'), patient])).toBe('the short one');
      await silence[Symbol.asyncDispose]();
      await patient;
      return answer;
    },
  };
}

export const newcomer = () => ({
  provider: 'LOCAL',
  email: `${newId()}@example.com`,
  password: 'correct horse battery',
  company: 'Acme',
});

/** A server that takes connections and says nothing, until it is disposed of. */
export async function startSilence() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    host,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
