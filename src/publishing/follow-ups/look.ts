import { newId } from '../../platform/kernel/index.ts';
import type { AutoPlug, Published, SocialAdapter } from '../../providers/registry/index.ts';
import type { WithoutSlot } from '../posts/index.ts';
import type { FollowUpsDeps } from './deps.ts';
import {
  claimLooks,
  endLook,
  findDueLooks,
  leaveLooks,
  type Look,
  type LookedPost,
  type LookResult,
  postsOfLook,
} from './looks-store.ts';
import { FOLLOW_UP_CLAIM_MS } from './row.ts';
import { valueOf } from './task.ts';

const DAY_MS = 86_400_000;
/** A network that could not be asked is asked again after this long; the runs stay due. */
const AGAIN_MS = 5 * 60_000;
/** Channels that one round looks at, side by side, and how long one of them may take. */
const AT_A_TIME = 50;
const PATIENCE_MS = 45_000;

/** Fields of auto plugs have this name, whatever the network. */
const LIKES = 'likesAmount';

/** Makes looks of auto plugs that are due; answers how many channels were looked at. */
export async function runAutoPlugs(deps: FollowUpsDeps, limit: number): Promise<number> {
  const due = await findDueLooks(deps.sql, Math.min(limit, AT_A_TIME));
  await Promise.all(
    due.map((channel) =>
      lookAt(deps, channel).catch((error: unknown) =>
        deps.log.warn({ err: error, channelId: channel.channelId }, 'a look of auto plugs failed and is made again'),
      ),
    ),
  );
  return due.length < Math.min(limit, AT_A_TIME) ? due.length : limit;
}

/** A look with what its plug declares, and the posts that it is about. */
interface Planned {
  look: Look;
  plug: AutoPlug;
  posts: LookedPost[];
}

async function lookAt(deps: FollowUpsDeps, key: { orgId: string; channelId: string }): Promise<void> {
  const { sql, clock, channels } = deps;
  const heldSince = clock.monotonic();
  const claimed = await claimLooks(sql, key, newId());
  const { looks, channel, network, isStopped } = claimed;
  const adapter = network && channels.adapterOf(network);
  const planned: Planned[] = [];
  for (const look of looks) {
    const plug = adapter?.plugs?.find((one) => one.kind === 'auto' && one.identifier === look.plug);
    if (plug?.kind === 'auto' && !plug.disabled && !isStopped)
      planned.push({ look, plug, posts: await postsOfLook(sql, look, rhythmOf(plug)) });
    // nothing is made up for after a pause
    else await endLook(sql, look, plug?.kind === 'auto' ? rhythmOf(plug) : NEVER, NOTHING);
  }
  if (planned.length === 0 || !channel || !adapter) return;
  const counted = await readLikes(deps, { ...key, channel, heldSince, leaseMs: FOLLOW_UP_CLAIM_MS }, adapter, planned);
  if (counted === undefined) await leaveLooks(sql, looks, AGAIN_MS);
  else for (const one of planned) await endLook(sql, one.look, rhythmOf(one.plug), resultOfLook(one, counted));
}

const rhythmOf = ({ runEveryMilliseconds, totalRuns }: AutoPlug) => ({ everyMs: runEveryMilliseconds, totalRuns });
const NEVER = { everyMs: DAY_MS, totalRuns: 1 };
const NOTHING: LookResult = { runs: 0, actOn: [], uncounted: [] };

/** What a network said of the posts of a look, by the id of the release. */
interface Counted {
  likes: Map<string, number>;
  /** Why it does not tell the likes, such as a permission that the login lacks. */
  refused: Map<string, string>;
}

/** The posts that have enough likes, and those whose likes nobody is told. One that is gone at the network has none. */
const resultOfLook = ({ look, posts }: Planned, { likes, refused }: Counted): LookResult => {
  const least = Number(valueOf(look.fields, LIKES));
  return {
    runs: posts.length,
    actOn: posts.flatMap(({ id, release }) => ((likes.get(release.id) ?? -1) >= least ? [id] : [])),
    uncounted: posts.flatMap(({ id, release }) => {
      const reason = refused.get(release.id);
      return reason === undefined ? [] : [{ id, reason }];
    }),
  };
};

const likesOf = ({ likes, reactions }: Readonly<Record<string, number | undefined>>): number => likes ?? reactions ?? 0;

/**
 * One read of counts for all looks of a channel, in as few calls as its network has; undefined where it could not be
 * asked. What analytics read less than half an interval ago serves as well.
 */
async function readLikes(
  deps: FollowUpsDeps,
  caller: WithoutSlot,
  { metrics, metricsAtOnce = 1 }: SocialAdapter,
  planned: readonly Planned[],
): Promise<Counted | undefined> {
  const { sql, channels, clock, counts } = deps;
  const likes = new Map<string, number>();
  const refused = new Map<string, string>();
  if (!metrics) return { likes, refused };
  const posts = new Map(planned.flatMap((one) => one.posts.map((post) => [post.id, post.release])));
  const halfMs = Math.min(...planned.map(({ plug }) => plug.runEveryMilliseconds)) / 2;
  const known = await counts.recentOf(sql, caller.orgId, [...posts.keys()], halfMs);
  for (const [id, of] of known) likes.set(posts.get(id)!.id, likesOf(of));
  const wanted = [...posts].filter(([id]) => !known.has(id)).map(([, release]) => release);
  const since = clock.monotonic();
  for (let at = 0; at < wanted.length; at += metricsAtOnce) {
    if (clock.monotonic() - since > PATIENCE_MS) return { likes, refused }; // the newest were read; older ones have other runs
    const part: Published[] = wanted.slice(at, at + metricsAtOnce);
    const failure = await deps.posts.askWithoutSlot(caller, async ({ social }) => {
      for (const { id, counts: of } of (await social.metrics?.(part)) ?? []) likes.set(id, likesOf(of));
    });
    if (failure?.kind === 'reauthorize')
      await channels.needsLogin(caller.orgId, caller.channelId, failure.message, caller.channel.credentials);
    if (failure && failure.kind !== 'rejected' && failure.kind !== 'unsupported') return undefined;
    if (failure) for (const { id } of part) if (!likes.has(id)) refused.set(id, failure.message);
  }
  return { likes, refused };
}
