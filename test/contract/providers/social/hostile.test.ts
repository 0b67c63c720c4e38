import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { openOutbound, type Network, type Outbound } from '../../../../src/platform/outbound/index.ts';
import { ANSWER_BYTES } from '../../../../src/providers/kit/declare/adapter.ts';
import type { SocialAdapter, Tokens } from '../../../../src/providers/registry/index.ts';
import { adapters } from '../../../../src/providers/registry/registry.gen.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import type { SocialFixture } from '../../../support/peers/suites/social.ts';
import { startInternet } from '../../../support/wire/outside.ts';
import { localProviders } from '../../../support/worlds/providers.ts';

// Hostile servers, for each network whose server the user chooses. That uploads stay at their host is shown by the suite
// of each network; a relay of Nostr that never stops by `nostr-relays.test.ts`.

const FIXTURES = new URL('../../../fixtures/providers/social/', import.meta.url);
const PUBLIC = '93.184.215.14';
const PRIVATE = '10.0.0.1';
/** Names of the test beside that of the server: one that is called only by who follows a redirect. */
const ELSEWHERE = 'elsewhere.example';

interface Row {
  id: string;
  adapter: SocialAdapter;
  /** The field with the address of the server. */
  field: string;
  values: Readonly<Record<string, string>>;
  account: string;
  tokens: Tokens | undefined;
  /** What a refused address and a redirect are; over websockets their reason is not told. */
  refusal: 'rejected' | 'unavailable';
}

const social = adapters.filter((adapter) => adapter.domain === 'social');
const chosen = social.flatMap((adapter) => {
  const found = Object.entries(adapter.credentials).find(([, { form }]) => form === 'origin' || form === 'site');
  return found ? [{ adapter, field: found[0] }] : [];
});
const rows: Row[] = await Promise.all(
  chosen.map(async ({ adapter, field }): Promise<Row> => {
    const file = new URL(`${adapter.id}.ts`, FIXTURES).pathname;
    const { values, account, tokens } = ((await import(file)) as { default: SocialFixture }).default;
    return { id: adapter.id, adapter, field, values, account, tokens, refusal: 'rejected' };
  }),
);
const nostr = social.find(({ credentials }) => 'relays' in credentials)!;
const relay: Row = {
  id: nostr.id,
  adapter: nostr,
  field: 'relays',
  values: { password: '5d'.repeat(32), relays: 'wss://relay.example' },
  account: '',
  tokens: undefined,
  refusal: 'unavailable',
};
const all = [...rows, relay];
const addressOf = ({ values, field }: Row): string => values[field]!;
const nameOf = (row: Row): string => new URL(addressOf(row)).hostname;

/** The channel of a row on this way out. */
function channelOf(outbound: Outbound, { adapter, values, account, tokens }: Row) {
  const providers = localProviders({ outbound });
  return providers.connect(adapter, { values: providers.fields(adapter, values), account, tokens });
}

test('the table has each network with a server of the choice of its user', () => {
  expect(all.map(({ id }) => id).toSorted()).toEqual([
    'bluesky',
    'lemmy',
    'listmonk',
    'mastodon',
    'nostr',
    'peertube',
    'pixelfed',
    'wordpress',
  ]);
});

describe.each(all)('a server of $id', (row) => {
  /** Addresses that the guard let pass; nothing beneath it is connected to. */
  const reached: string[] = [];
  const connector: Required<Network>['connector'] = (options, callback) => {
    reached.push(options.hostname);
    callback(new Error('refused by the test'), null);
  };
  beforeEach(() => void (reached.length = 0));

  test('whose name leads to a private address is not called', async () => {
    await using outbound = openOutbound({
      timeoutMs: 20_000,
      allowedPrivateCidrs: [],
      resolver: async () => [PRIVATE],
      connector,
    });
    expect(await failureOf(channelOf(outbound, row).profile())).toMatchObject({ failure: row.refusal });
    expect(reached).toEqual([]);
  });

  test('whose name leads to a private address after it was checked is not called there', async () => {
    const answers = [PUBLIC, PUBLIC];
    await using outbound = openOutbound({
      timeoutMs: 20_000,
      allowedPrivateCidrs: [],
      resolver: async () => [answers.shift() ?? PRIVATE],
      connector,
    });
    await outbound.judgeResolved(`https://${nameOf(row)}`);
    const channel = channelOf(outbound, row);
    // the first attempt still sees the public address, and all later ones the private one
    await failureOf(channel.profile());
    expect(await failureOf(channel.profile())).toMatchObject({ failure: row.refusal });
    expect(reached).toEqual([PUBLIC]);
  });
});

describe('a server that is reached', () => {
  let internet: Awaited<ReturnType<typeof startInternet>>;
  let outbound: Outbound;
  let serve: RequestListener;
  /** Hosts that were called. */
  const called: string[] = [];
  beforeAll(async () => {
    internet = await startInternet([...new Set(all.map(nameOf)), ELSEWHERE], (request, response) => {
      called.push(request.headers.host ?? '');
      serve(request, response);
    });
    outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'], ...internet.network });
  });
  afterAll(async () => {
    await outbound[Symbol.asyncDispose]();
    await internet[Symbol.asyncDispose]();
  });
  beforeEach(() => void (called.length = internet.refused.length = 0));

  describe.each(all)('of $id', (row) => {
    test('is not followed to this machine, a private name or another host', async () => {
      let inside = 0;
      const within = createServer((_, response) => {
        inside += 1;
        response.end('{}');
      }).listen(0, '127.0.0.1');
      await once(within, 'listening');
      const { port } = within.address() as AddressInfo;
      try {
        for (const location of [
          `http://127.0.0.1:${port}/`,
          'https://router.internal/',
          `https://${PRIVATE}/`,
          `https://${ELSEWHERE}/`,
        ])
          for (const status of [301, 302, 307]) {
            serve = (_, response) => void response.writeHead(status, { location }).end();
            const { failure } = await failureOf(channelOf(outbound, row).profile());
            expect({ location, status, failure }).toEqual({ location, status, failure: row.refusal });
          }
      } finally {
        within.closeAllConnections();
        within.close();
        await once(within, 'close');
      }
      expect(inside).toBe(0);
      expect(new Set(called)).toEqual(new Set([nameOf(row)]));
      expect(internet.refused).toEqual([]);
    });
  });

  test.each(rows)('of $id that answers without end is heard so far and no further', async (row) => {
    const piece = Buffer.alloc(64 * 1024, 'a');
    let sent = 0;
    const ended = Promise.withResolvers<void>();
    const pour = async (response: ServerResponse) => {
      response.on('error', () => undefined);
      response.on('close', () => ended.resolve());
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"name":"');
      for (; !response.destroyed; await setImmediate())
        // what was not taken yet is waited for, so that what is counted is about what was read
        if (!response.writableNeedDrain) {
          sent += piece.length;
          response.write(piece);
        }
    };
    serve = (_, response) => void pour(response);
    expect(await failureOf(channelOf(outbound, row).profile())).toMatchObject({ failure: 'unavailable' });
    await ended.promise;
    expect(called).toHaveLength(1);
    expect(sent).toBeGreaterThanOrEqual(ANSWER_BYTES);
    expect(sent).toBeLessThan(32 * ANSWER_BYTES); // the rest is in the buffers of the machine
  });
});
