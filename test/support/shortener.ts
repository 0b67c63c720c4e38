import { Settings } from '../../src/organizations/index.ts';
import type { Configured } from '../../src/provider-settings/index.ts';
import type { Database } from '../../src/db/index.ts';
import { type Clock, newId, systemClock } from '../../src/kernel/index.ts';
import type { ShortlinkAdapter } from '../../src/providers/index.ts';
import { openShortlinks, type Shortlinks, type ShortlinksOptions } from '../../src/shortlinks/index.ts';
import { gate } from './eventually.ts';
import { type FakeHttp, startHttp } from './fake-network.ts';
import { localProviders } from './providers.ts';
import { quietLog } from './quiet-log.ts';

/** Two shorteners on one server: is.gd, which makes another link each time, and Dub, which answers the same one and counts. */
export async function startShortener() {
  /** The addresses that each made a link of, one entry for each link. */
  const made = { isgd: [] as string[], dub: [] as string[] };
  const links = new Map<string, string>();
  const clicks = new Map<string, number>();
  const http: FakeHttp = await startHttp(
    {
      'GET /create.php': ({ query }) => {
        made.isgd.push(query.get('url')!);
        return { status: 200, body: { shorturl: `https://is.gd/${made.isgd.length}` } };
      },
      'PUT /links/upsert': (asked) => {
        http.need(asked.request.headers.authorization === 'Bearer dub_the-key', 'authorization');
        const { url } = asked.json() as { url: string };
        if (!links.has(url)) {
          made.dub.push(url);
          links.set(url, String(made.dub.length));
        }
        const id = links.get(url)!;
        return { status: 200, body: { id, shortLink: `https://dub.sh/${id}` } };
      },
      'GET /domains': () => ({ status: 200, body: [] }),
      'GET /analytics': ({ query }) => ({ status: 200, body: { clicks: clicks.get(query.get('linkId')!) ?? 0 } }),
    },
    (error) => ({ status: 422, body: { error } }),
  );
  return {
    ...http,
    made,
    clicks,
    servers: { 'shortlink/isgd': http.url, 'shortlink/dub': http.url },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
export type FakeShortener = Awaited<ReturnType<typeof startShortener>>;

type Found = Map<string, Configured<ShortlinkAdapter> | undefined>;

/** What organizations and the instance (null) have set up, by owner. Nothing is set up for anybody else. */
export function openSetUp(shortener: FakeShortener) {
  const providers = localProviders({ servers: shortener.servers });
  const kept = new Map<string | null, Found>();
  const values: Record<string, Record<string, string>> = { dub: { apiKey: 'dub_the-key' } };
  return {
    providers,
    /** The default first. Undefined: switched off. */
    set(owner: string | null, ...ids: (string | { off: string })[]) {
      const found: Found = new Map();
      for (const id of ids) {
        if (typeof id !== 'string') found.set(id.off, undefined);
        else found.set(id, { id: newId(), adapter: providers.list('shortlink').find((one) => one.id === id)!, name: id, values: values[id] ?? {} });
      }
      kept.set(owner, found);
    },
    settings: { configured: async (owner: string | null) => (kept.get(owner) ?? new Map()) as never },
    [Symbol.asyncDispose]: () => providers[Symbol.asyncDispose](),
  };
}
export type SetUp = ReturnType<typeof openSetUp>;

/** Real time in which no slow machine ends anybody's patience: what would last seconds lasts ten times as long, or until the test has had enough. */
export function patientClock(): Clock & { enough(): void } {
  const { passed, open } = gate();
  return {
    ...systemClock,
    sleep: (ms, signal) => (ms < 1_000 ? systemClock.sleep(ms, signal) : Promise.race([passed, systemClock.sleep(ms * 10, signal)])),
    enough: open,
  };
}

/** The room over a database of its own process. */
export function openLinks(
  sql: Database,
  { providers, settings }: Pick<SetUp, 'providers'> & Pick<ShortlinksOptions, 'settings'>,
  more: Partial<ShortlinksOptions> = {},
): Shortlinks {
  const organizations = {
    settings: async (orgId: string) => Settings.parse((await sql`select settings from organizations where id = ${orgId}`)[0]!['settings']),
  };
  return openShortlinks({ sql, clock: patientClock(), providers, settings, organizations, log: quietLog(), ...more });
}
