import type { PostQuota } from '../../entitlements/index.ts';
import { asCallerError, type Database, isFinal, isUnavailable, type Sql } from '../../platform/db/index.ts';
import { atMost } from '../../platform/flow/index.ts';
import { AppError, type Clock, invalidField, isId, newId, notFound } from '../../platform/kernel/index.ts';
import type { Next, Outcome, ClaimedPost } from './dispatch/attempt.ts';
import { cleanEdit, type EditBody, readBody, type SentBody } from './authoring/body.ts';
import { checkDate, compose, type Composed, judgeContent, namedPosts, shortensLinks, typedSettings } from './authoring/compose.ts';
import type { Create, PostChange } from './authoring/input.ts';
import type { PostMedia } from './row.ts';
import { type LatenessFigures, openLateness } from './dispatch/lateness.ts';
import type { Heartbeat, ChannelsPort, LinksPort, Log, MediaPort, ReminderMoves, PostEvents } from './ports.ts';
import { SLOT_LEASE_MS, lookUpOf, settle, HEARTBEAT_TIMEOUT_MS, UNCONFIRMED_LEASE_MS } from './rules.ts';
import { openSender } from './dispatch/send.ts';
import { slotsOf } from './reading/slots.ts';
import { type Admitted, admitOf } from './authoring/admit.ts';
import { endOf } from './dispatch/marks.ts';
import * as changes from './authoring/change.ts';
import { cleanStoredContents } from './authoring/clean.ts';
import { dropDeletedPosts } from './retention.ts';
import * as read from './reading/list.ts';
import type { ListFilter, PageFilter, PostRow, TimelineRow } from './reading/list.ts';
import * as scan from './dispatch/recover.ts';
import { type Settled, type Settlement, settleOf } from './dispatch/settle.ts';
import { claimNextOf } from './dispatch/claim.ts';
import { dropOldLateness, workOfPosts } from './gauges.ts';

export interface PostsOptions {
  sql: Database;
  clock: Clock;
  reminders: ReminderMoves;
  channels: ChannelsPort;
  media: MediaPort;
  links: LinksPort;
  /** Of this start of this process; the host in the row. */
  incarnation: string;
  heartbeat: Heartbeat;
  log: Log;
  /** Told what happens, for counters and log lines. */
  events?: PostEvents | undefined;
  options: {
    /** Reminders further away are not registered. */
    horizonMs: number;
    /** Provider calls of this process at a time; a quarter of them may be in one lane (provider and origin). */
    inFlight: number;
    /** A post published later than this is announced as late. */
    lateMs: number;
    /** How long deleted posts are kept. */
    deletedDays: number;
  };
}

/** The reminder of the Post that has to be set, and when. */
export interface LookUp {
  reminder: 'look-up' | 'poll';
  due: Date;
}
export interface Changed {
  state: string;
  publishDate: Date;
}

export interface Posts extends AsyncDisposable {
  /** Judges a create body whole and says what it means; makes missing tags. Nothing else is stored yet. */
  prepare(orgId: string, body: SentBody): Promise<Composed>;
  /** Judges an edit and says what it changes; `merge` keeps settings that are not named. */
  prepareEdit(orgId: string, postId: string, body: EditBody, options: { merge: boolean; version?: number | undefined }): Promise<PostChange>;

