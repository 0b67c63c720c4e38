import { channelActor } from '../../actors/channel/contract.ts';
import { organizationActor } from '../../actors/organization/contract.ts';
import { postActor } from '../../actors/post/contract.ts';
import { claimKey } from '../../src/platform/db/index.ts';
import { AppError, idFrom, tenantKey } from '../../src/platform/kernel/index.ts';
import type { Host } from './host.ts';
import type { Kernel } from './kernel.ts';
import type { Act, KnownBrake, KnownOrg, KnownPost } from './known.ts';
import type { Random } from '../support/random.ts';

interface Options {
  kernel: Kernel;
  random: Random;
  orgs: readonly KnownOrg[];
  /** The share of posts with a first comment. */
  comments: number;
  /** A host that answers; undefined: none is there. */
  host(): Host | undefined;
  /** Told what a resume has answered. */
  planned(plan: readonly { postId: string; at: Date }[], spacingMs: number): void;
  /** A post that a network has at this moment. */
  underWay(): string | undefined;
  /** Writes the plan of an organization. */
  plan(org: KnownOrg): Promise<void>;
  /** Accepts the login of a channel, in the rows and on the network. */
  logIn(host: Host, orgId: string, channelId: string): Promise<void>;
}

/** Refusals that say that nothing was changed. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && !['unavailable', 'internal', 'draining', 'busy'].includes(error.code);
const HOUR = 3_600_000;

/** People of a few organizations, and what they know by what they were answered. */
export function openPeople({
  kernel,
  random,
  orgs,
  comments,
  host,
  logIn,
  plan: writePlan,
  underWay,
  planned,
}: Options) {
  const posts = new Map<string, KnownPost>();
  const brakes: KnownBrake[] = [];
  let count = 0;
  /** Resumes, each from when it was asked for until its answer: what is paused meanwhile may stand, or not. */
  const resumes: { target: string; until: number }[] = [];
  /** What is done now is about the post that a network has. */
  let isHasty = false;

  const textOf = (id: string, revision: number) => `post ${id.slice(0, 8)} revision ${revision}`;
  const freshId = () => idFrom(`${kernel.seed} post ${count++}`);

  /** Does something by a host, and says what came of it: `unknown` where its answer is missing. */
  function ask(
    what: string,
    act: (host: Host) => Promise<unknown>,
    came: (answer: 'yes' | 'no' | 'unknown') => void = () => {},
  ): Promise<void> {
    const by = host();
    if (!by?.context) return (came('no'), Promise.resolve());
    return kernel.run(by.process, () => {
      void act(by).then(
        () => {
          kernel.note(`- ${what}: done`);
          came('yes');
        },
        (error: unknown) => {
          kernel.note(`- ${what}: ${error instanceof AppError ? error.code : String(error)}`);
          came(isRefusal(error) ? 'no' : 'unknown');
        },
      );
    });
  }

  function create(within: number): Promise<void> {
    const org = random.pick(orgs);
    const channelId = random.pick(org.channels);
    const items = random.chance(0.15) ? 2 : 1;
    const byMember = org.approvals && random.chance(0.7);
    const withComment = random.chance(comments);
    const recurs = items === 1 && random.chance(0.15);
    const inMs = random.chance(0.2) ? 0 : random.below(within);
    const publishDate = random.chance(0.1) ? null : new Date(Math.floor(kernel.now + inMs));
    const group = freshId();
    const key = random.chance(0.3) ? { orgId: org.id, scope: 'posts', key: freshId(), claim: freshId() } : undefined;
    const ids = Array.from({ length: items }, freshId);
    const made = ids.map((id, n): KnownPost => ({
      id,
      orgId: org.id,
      channelId,
      root: n === 0 ? undefined : ids[0],
      recurs,
      date: publishDate?.getTime() ?? kernel.now,
      key: key?.key,
      isHeld: byMember,
      created: 'asked',
      texts: new Set([textOf(id, 0)]),
      approved: new Set(),
      deletedAt: undefined,
      mayBeDeleted: false,
      revision: 0,
    }));
    for (const one of made) posts.set(one.id, one);
    const input = {
      createdBy: org.userId,
      schedulesFreely: !byMember,
      posts: made.map((one, n) => ({
        id: one.id,
        channelId,
        group,
        state: 'QUEUE' as const,
        content: `<p>${textOf(one.id, 0)}</p>`,
        media: [],
        settings: withComment && n === 0 ? { firstComment: `comment ${one.id.slice(0, 8)}` } : {},
        delayMinutes: 0,
        publishDate,
        tagIds: [],
        creationMethod: 'API' as const,
        ...(n > 0 && { rootPostId: ids[0], parentPostId: ids[n - 1] }),
        ...(recurs && {
          recurrence: {
            days: 'FREQ=DAILY',
            timezone: 'Europe/Berlin',
            local: localOf(publishDate ?? new Date(kernel.now)),
            until: null,
            left: null,
            inter: null,
          },
        }),
      })),
    };
    return ask(
      `create ${ids.join(' ')} on ${channelId}`,
      async ({ context }) => {
        // as the route does
        if (key && (await claimKey(context!.sql, key, Buffer.alloc(32), 120_000)).kind !== 'claimed') return;
        const kept = key && { scope: key.scope, key: key.key, claim: key.claim, status: 201, reply: ids.join(' ') };
        await context!.actors(organizationActor, org.id).admit({ ...input, ...(kept && { idempotency: kept }) });
      },
      (answer) => {
        for (const one of made) one.created = answer === 'unknown' ? 'asked' : answer;
      },
    );
  }

  const fitting = (fits: (post: KnownPost) => boolean): KnownPost[] =>
    [...posts.values()].filter(
      (one) => one.created === 'yes' && one.deletedAt === undefined && !one.mayBeDeleted && fits(one),
    );
  const pick = (of: readonly KnownPost[]): KnownPost | undefined => (of.length > 0 ? random.pick(of) : undefined);
  const some = (fits: (post: KnownPost) => boolean = () => true) => pick(fitting(fits));
  /** One of those whose date is nearest: what is about to go out, or just does. */
  const near = (fits: (post: KnownPost) => boolean = () => true): KnownPost | undefined => {
    if (!isHasty && random.chance(0.3)) return some(fits);
    const sent = isHasty || random.chance(0.5) ? posts.get(underWay() ?? '') : undefined;
    if (sent && sent.created === 'yes' && fits(sent)) return sent;
    const far = ({ date }: KnownPost) => Math.abs(date - kernel.now);
    return pick(
      fitting(fits)
        .toSorted((a, b) => far(a) - far(b))
        .slice(0, 3),
    );
  };
  const threadOf = (post: KnownPost) =>
    [...posts.values()].filter(({ id, root }) => id === post.id || root === post.id);
  const actorOf = ({ context }: Host, { orgId, id }: KnownPost) => context!.actors(postActor, tenantKey(orgId, id));
  const orgOf = ({ orgId }: { orgId: string }) => orgs.find(({ id }) => id === orgId)!;
  const authorOf = (post: KnownPost) => ({ userId: orgOf(post).userId, schedulesFreely: !post.isHeld });

  function edit(): Promise<void> | undefined {
    // what was approved is edited before it goes out, now and then
    const approved = random.chance(0.3) ? some(({ approved: { size } }) => size > 0) : undefined;
    const post = approved ?? near();
    if (!post) return undefined;
    const text = textOf(post.id, ++post.revision);
    post.texts.add(text);
    return ask(
      `edit ${post.id} to revision ${post.revision}`,
      (by) => actorOf(by, post).edit({ content: `<p>${text}</p>`, by: authorOf(post) }),
      (answer) => {
        if (answer === 'no') post.texts.delete(text);
        if (answer !== 'yes') return;
        post.texts = new Set([...post.texts].filter((one) => one >= text)); // edits that are under way may still come
      },
    );
  }
  function move(within: number): Promise<void> | undefined {
    const post = some(({ root, recurs }) => root === undefined && !recurs);
    if (!post) return undefined;
    const date = new Date(Math.floor(kernel.now + random.below(within)));
    post.date = date.getTime();
    return ask(`move ${post.id} to ${date.toISOString()}`, (by) =>
      actorOf(by, post).edit({ publishDate: date, by: authorOf(post) }),
    );
  }
  function remove(): Promise<void> | undefined {
    const post = near();
    if (!post) return undefined;
    const gone = threadOf(post);
    for (const one of gone) one.mayBeDeleted = true;
    return ask(
      `delete ${post.id}`,
      (by) => actorOf(by, post).cancel({}),
      (answer) => {
        for (const one of gone) {
          if (answer === 'yes') one.deletedAt = kernel.now;
          else if (answer === 'no') one.mayBeDeleted = false;
        }
      },
    );
  }
  function retry(): Promise<void> | undefined {
    const post = some();
    return post && ask(`retry ${post.id}`, (by) => actorOf(by, post).retry({ confirm: false }));
  }
  function approve(): Promise<void> | undefined {
    const post = near(({ isHeld, root }) => isHeld && root === undefined);
    if (!post) return undefined;
    const thread = threadOf(post);
    // whoever decides has the right to it; what is there by then is what they approve
    const allow = () => thread.forEach((one) => one.texts.forEach((text) => one.approved.add(text)));
    allow();
    return ask(
      `approve ${post.id}`,
      (by) => actorOf(by, post).approve({ by: { userId: orgOf(post).userId, schedulesFreely: true } }),
      (answer) => answer !== 'no' && allow(),
    );
  }
  const targetOf = (channelId: string | undefined) =>
    channelId === undefined ? { scope: 'org' as const } : { scope: 'channel' as const, id: channelId };
  function pause(): Promise<void> | undefined {
    const about = near();
    const org = about ? orgOf(about) : random.pick(orgs);
    const channelId = random.chance(0.4) ? undefined : (about?.channelId ?? random.pick(org.channels));
    const from = kernel.now;
    return ask(
      `pause ${channelId ?? org.id}`,
      ({ context }) => context!.actors(organizationActor, org.id).pausePosts({ target: targetOf(channelId) }),
      (answer) => {
        if (answer === 'no') return;
        const isUnclear =
          answer === 'unknown' || resumes.some((one) => one.target === (channelId ?? org.id) && one.until >= from);
        // one that may stand is resumed in the end as well, and nothing is judged by it
        brakes.push({ orgId: org.id, channelId, from: isUnclear ? Infinity : kernel.now, until: Infinity });
      },
    );
  }
  function resume(spacingSeconds = random.below(5)): Promise<void> | undefined {
    const standing = brakes.filter(({ until }) => until === Infinity);
    if (standing.length === 0) return undefined;
    const { orgId, channelId } = random.pick(standing);
    for (const one of standing) if (one.orgId === orgId && one.channelId === channelId) one.until = kernel.now;
    const asked = { target: channelId ?? orgId, until: Infinity };
    resumes.push(asked);
    return ask(
      `resume ${channelId ?? orgId}`,
      async ({ context }) => {
        const actor = context!.actors(organizationActor, orgId);
        const { plan } = await actor.resumePosts({ target: targetOf(channelId), spacingSeconds });
        planned(plan, spacingSeconds * 1_000);
      },
      (answer) => {
        if (answer !== 'unknown') asked.until = kernel.now;
      },
    );
  }
  const channelOf = () => {
    const org = random.pick(orgs);
    return { orgId: org.id, channelId: random.pick(org.channels) };
  };
  function login(): Promise<void> {
    const { orgId, channelId } = channelOf();
    return ask(`login of ${channelId}`, (by) => logIn(by, orgId, channelId));
  }
  /** A round of the sweep of auto plugs, which comes more often than the product's. */
  const look = () => ask('look of plugs', ({ context }) => context!.followUps.runAutoPlugs(50));
  /** Its plan has room for a few posts more, or for none. */
  function changePlan(): Promise<void> {
    const org = random.pick(orgs);
    org.most = random.below(16);
    kernel.note(`- the plan of ${org.id} has ${org.most} posts`);
    return writePlan(org);
  }
  function toggle(): Promise<void> {
    const verb = random.chance(0.5) ? 'enable' : 'disable';
    const { orgId, channelId } = channelOf();
    return ask(`${verb} ${channelId}`, ({ context }) =>
      context!.actors(channelActor, tenantKey(orgId, channelId))[verb]({}),
    );
  }

  /** `within`: how far ahead dates lie. */
  const acts: Record<Act, (within: number) => Promise<void> | undefined> = {
    create,
    edit,
    move,
    delete: remove,
    pause,
    resume: () => resume(),
    retry,
    approve,
    login,
    enable: toggle,
    plan: changePlan,
  };
  /** Does something about the post that a network has at this moment. */
  function actAtOnce(): Promise<void> | undefined {
    isHasty = true;
    try {
      return acts[random.pick(['pause', 'pause', 'edit', 'delete', 'approve'] as const)](0);
    } finally {
      isHasty = false;
    }
  }

  return {
    posts,
    brakes,
    orgs,
    act: (what: Act, within: number) => acts[what](within),
    actAtOnce,
    look,
    resume,
    ask,
  };
}
export type People = ReturnType<typeof openPeople>;

/** The wall clock of Berlin in a spring without a change of clocks before its end. */
const localOf = (at: Date): string => new Date(at.getTime() + HOUR).toISOString().slice(0, 19);
