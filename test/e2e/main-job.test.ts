import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeNpub } from '../../src/providers/kit/protocols/nostr.ts';
import { makeCertificate } from '../support/wire/certificate.ts';
import { testDatabase, type TestDatabase } from '../support/wire/database.ts';
import { blueskyJob, mainJob, mastodonJob, nostrJob } from '../support/processes/main-job.ts';
import { describePeer, npmPeer, type Peer } from '../support/peers/peers.ts';
import { type Receiver, startReceiver } from '../support/wire/receiver.ts';
import { type EngineCase, engines, type Service } from '../support/processes/service.ts';
import { snacPeer } from '../support/peers/snac.ts';

// The main job on both engines with the same words, seen from outside, and on real networks.

const START_MS = 240_000;
const tls = makeCertificate();
const folder = mkdtempSync(join(tmpdir(), 'rookery-main-job-'));
const authority = join(folder, 'authority.pem');
writeFileSync(authority, tls.cert);

/** The directory of a server that is started later. */
let directoryOf = '';
const directory = await startReceiver({
  answer: (response, { path }) =>
    void fetch(`${directoryOf}${path}`).then(async (found) =>
      response.writeHead(found.status, { 'content-type': 'application/json' }).end(await found.text()),
    ),
});

interface World {
  service: Service;
  database: TestDatabase;
}
const worlds = new Map<string, Promise<World>>();
/** The product on that engine, started for the first who asks. */
const worldOf = (engine: EngineCase): Promise<World> => {
  const known = worlds.get(engine.name);
  if (known) return known;
  const begun = (async () => {
    const database = await testDatabase();
    return {
      database,
      service: await engine.start({
        database,
        // a picture of a note stays here, at an address that everybody could reach
        env: {
          NODE_EXTRA_CA_CERTS: authority,
          BLUESKY_PLC_URL: directory.url,
          NEXT_PUBLIC_BACKEND_URL: 'https://rookery.example',
        },
      }),
    };
  })();
  worlds.set(engine.name, begun);
  return begun;
};
afterAll(async () => {
  for (const begun of worlds.values()) {
    const world = await begun.catch(() => undefined);
    await world?.service[Symbol.asyncDispose]();
    await world?.database[Symbol.asyncDispose]();
  }
  await directory[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}, START_MS);

/** The same test on each engine that this machine has; the other one is skipped under a name that says why. */
function onEachEngine(title: string, ids: string, body: (world: World) => Promise<void>): void {
  for (const engine of engines) {
    const name =
      `${title}, on the ${engine.name} engine${engine.missing ? ` (skipped: ${engine.missing})` : ''} ${ids}`.trimEnd();
    (engine.missing === undefined ? test : test.skip)(name, async () => body(await worldOf(engine)), START_MS);
  }
}

describe('the main job', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver({ tls });
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  onEachEngine(
    'sign-up, key, channel, schedule, published on time, signed webhook over https, timeline, list',
    '[PO2, PO3, PO4, WH11, WH12]',
    ({ service, database }) => mainJob(service.url, receiver, database.sql),
  );
});

await describePeer(
  'bluesky PDS',
  () => npmPeer('bluesky'),
  ({ start }) => {
    let pds: Peer;
    beforeAll(async () => {
      pds = await start();
      directoryOf = pds.env['plc'] as string;
    }, START_MS);
    afterAll(() => pds.stop());
    onEachEngine(
      'text with link, mention, tag and a picture with alt text is in the repository as it was written',
      '[PO3]',
      ({ service }) => blueskyJob(service.url, pds),
    );
  },
);

await describePeer('snac (Mastodon API)', snacPeer, ({ start }) => {
  let snac: Peer;
  beforeAll(async () => void (snac = await start()), START_MS);
  afterAll(() => snac.stop());
  onEachEngine(
    'connected by consent, text with link, mention, tag and a picture with alt text is shown as it was written',
    '[PO3]',
    ({ service }) => mastodonJob(service.url, snac),
  );
});

await describePeer(
  'nostr relay',
  () => npmPeer('nostr'),
  ({ start }) => {
    let relays: Peer[];
    beforeAll(async () => void (relays = await Promise.all([start(), start()])), START_MS);
    afterAll(async () => void (await Promise.all(relays.map((relay) => relay.stop()))));
    onEachEngine(
      'text with link, mention, tag and a picture with alt text is on both relays as it was written',
      '[PO3]',
      ({ service }) => nostrJob(service.url, relays, encodeNpub('a1'.repeat(32))),
    );
  },
);