  /** Stores creates in one commit with those of other organizations; each whole or not at all, and with a `quota` only while that holds. */
  admit(orgId: string, creates: readonly Create[], quota?: PostQuota): Promise<readonly Admitted[]>;
  /** Those of the posts that are there, deleted or not. */
  known(orgId: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Deletes all posts of a group; answers how many. 404 without one, 409 while one is on its way. */
  removeGroup(orgId: string, group: string): Promise<number>;

  /** The only door to a provider call. */
  claimNext(orgId: string, channelId: string): Promise<Next>;
  /** Sends what was claimed. A provider's failure is an outcome, never an exception. */
  send(claimed: ClaimedPost): Promise<Outcome>;
  /** Writes what became of an attempt, conditional on attempt and incarnation; answers what has to be asked later. `asked`: the outcome comes from a look-up. */
  settle(claimed: ClaimedPost, outcome: Outcome, asked?: 'unconfirmed' | 'processing'): Promise<LookUp | undefined>;
  /** The same, and takes the next post of the channel in the same commit where one is due and can be sent at once. Without `next` there may be one all the same: `claimNext` knows. */
  settleAndClaim(claimed: ClaimedPost, outcome: Outcome): Promise<{ lookUp: LookUp | undefined; next: ClaimedPost | undefined }>;
  /** The attempt of a post that still waits for this question, while nobody here asks it. */
  findUnsettled(orgId: string, postId: string, detail: 'unconfirmed' | 'processing'): Promise<ClaimedPost | undefined>;
  /** Asks the network; undefined: it is being asked already. */
  lookUp(claimed: ClaimedPost, about: 'unconfirmed' | 'processing'): Promise<Outcome | undefined>;

  // What people do. Final before publishing; 409 while the post is on its way, 409 `already_published` after.
  edit(orgId: string, postId: string, change: PostChange): Promise<Changed>;
  remove(orgId: string, postId: string): Promise<void>;
  retry(orgId: string, postId: string, confirm: boolean): Promise<void>;
  /** Answers the channel, whose slot may be free now. */
  setRelease(orgId: string, postId: string, releaseId: string): Promise<string>;

  /** Who made a post; undefined when it is not there. */
  authorOf(orgId: string, postId: string): Promise<string | null | undefined>;
  /** A post, then the items behind it; 404. */
  get(orgId: string, postId: string): Promise<PostRow[]>;
  group(orgId: string, group: string): Promise<PostRow[]>;
  /** The posts of a range by date; 400 where it holds more than is told at once and no `limit` was given. */
  list(orgId: string, filter: ListFilter): Promise<read.ListPart>;
  page(orgId: string, filter: PageFilter): Promise<read.Page>;
  timeline(orgId: string, postId: string): Promise<{ postId: string; items: TimelineRow[] }>;
  /** Posts on the network that may be this one, for a post whose release is not known (S118). */
  missing(orgId: string, postId: string): Promise<{ id: string; url: string }[]>;
  /** The next free posting time of a channel, or of all channels. */
  findSlot(orgId: string, channelId?: string): Promise<Date>;

  /** What the reconciler asks for and does, over all organizations. */
  readonly sweeps: Sweeps;
  lateness(): Promise<LatenessFigures>;
  /** Provider calls under way and waiting, in this process. */
  readonly gauges: { inFlight: number; waiting: number };
  /** What waits over all organizations, what should have been done, and what each host does. */
  work(): ReturnType<typeof workOfPosts>;
  /** Sends nothing more: frees slots whose request has not left, gives calls under way 8 s, and writes the rest as unconfirmed. */
  drain(): Promise<void>;
}

export interface Sweeps {
  /** Takes over slots of silent hosts and slots past their deadline. */
  takeOver(limit: number): Promise<scan.TakenOver[]>;
  /** Channels that were due 5 s ago and that nobody works on. */
  overdue(limit: number): Promise<{ orgId: string; channelId: string }[]>;
  /** Registers reminders of channels that came within the horizon. */
  enter(limit: number): Promise<number>;
  /** Posts whose look-up or poll was due 5 s ago. */
  unasked(limit: number): Promise<scan.Unsettled[]>;
  /** Forgets minutes of lateness that no figure needs; answers how many. */
  dropLateness(limit: number): Promise<number>;
  /** Cleans contents that an earlier release stored as they came; answers how many. */
  cleanContents(limit: number): Promise<number>;
  /** Forgets posts that were deleted `deletedDays` ago, at most `limit`; answers how many. */
  dropDeleted(limit: number): Promise<number>;
}

const REFUSALS: Record<Exclude<changes.Verdict, 'done' | 'unjudged'>, () => AppError> = {
  not_found: () => notFound('Post not found'),
  published: () => new AppError('already_published', 'The post is published already'),
  in_flight: () => new AppError('conflict', 'The post is being published: try again when it has settled'),
  undecided: () => new AppError('conflict', 'Nobody knows whether the post is out: look at the network, then retry with confirm, or name its release id'),
  stale: () => new AppError('conflict', 'The post was changed meanwhile: load it again'),
  disabled: () => new AppError('invalid_request', 'Integration is disabled'),
  not_failed: () => new AppError('conflict', 'The post is in a state that does not allow this'),
  too_old: () =>
    new AppError('date_in_past', 'The date is more than a day ago', { errors: [{ field: 'date', message: 'is more than a day ago', rule: 'date' }] }),
};

/** How often, and after how many milliseconds at first, a host asks what became of a claim that was not answered. */
/** How long calls under way may go on when the host goes away. */
const DRAIN_MS = 8_000;
const RECHECKS = 10;
const RECHECK_MS = 1_500;

/** A question that was begun is asked again after this long by whoever finds that nobody asks it. */
const LOOK_UP_LEASE_MS = 15_000;

/** How often a result is written that the database refuses, or on the way out. */
const WRITES = 10;

const keyOf = ({ orgId, channelId, postId, attempt }: ClaimedPost) => ({ orgId, channelId, postId, attempt });

/** What a change has made, or why it was refused. */
function done({ verdict, state, publishDate }: changes.Changed): Changed {
  if (verdict === 'done') return { state: state ?? '', publishDate: publishDate ?? new Date(0) };
  throw verdict === 'unjudged' ? new Error('A post was scheduled without being judged') : REFUSALS[verdict]();
}
const same = (a: PostMedia, b: PostMedia) => a.path === b.path && a.id === b.id && (a.thumbnail ?? null) === (b.thumbnail ?? null);

/** The room of posts: admission, publishing on time and once, changes, lists. */
export function openPosts({ sql, clock, reminders, channels, media, links, incarnation, heartbeat, log, events, options }: PostsOptions): Posts {
  const { horizonMs, inFlight, lateMs, deletedDays } = options;
  const perLane = Math.max(8, Math.floor(inFlight / 4));
  const lateness = openLateness({ sql, clock, incarnation, log });
  const sender = openSender({
    sql,
    clock,
    channels,
    media,
    links,
    heartbeat,
    log,
    late: (ms) => lateness.record(ms),
    called: (call) => events?.publishCalled(call),
    inFlight,
    perLane,
    lookUps: { inAll: Math.max(4, Math.floor(inFlight / 4)), perLane: Math.max(2, Math.floor(perLane / 4)) },
  });
  const admit = admitOf(sql, { clock, reminders, links, horizonMs });
  const take = claimNextOf({ clock, incarnation, leaseMs: SLOT_LEASE_MS, horizonMs });
  const settleRow = settleOf({ clock, incarnation, leaseMs: SLOT_LEASE_MS, unconfirmedMs: UNCONFIRMED_LEASE_MS, lateMs });
  const writing = new Set<Promise<unknown>>();
  /** Posts of this host from their claim until their result is written. */
  const mine = new Set<string>();
  /** Posts of which the network is being asked, until the answer is written. */
  const lookingUp = new Set<string>();
  const leaving = new AbortController();

  /** A claim whose answer was lost may hold: then a channel waits for a post that nobody sends. */
  async function recheckClaim(orgId: string, channelId: string): Promise<void> {
    for (let tries = 1; tries <= RECHECKS; tries++) {
      await clock.sleep(RECHECK_MS * tries, leaving.signal);
      try {
        await scan.endUnknownSlot(sql, { orgId, channelId, incarnation, known: [...mine] });
        return;
      } catch (error) {
        log.debug({ err: error, channelId, tries }, 'a slot could not be looked after yet');
      }
    }
  }

  /** Writes a result, however long the database is away: what a network said is not forgotten while this process lives. Undefined: somebody else settled the attempt. */
  async function write(settlement: Settlement): Promise<Settled | undefined> {
    for (let tries = 0; ; tries++) {
      try {
        const held = await settleRow(sql, tries === 0 ? settlement : { ...settlement, claimsNext: false });
        if (held || tries === 0) return held;
        const end = await endOf(sql, settlement); // an earlier try may have been committed with its answer lost
        const own = end?.sameAttempt && end.incarnation === settlement.incarnation && end.state === settlement.state && end.detail === settlement.detail;
        return own ? end : undefined;
      } catch (error) {
        log.warn({ err: error, postId: settlement.postId, tries }, 'a result could not be written yet');
        if (tries === 0 && settlement.claimsNext && isUnavailable(error)) recheckClaim(settlement.orgId, settlement.channelId).catch(() => {});
        if (tries >= WRITES && (isFinal(error) || leaving.signal.aborted)) throw error;
        await clock.sleep(Math.min(100 * 2 ** tries, 5_000));
      }
    }
  }
  function tracked<T>(work: Promise<T>): Promise<T> {
    const watched = work.finally(() => writing.delete(watched));
    writing.add(watched);
    return watched;
  }

  /** Writes what became of an attempt, and tells of it. */
  async function report(
    claimed: ClaimedPost,
    outcome: Outcome,
    { asked, claimsNext = false }: { asked?: 'unconfirmed' | 'processing' | undefined; claimsNext?: boolean },
  ) {
    const settlement = { ...settle(claimed, outcome, asked), claimsNext };
    const held = await tracked(write(settlement)).finally(() => (asked ? lookingUp : mine).delete(claimed.postId));
    if (held?.next) mine.add(held.next.postId);
    if (held)
      events?.attemptSettled({
        ...keyOf(claimed),
        provider: claimed.channel.providerId,
        outcome: outcome.kind,
        asked: asked !== undefined,
        state: settlement.state,
        detail: settlement.detail,
        reason: settlement.error,
      });
    if (held && settlement.state !== 'QUEUE' && claimed.media.length > 0)
      void tracked(media.settled(claimed.orgId, claimed.media).catch((error: unknown) => log.warn({ err: error }, 'copies of media were left to the sweep')));
    const reminder = lookUpOf(settlement);
    return { lookUp: reminder && held?.lookUpAt ? { reminder, due: held.lookUpAt } : undefined, next: held?.next };
  }

  const changing = (statement: Parameters<typeof changes.changing>[2], after?: Parameters<typeof changes.changing>[3]) =>
    changes.changing(sql, { reminders, horizonMs }, statement, after);
  async function get(orgId: string, postId: string): Promise<PostRow[]> {
    const rows = await read.getPost(sql, orgId, postId);
    if (!rows.some(({ id }) => id === postId)) throw notFound('Post not found');
    return rows;
  }
  async function cardOf(orgId: string, channelId: string): Promise<read.ChannelSummary> {
    const [card] = await read.findChannelSummaries(sql, { orgId, ids: [channelId] });
    if (!card) throw new AppError('invalid_request', 'Integration not found');
    return card;
  }
  const rulesOf = ({ providerId, providerVersion, serverLimits }: read.ChannelSummary) => channels.rules(providerId, providerVersion, serverLimits);
  const tagsOf = (orgId: string, wishes: readonly { name: string; color?: string }[]): Promise<string[]> => {
    const named = new Map(
      wishes.toReversed().map((wish) => [wish.name.normalize('NFC').toLowerCase(), { ...wish, name: wish.name.normalize('NFC'), id: newId() }]),
    ); // the first of two counts
    return named.size === 0 ? Promise.resolve([]) : read.ensureTags(sql, orgId, [...named.values()]);
  };
  /** Holds a thread as it is stored against the limits of its network. */
  async function judgeStored(orgId: string, postId: string): Promise<void> {
    const rows = await get(orgId, postId);
    const card = await cardOf(orgId, rows[0]!.channelId);
    judgeContent(rulesOf(card), card, rows);
  }

  return {
    async prepare(orgId, sent) {
      const body = readBody(sent);
      const now = clock.now();
      const ids = [...new Set(body.posts.map(({ integration }) => integration.id).filter(isId))];
      const named = namedPosts(body);
      const [found, posts] = await Promise.all([
        ids.length === 0 ? [] : read.findChannelSummaries(sql, { orgId, ids }),
        named.length === 0 ? [] : read.existing(sql, orgId, named),
      ]);
      const known = {
        cards: new Map(found.map((card) => [card.id, card])),
        existing: new Map(posts.map((post) => [post.id, post])),
        rules: rulesOf,
        tagIds: [] as string[],
        now,
      };
      const composed = compose(body, known);
      const fields = body.posts.flatMap(({ value }, n) => value.map(({ image }, index) => ({ at: `posts.${n}.value.${index}.image`, items: image })));
      await media.judge(orgId, fields);
      known.tagIds.push(...(await tagsOf(orgId, body.tags))); // written only for a body that is accepted
      return composed;
    },

    async prepareEdit(orgId, postId, sent, { merge, version }) {
      const body = cleanEdit(sent);
      const rows = await get(orgId, postId);
      const post = rows.find(({ id }) => id === postId)!;
      if (post.rootPostId !== null && body.thread)
        throw new AppError('validation_failed', 'thread: only the first post of a thread has one', {
          errors: [{ field: 'thread', message: 'only the first post of a thread has one', rule: 'not_root' }],
        });
      const card = await cardOf(orgId, post.channelId);
      const rules = rulesOf(card);
      const shortLinks = shortensLinks(card, undefined);
      if (body.settings) rules.checkSettings(merge ? { ...post.settings, ...body.settings } : body.settings, 'settings');
      const { image } = body;
      const ids = new Set(rows.map(({ id }) => id));
      const thread = body.thread?.map(({ id, content, image: images, delay }) => ({
        id: id !== undefined && id !== postId && ids.has(id) ? id : newId(),
        content,
        media: images,
        delayMinutes: delay,
      }));
      if (post.state === 'QUEUE') {
        const items = [
          { content: body.content ?? post.content, media: image ?? post.media },
          ...(thread ?? rows.filter(({ id, rootPostId }) => id !== postId && rootPostId === postId)),
        ];
        judgeContent(rules, card, items);
        if (body.publishDate) checkDate(body.publishDate, clock.now(), 'publishDate');
      }
      const fresh = image?.filter((one) => !post.media.some((old) => same(old, one))) ?? [];
      await media.judge(orgId, [
        ...(image && fresh.length > 0 ? [{ at: 'image', items: image }] : []),
        ...(thread ?? []).map((item, n) => ({ at: `thread.${n}.image`, items: item.media })),
      ]);
      return {
        ...(version !== undefined && { version }),
        ...(body.content !== undefined && { content: body.content }),
        ...(image && { media: image }),
        ...(body.settings && { settings: { values: typedSettings(body.settings, card.providerId), merge } }),
        ...(body.publishDate && { publishDate: body.publishDate }),
        ...(shortLinks !== undefined && { shortLinks }),
        ...(body.tags && { tagIds: await tagsOf(orgId, body.tags) }),
        ...(body.group !== undefined && { group: body.group }),
        ...(body.title !== undefined && { title: body.title }),
        ...(body.description !== undefined && { description: body.description }),
        ...(thread && { thread }),
      };
    },

    admit: (orgId, creates, quota) =>
      Promise.all(
        creates.map((create) =>
          admit(sql, { orgId, create, quota }).then(
            (admitted) => {
              if (!admitted.refused && !admitted.stale) events?.postsCreated({ orgId, posts: create.posts.length });
              return admitted;
            },
            (error: unknown) => {
              const refused = asCallerError(error);
              if (refused.code === 'internal') log.error({ err: error, orgId }, 'a create could not be stored');
              return { refused };
            },
          ),
        ),
      ),
    known: async (orgId, ids) => new Set(await read.knownPosts(sql, orgId, ids)),
    async removeGroup(orgId, group) {
      const { verdict, deleted } = await changes.removeGroup(sql, orgId, group);
      done({ verdict, state: null, publishDate: null, channelId: null });
      return deleted;
    },

    async claimNext(orgId, channelId) {
      if (sender.closed) return { kind: 'idle' };
      try {
        const next = await take(sql, orgId, channelId);
        if (next.kind === 'claimed') mine.add(next.claimed.postId);
        return next;
      } catch (error) {
        if (isUnavailable(error)) recheckClaim(orgId, channelId).catch(() => {}); // on the way out: a host that is gone is noticed by its silence
        throw error;
      }
    },
    send: (claimed) => tracked(sender.send(claimed)),
    settle: async (claimed, outcome, asked) => (await report(claimed, outcome, { asked })).lookUp,
    settleAndClaim: (claimed, outcome) => report(claimed, outcome, { claimsNext: !sender.closed }),
    async findUnsettled(orgId, postId, detail) {
      const claimed = await scan.claimLookUp(sql, orgId, postId, detail, LOOK_UP_LEASE_MS);
      return lookingUp.has(postId) ? undefined : claimed;
    },
    async lookUp(claimed, about) {
      if (lookingUp.has(claimed.postId)) return undefined;
      lookingUp.add(claimed.postId);
      try {
        return await sender.lookUp(claimed, about);
      } catch (error) {
        lookingUp.delete(claimed.postId);
        throw error;
      }
    },

    async edit(orgId, postId, { thread, shortLinks, ...change }) {
      const target = { orgId, postId };
      const { content, publishDate, status } = change;
      const relinks = [thread, content, publishDate, status].some((part) => part !== undefined);
      const after = async (tx: Sql) => {
        const asked = relinks && (await links.isAsked(tx, orgId, postId));
        if (thread) await changes.replaceThread(tx, target, thread);
        const wanted = shortLinks ?? asked;
        if (relinks && (asked || wanted)) await links.replan(tx, orgId, postId, wanted);
      };
      const run = (judged: boolean) => changing(changes.edit(target, { ...change, judged }), after);
      const found = await run(false);
      if (found.verdict !== 'unjudged') return done(found);
      if (change.content === undefined && thread === undefined) await judgeStored(orgId, postId); // new content was judged before it came here
      return done(await run(true));
    },
    async remove(orgId, postId) {
      done(await changing(changes.remove({ orgId, postId })));
    },
    async retry(orgId, postId, confirm) {
      done(await changing(changes.retry({ orgId, postId }, confirm)));
    },
    async setRelease(orgId, postId, releaseId) {
      const target = { orgId, postId };
      const changed = await changing(changes.release(target, releaseId), (tx) => changes.freeSlot(tx, target));
      done(changed);
      return changed.channelId!;
    },

    authorOf: async (orgId, postId) => (isId(postId) ? read.authorOf(sql, orgId, postId) : undefined),
    get,
    async group(orgId, group) {
      const rows = await read.getGroup(sql, orgId, group);
      if (rows.length === 0) throw notFound('Post not found');
      return rows;
    },
    async list(orgId, filter) {
      if (filter.customerId !== undefined && !isId(filter.customerId)) return { posts: [] };
      const part = await read.listPosts(sql, orgId, filter);
      if (part.next && filter.limit === undefined)
        throw invalidField(
          'endDate',
          `endDate: there are more than ${read.MOST_LISTED} posts up to then: ask for a shorter range, or for parts with limit and cursor`,
          'too_many',
        );
      return part;
    },
    page: (orgId, filter) =>
      filter.customerId !== undefined && !isId(filter.customerId) ? Promise.resolve({ posts: [], total: 0, hasMore: false }) : read.page(sql, orgId, filter),
    async timeline(orgId, postId) {
      const items = await read.timeline(sql, orgId, postId);
      if (!items) throw notFound('Post not found');
      return { postId, items };
    },
    async missing(orgId, postId) {
      const rows = await get(orgId, postId);
      const post = rows.find(({ id }) => id === postId)!;
      if (post.state === 'PUBLISHED' && post.releaseId) return [];
      const claimed = (await scan.waitsFor(sql, orgId, postId, 'unconfirmed')) ?? (await scan.lastAttempt(sql, orgId, postId));
      const outcome = claimed && (await sender.lookUp(claimed, 'unconfirmed'));
      if (outcome?.kind === 'published') return [{ id: outcome.release.id, url: outcome.release.url }];
      return outcome?.kind === 'undecided' ? [...(outcome.similar ?? [])] : [];
    },
    async findSlot(orgId, channelId) {
      if (channelId !== undefined && !(await read.channelExists(sql, orgId, channelId))) throw notFound('Integration not found');
      const now = clock.now();
      const times = await read.postingTimes(sql, orgId, channelId);
      const slots = [...slotsOf({ minutes: times?.minutes ?? DEFAULT_TIMES, timezone: times?.timezone ?? 'UTC', now })];
      let slot: Date | undefined;
      for (let n = 0; !slot && n < slots.length; n += SLOTS_AT_ONCE) [slot] = await read.freeMinutes(sql, orgId, slots.slice(n, n + SLOTS_AT_ONCE), channelId);
      if (!slot) throw new AppError('conflict', 'Every posting time of the next year is taken');
      return slot;
    },

    sweeps: {
      takeOver: (limit) => scan.takeOver(sql, { incarnation, silenceMs: HEARTBEAT_TIMEOUT_MS, leaseMs: UNCONFIRMED_LEASE_MS, limit }),
      overdue: (limit) => scan.overdue(sql, { graceMs: HEARTBEAT_TIMEOUT_MS, limit }),
      enter: (limit) => scan.enter(sql, reminders, { horizonMs, limit }),
      unasked: (limit) => scan.unasked(sql, { graceMs: HEARTBEAT_TIMEOUT_MS, limit }),
      dropLateness: (limit) => dropOldLateness(sql, limit),
      cleanContents: (limit) => cleanStoredContents(sql, limit),
      dropDeleted: (limit) => dropDeletedPosts(sql, deletedDays, limit),
    },
    lateness: () => lateness.lastHour(),
    work: () => workOfPosts(sql, horizonMs),
    get gauges() {
      return { inFlight: sender.inFlight, waiting: sender.waiting };
    },
    async drain() {
      sender.close();
      leaving.abort();
      await atMost(clock, DRAIN_MS, quiet);
      const left = sender
        .underWay()
        .map(({ claimed, stage }) =>
          settle(claimed, stage === 'calling' ? { kind: 'lost', message: 'This host went away while it was sending' } : { kind: 'not-sent' }),
        );
      await Promise.all(
        left.map((settlement) =>
          settleRow(sql, settlement).catch((error: unknown) =>
            log.error({ err: error, postId: settlement.postId }, 'a slot could not be handed back: the reconciler will find it'),
          ),
        ),
      );
    },
    async [Symbol.asyncDispose]() {
      leaving.abort();
      sender[Symbol.dispose]();
      await lateness[Symbol.asyncDispose]();
    },
  };

  /** Ends when nothing is being sent or written. */
  async function quiet(): Promise<void> {
    while (writing.size > 0) {
      await Promise.allSettled(writing);
      await clock.sleep(5); // who reports a result starts writing it now
    }
  }
}

const DEFAULT_TIMES = [120, 400, 700];
/** Posting times that one statement looks at. */
const SLOTS_AT_ONCE = 100;
