import type { Database } from '../../platform/db/index.ts';
import { atMost, openLimiter, startWorker } from '../../platform/flow/index.ts';
import { type Clock, newId } from '../../platform/kernel/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { LinksPort } from '../posts/index.ts';
import { type ChooseNeeds, openChoice } from './choose.ts';
import { openMaking } from './make.ts';
import { isShortAlready, linksOf, withShortLinks } from './rules.ts';
import { claimDue, claimOfPost } from './claim-store.ts';
import { type CountedLink, countedLinks, noteClicks } from './clicks-store.ts';
import { closeLinks, isBeingAsked } from './outcome-store.ts';
import { deleteOthers, insertLinks, isAsked, itemsOf, type NewLink } from './store.ts';

export interface ShortlinksOptions extends ChooseNeeds {
  sql: Database;
  clock: Clock;
  providers: Pick<Providers, 'list' | 'shortener'>;
  log: { warn(detail: object, message: string): void; error(detail: object, message: string): void };
  /**
   * How long a post that is due waits for its links, and how long whoever asks for one is believed to live; only tests
   * shorten them.
   */
  waitMs?: number;
  leaseSeconds?: number;
}

/** A text whose links are to be made: that of an item of a thread, or of its first comment. */
interface Item {
  orgId: string;
  postId: string;
  content: string;
}

/**
 * Short links in the place of the long ones: made ahead of the post where there is time, once for each link of an item,
 * and never in its way.
 */
export interface Shortlinks extends LinksPort {
  /**
   * Makes links ahead of their posts until it is disposed of. Any number of processes may: each link is one's at a
   * time.
   */
  startMaker(options?: { restMs?: number }): AsyncDisposable;
  /**
   * Whether a person who writes this has to be asked (S119): the org leaves it to them, there is a link, and somebody
   * to shorten it.
   */
  shouldAsk(orgId: string, messages: readonly string[]): Promise<boolean>;
  /** The short links of a thread with how often they were followed, as of the last minutes. */
  clicks(orgId: string, postId: string): Promise<CountedLink[]>;
}

const WAIT_MS = 2_000;
const LEASE_SECONDS = 60;
const LOOK_MS = 50;
/** A person waits for the numbers of the providers, which are asked for at most once in this time. */
const COUNT_MS = 5_000;
const FRESH_SECONDS = 300;
const AT_ONCE = 5;
const MADE_AT_ONCE = 16;
/** Links are made an hour ahead; a post that comes sooner makes its own. */
const MAKER_REST_MS = 5_000;

/** Some of the work at a time, in its order. */
async function few<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const limiter = openLimiter({ total: AT_ONCE });
  await Promise.all(
    items.map(async (item) => {
      using _ = await limiter.enter('');
      await work(item);
    }),
  );
}

export function openShortlinks({
  sql,
  clock,
  providers,
  organizations,
  settings,
  log,
  waitMs = WAIT_MS,
  leaseSeconds = LEASE_SECONDS,
}: ShortlinksOptions): Shortlinks {
  const choice = openChoice({ organizations, settings, providers });
  const make = openMaking({ sql, providers, choose: choice.of, log });
  /** Each link of an item once, though its text and its first comment have it. */
  const rowsOf = (items: readonly Item[]): NewLink[] => {
    const links = items.flatMap(({ orgId, postId, content }) =>
      linksOf(content).map((url) => ({ orgId, postId, url })),
    );
    const once = new Map(links.map((link) => [`${link.postId} ${link.url}`, link]));
    return [...once.values()].map((link) => ({ id: newId(), ...link }));
  };

  async function count(link: CountedLink): Promise<void> {
    try {
      const found = await choice.use(link.orgId, link.providerId);
      const adapter = providers
        .list('shortlink')
        .find(({ id, version }) => id === link.providerId && version === link.providerVersion);
      const shortener = found && adapter && providers.shortener(adapter, { orgId: found.orgId, values: found.values });
      const clicks = await shortener?.clicks?.({ id: link.linkId, shortUrl: link.shortUrl });
      if (clicks === undefined) return;
      link.clicks = clicks;
      await noteClicks(sql, link, clicks);
    } catch (error) {
      log.warn(
        { err: error, provider: link.providerId },
        'counting the clicks of a short link failed, the last count is answered',
      );
    }
  }

  return {
    async plan(tx, items) {
      const rows = rowsOf(items);
      if (rows.length > 0) await insertLinks(tx, rows);
    },
    isAsked,
    apply: withShortLinks,
    async replan(tx, orgId, postId, wanted) {
      const items = await itemsOf(tx, orgId, postId);
      const texts = items.flatMap(({ id, content, firstComment }) =>
        [content, firstComment ?? ''].map((text) => ({ orgId, postId: id, content: text })),
      );
      const rows = wanted ? rowsOf(texts) : [];
      await deleteOthers(
        tx,
        orgId,
        items.map(({ id }) => id),
        rows,
      );
      if (rows.length > 0) await insertLinks(tx, rows);
    },

    async decide(orgId, postId) {
      const mine = await claimOfPost(sql, orgId, postId, leaseSeconds);
      await atMost(clock, waitMs, async (over) => {
        await few(mine, (row) =>
          make(row).catch((error: unknown) =>
            log.warn({ err: error, postId }, 'making a short link failed, the long one goes out'),
          ),
        );
        while (await isBeingAsked(sql, orgId, postId).catch(() => false)) await clock.sleep(LOOK_MS, over);
      });
      return closeLinks(sql, orgId, postId);
    },
    startMaker: ({ restMs = MAKER_REST_MS } = {}) =>
      startWorker({
        clock,
        concurrency: MADE_AT_ONCE,
        restMs,
        claim: (limit) => claimDue(sql, { limit, leaseSeconds }),
        work: make,
        onWorkError: (error, { postId }) =>
          log.warn({ err: error, postId }, 'making a short link failed, repeated when its lease ends'),
        onClaimError: (error) => log.warn({ err: error }, 'claiming due short links failed, repeated'),
      }),

    async shouldAsk(orgId, messages) {
      if ((await organizations.settings(orgId)).shortlink !== 'ASK') return false;
      const found = await choice.of(orgId);
      return (
        found !== undefined &&
        messages.some((text) => linksOf(text).some((url) => !isShortAlready(url, found.adapter, found.values)))
      );
    },

    async clicks(orgId, postId) {
      const links = await countedLinks(sql, orgId, postId, FRESH_SECONDS);
      const old = links.filter(({ isOld }) => isOld);
      if (old.length > 0) await atMost(clock, COUNT_MS, () => few(old, count));
      return links;
    },
  };
}
