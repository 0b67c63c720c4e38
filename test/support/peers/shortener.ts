import type { Context } from '../../../src/context.ts';
import { type Clock, systemClock } from '../../../src/platform/kernel/index.ts';
import { gate } from '../wire/eventually.ts';
import { type FakeHttp, startHttp } from './fake-network.ts';

/**
 * Two shorteners on one server: is.gd, which makes another link each time, and Dub, which answers the same one and
 * counts.
 */
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

const CREDENTIALS: Record<string, Record<string, string>> = { dub: { apiKey: 'dub_the-key' } };
const BY = { userId: null, impersonatorId: null, ip: null };

/** Sets up the providers of an organization or of the instance (null), in the place of those it has. */
export const setUpOf = ({ sql, providerSettings }: Pick<Context, 'sql' | 'providerSettings'>) => ({
  /** The default first. `off`: switched off. */
  async set(owner: string | null, ...ids: (string | { off: string })[]): Promise<void> {
    await sql`delete from provider_settings where org_id is not distinct from ${owner} and domain = 'shortlink'`;
    for (const one of ids) {
      const [providerId, enabled] = typeof one === 'string' ? [one, true] : [one.off, false];
      const credentials = CREDENTIALS[providerId] ?? {};
      await providerSettings.create(
        owner,
        {
          domain: 'shortlink',
          providerId,
          credentials,
          enabled,
          isDefault: one === ids[0] && enabled,
          allowPreview: true,
        },
        BY,
      );
    }
  },
});
export type SetUp = ReturnType<typeof setUpOf>;

/** How long a post waits for its links, and a person for their numbers. */
const WAITS = [2_000, 5_000];

/**
 * Real time in which no slow machine ends the patience of those who wait for links: it lasts ten times as long, or
 * until the test has had enough.
 */
export function patientClock(): Clock & { enough(): void } {
  const { passed, open } = gate();
  return {
    ...systemClock,
    sleep: (ms, signal) =>
      WAITS.includes(ms) ? Promise.race([passed, systemClock.sleep(ms * 10, signal)]) : systemClock.sleep(ms, signal),
    enough: open,
  };
}
