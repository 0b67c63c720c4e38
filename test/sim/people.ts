import { organizationActor } from '../../actors/organization/contract.ts';
import type { Context } from '../../src/context.ts';
import { claimKey } from '../../src/platform/db/index.ts';
import { AppError, idFrom } from '../../src/platform/kernel/index.ts';
import { saveLogin } from '../../src/publishing/channels/transitions/save-login.ts';
import { Random } from '../support/random.ts';
import { override } from '../support/worlds/billing.ts';
import { channelActorOf, loginOf, newPost, postActorOf, startingWith } from '../support/worlds/publishing/world.ts';
import type { Known, KnownBrake, KnownChannel, KnownOrg, KnownPost, World } from './known.ts';

/** Refusals that say that nothing was changed. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && !['unavailable', 'internal', 'draining', 'busy'].includes(error.code);
const HOUR = 3_600_000;
/** Acts of which the one bears on what the other has done. */
const PAIRS = ['approve edit', 'pause retry', 'pause resume'];
const DAILY = { days: 'FREQ=DAILY', timezone: 'Europe/Berlin', until: null, left: null, inter: null };

/** People of a few organizations, and what they know by what they were answered. */
export function openPeople(world: World, orgs: readonly KnownOrg[]) {
  const { kernel, swarm } = world;
  const random = new Random(kernel.seed, 'people');
  const posts = new Map<string, KnownPost>();
  const brakes: KnownBrake[] = [];
  let ids = 0;
  /** Resumes, each from when it was asked for until its answer: what is paused meanwhile may stand, or not. */
  const resumes: { target: string; until: number }[] = [];
  /** What is done now is about the post that a network has. */
  let isHasty = false;

  const textOf = (id: string, revision: number) => `post ${id.slice(0, 8)} revision ${revision}`;
  const freshId = () => idFrom(`${kernel.seed} post ${ids++}`);
  const pick = <T>(of: readonly T[]): T | undefined => (of.length > 0 ? random.pick(of) : undefined);

  /** Does something by a host that answers, and says what came of it: `asked` where its answer is missing. */
  async function ask(
    what: string,
    act: (context: Context) => Promise<unknown>,
    came: (answer: Known) => void = () => {},
  ): Promise<void> {
    const by = pick(world.hosts.filter(({ context }) => context));
    if (!by) return came('no');
    await kernel.run(by.process, () => {
      void act(by.context!).then(
        () => {
          kernel.note(`- ${what}: done`);
          came('yes');
        },
        (error: unknown) => {
          kernel.note(`- ${what}: ${error instanceof AppError ? error.code : String(error)}`);
          came(isRefusal(error) ? 'no' : 'asked');
        },
      );
    });
  }
  const askOf = (
    { orgId, id }: KnownPost,
    what: string,
    act: (actor: ReturnType<typeof postActorOf>) => Promise<unknown>,
    came?: (answer: Known) => void,
  ) => ask(`${what} ${id}`, (context) => act(postActorOf(context, orgId, id)), came);

  function create(within: number): Promise<void> {
    const org = random.pick(orgs);
    const channelId = random.pick(org.channels).id;
    const items = Array.from({ length: random.chance(0.15) ? 2 : 1 }, freshId);
    const isHeld = org.approvals && random.chance(0.7);
    const withComment = random.chance(swarm.comments);
    const recurs = items.length === 1 && random.chance(0.15);
    const inMs = random.chance(0.2) ? 0 : random.below(within);
    const publishDate = random.chance(0.1) ? null : new Date(Math.floor(kernel.now + inMs));
    const date = publishDate?.getTime() ?? kernel.now;
    const group = freshId();
    const key = random.chance(0.3) ? { scope: 'posts', key: freshId(), claim: freshId() } : undefined;
    const made = items.map((id, n): KnownPost => ({
      id,
      orgId: org.id,
      channelId,
      root: n === 0 ? undefined : items[0],
      recurs,
      date,
      key: n === 0 ? key?.key : undefined,
      isHeld,
      created: 'asked',
      deleted: 'no',
      texts: new Map([[textOf(id, 0), true]]),
      approved: new Set(),
      revision: 0,
    }));
    for (const one of made) posts.set(one.id, one);
    const stored = made.map(({ id }, n) =>
      newPost(channelId, {
        id,
        group,
        content: `<p>${textOf(id, 0)}</p>`,
        publishDate,
        ...(withComment && n === 0 && { settings: { firstComment: `comment ${id.slice(0, 8)}` } }),
        ...(n > 0 && { rootPostId: items[0]!, parentPostId: items[n - 1]! }),
        ...(recurs && { recurrence: { ...DAILY, local: localOf(date) } }),
      }),
    );
    return ask(
      `create ${items.join(' ')} on ${channelId}`,
      async (context) => {
        // as the route does
        const claimed = key && (await claimKey(context.sql, { ...key, orgId: org.id }, Buffer.alloc(32), 120_000));
        if (claimed && claimed.kind !== 'claimed') return;
        await context.actors(organizationActor, org.id).admit({
          posts: stored,
          createdBy: org.userId,
          schedulesFreely: !isHeld,
          ...(key && { idempotency: { ...key, status: 201, reply: items.join(' ') } }),
        });
      },
      (answer) => made.forEach((one) => void (one.created = answer)),
    );
  }

  const fitting = (fits: (post: KnownPost) => boolean): KnownPost[] =>
    [...posts.values()].filter((one) => one.created === 'yes' && one.deleted === 'no' && fits(one));
  /** One of those whose date is nearest: what is about to go out, or just does. */
  const near = (fits: (post: KnownPost) => boolean = () => true): KnownPost | undefined => {
    if (!isHasty && random.chance(0.3)) return pick(fitting(fits));
    const sent = isHasty || random.chance(0.5) ? posts.get(world.networks.underWay() ?? '') : undefined;
    if (sent && sent.created === 'yes' && fits(sent)) return sent;
    const far = ({ date }: KnownPost) => Math.abs(date - kernel.now);
    const sorted = fitting(fits).toSorted((a, b) => far(a) - far(b));
    return pick(sorted.slice(0, 3));
  };
  const threadOf = (post: KnownPost) =>
    [...posts.values()].filter(({ id, root }) => id === post.id || root === post.id);
  const orgOf = ({ orgId }: { orgId: string }) => orgs.find(({ id }) => id === orgId)!;
  const authorOf = (post: KnownPost) => ({ userId: orgOf(post).userId, schedulesFreely: !post.isHeld });

  async function edit(): Promise<void> {
    // what was approved is edited before it goes out, now and then
    const post = (random.chance(0.3) ? pick(fitting(({ approved: { size } }) => size > 0)) : undefined) ?? near();
    if (!post) return;
    const text = textOf(post.id, ++post.revision);
    post.texts.set(text, false);
    await askOf(
      post,
      `edit to revision ${post.revision}`,
      (actor) => actor.edit({ content: `<p>${text}</p>`, by: authorOf(post) }),
      (answer) => {
        post.texts.set(text, true);
        if (answer === 'no') post.texts.delete(text);
        if (answer !== 'yes') return;
        const asked = [...post.texts.keys()];
        for (const one of asked.slice(0, asked.indexOf(text))) if (post.texts.get(one)) post.texts.delete(one); // edits that are under way may still come
      },
    );
  }
  async function move(within: number): Promise<void> {
    const post = pick(fitting(({ root, recurs }) => root === undefined && !recurs));
    if (!post) return;
    post.date = Math.floor(kernel.now + random.below(within));
    const publishDate = new Date(post.date);
    await askOf(post, `move to ${publishDate.toISOString()}`, (actor) =>
      actor.edit({ publishDate, by: authorOf(post) }),
    );
  }
  async function remove(): Promise<void> {
    const post = near();
    if (!post) return;
    const mark = (answer: Known) => {
      for (const one of threadOf(post)) if (one.deleted !== 'yes') one.deleted = answer;
    };
    mark('asked');
    await askOf(post, 'delete', (actor) => actor.cancel({}), mark);
  }
  async function retry(): Promise<void> {
    const post = pick(fitting(() => true));
    if (post) await askOf(post, 'retry', (actor) => actor.retry({ confirm: false }));
  }
  async function approve(): Promise<void> {
    const post = near(({ isHeld, root }) => isHeld && root === undefined);
    if (!post) return;
    // whoever decides has the right to it; what is there by then is what they approve
    const allow = () => threadOf(post).forEach((one) => one.texts.forEach((_, text) => one.approved.add(text)));
    allow();
    await askOf(
      post,
      'approve',
      (actor) => actor.approve({ by: { userId: orgOf(post).userId, schedulesFreely: true } }),
      (answer) => answer !== 'no' && allow(),
    );
  }
  const targetOf = (channelId: string | undefined) =>
    channelId === undefined ? { scope: 'org' as const } : { scope: 'channel' as const, id: channelId };
  function pause(): Promise<void> {
    const about = near();
    const org = about ? orgOf(about) : random.pick(orgs);
    const channelId = random.chance(0.4) ? undefined : (about?.channelId ?? random.pick(org.channels).id);
    const from = kernel.now;
    const target = channelId ?? org.id;
    return ask(
      `pause ${target}`,
      ({ actors }) => actors(organizationActor, org.id).pausePosts({ target: targetOf(channelId) }),
      (answer) => {
        if (answer === 'no') return;
        const isUnclear = answer === 'asked' || resumes.some((one) => one.target === target && one.until >= from);
        // one that may stand is resumed in the end as well, and nothing is judged by it
        brakes.push({ orgId: org.id, channelId, from: isUnclear ? Infinity : kernel.now, until: Infinity });
      },
    );
  }
  /** Posts that were paused go out one after the other; without time, at once. */
  async function resume(within: number): Promise<void> {
    const spacingSeconds = within && random.below(5);
    const standing = brakes.filter(({ until }) => until === Infinity);
    const brake = pick(standing);
    if (!brake) return;
    const { orgId, channelId } = brake;
    for (const one of standing) if (one.orgId === orgId && one.channelId === channelId) one.until = kernel.now;
    const asked = { target: channelId ?? orgId, until: Infinity };
    resumes.push(asked);
    await ask(
      `resume ${asked.target}`,
      async ({ actors }) => {
        const actor = actors(organizationActor, orgId);
        const { plan: planned } = await actor.resumePosts({ target: targetOf(channelId), spacingSeconds });
        world.checks.planned(planned, spacingSeconds * 1_000);
      },
      (answer) => {
        if (answer !== 'asked') asked.until = kernel.now;
      },
    );
  }
  const channelOf = () => random.pick(random.pick(orgs).channels);
  /** The login of a channel is accepted, in the rows and on its network. */
  async function logIn({ sql, billing }: Context, { orgId, id, providerId }: KnownChannel): Promise<void> {
    world.networks.accept(id);
    await saveLogin(sql, startingWith(billing), orgId, loginOf(id, { providerId }));
  }
  function login(): Promise<void> {
    const channel = channelOf();
    return ask(`login of ${channel.id}`, (context) => logIn(context, channel));
  }
  function enable(): Promise<void> {
    const verb = random.chance(0.5) ? 'enable' : 'disable';
    const { orgId, id } = channelOf();
    return ask(`${verb} ${id}`, (context) => channelActorOf(context, orgId, id)[verb]({}));
  }
  /** Its login is accepted, and it is on. */
  const revive = (channel: KnownChannel, came: () => void) =>
    ask(
      'revive',
      async (context) => {
        await logIn(context, channel);
        await channelActorOf(context, channel.orgId, channel.id).enable({});
      },
      came,
    );
  /** An operator gives an organization room for a few posts more, or for none. */
  async function plan(): Promise<void> {
    const org = random.pick(orgs);
    const most = random.below(16);
    kernel.note(`- the plan of ${org.id} has ${most} posts`);
    await override(world.sql, org.id, { posts_per_month: most });
    org.most = Math.max(most, await world.checks.postsOf(org.id));
  }

  const acts = { create, edit, move, delete: remove, pause, resume, retry, approve, login, enable, plan };
  type Act = keyof typeof acts;
  const all = Object.keys(acts) as Act[];
  // most seeds are of a few acts, which meet more often there
  const some = random.pick([all, [random.pick(all), random.pick(all)], random.pick(PAIRS).split(' ') as Act[]]);
  const mix: readonly Act[] = swarm.faults.has('people') ? [...some, 'create', 'create', 'create'] : ['create'];

  return {
    posts,
    brakes,
    orgs,
    revive,
    resume,
    /** Does something, or what is named; `within`: how far ahead dates lie. Answers what it was. */
    async act(within: number, what = random.pick(mix)): Promise<Act> {
      await acts[what](within);
      return what;
    },
    /** Does something about the post that a network has at this moment. */
    actAtOnce(): Promise<void> {
      isHasty = true;
      const done = acts[random.pick(['pause', 'pause', 'edit', 'delete', 'approve'] as const)]();
      isHasty = false;
      return done;
    },
    /** A round of the sweep of auto plugs, which comes more often than the product's. */
    look: () => ask('look of plugs', ({ followUps }) => followUps.runAutoPlugs(50)),
  };
}
export type People = ReturnType<typeof openPeople>;

/** The wall clock of Berlin in a spring without a change of clocks before its end. */
const localOf = (at: number): string => new Date(at + HOUR).toISOString().slice(0, 19);
