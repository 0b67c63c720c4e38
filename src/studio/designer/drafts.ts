import { AppError, busy, idFrom, limitExceeded } from '../../platform/kernel/index.ts';
import { CreateBody, type PostRow } from '../../publishing/posts/index.ts';
import type { DesignerDeps } from './deps.ts';

type Needs = Pick<DesignerDeps, 'posts' | 'billing'>;

/** The draft that a step makes for a channel: the same however often it is made. */
export const draftIdOf = (stepId: string, channelId: string): string => idFrom(`draft ${stepId} ${channelId}`);

const MOST_STALE = 20;
const RETRY_MS = 500;

/** The texts that a step has written, each for its channel, and the files that all of them get. */
interface WrittenTexts {
  stepId: string;
  texts: ReadonlyMap<string, string>;
  files: readonly { id: string; path: string }[];
}

/** Those of the channels whose draft is not there yet. */
async function missingOf({ posts }: Pick<Needs, 'posts'>, orgId: string, stepId: string, channelIds: Iterable<string>) {
  const ids = new Map(Array.from(channelIds, (channelId) => [channelId, draftIdOf(stepId, channelId)] as const));
  const known = await posts.findKnownPosts(orgId, [...ids.values()]);
  return [...ids].flatMap(([channelId, id]) => (known.has(id) ? [] : [channelId]));
}

/** @throws AppError `limit_exceeded` where the plan has no room for so many posts more */
async function roomFor({ billing }: Pick<Needs, 'billing'>, orgId: string, many: number) {
  const quota = billing.enabled ? await billing.quota(orgId) : undefined;
  if (quota && quota.used + many > quota.max) throw limitExceeded('posts_per_month', quota.max);
  return quota;
}

/** Refuses, before their texts are paid for, drafts that the plan has no room for. @throws AppError `limit_exceeded` */
export async function checkRoomForDrafts(
  deps: Needs,
  { orgId, id }: { orgId: string; id: string },
  channelIds: readonly string[],
): Promise<void> {
  const missing = await missingOf(deps, orgId, id, channelIds);
  if (missing.length > 0) await roomFor(deps, orgId, missing.length);
}

/**
 * Stores the texts of a step as drafts within the limit of the plan, all of them or none; one that is there already
 * stays.
 */
export async function keepDrafts(
  deps: Needs,
  { orgId, userId }: { orgId: string; userId: string },
  { stepId, texts, files }: WrittenTexts,
): Promise<void> {
  const { posts } = deps;
  const missing = await missingOf(deps, orgId, stepId, texts.keys());
  if (missing.length === 0) return;
  const image = files.map(({ id, path }) => ({ id, path }));
  const body = CreateBody.parse({
    type: 'draft',
    posts: missing.map((channelId) => ({
      integration: { id: channelId },
      value: [{ content: texts.get(channelId)!, image }],
      group: stepId,
      settings: {},
    })),
  });
  const { posts: made } = await posts.prepareCreate(orgId, body, userId);
  const drafts = made.map((post) => ({ ...post, id: draftIdOf(stepId, post.channelId) }));
  for (let stale = 0; stale < MOST_STALE; stale += 1) {
    const quota = await roomFor(deps, orgId, drafts.length);
    const [admitted] = await posts.admitPosts(orgId, [{ posts: drafts, createdBy: userId }], quota);
    if (admitted!.refused) throw admitted!.refused;
    if (!admitted!.stale) return;
  }
  throw busy(RETRY_MS);
}

/** As it was made: each change counts one version on. */
const isUntouched = ({ state, detail, version }: Pick<PostRow, 'state' | 'detail' | 'version'>): boolean =>
  state === 'DRAFT' && detail === null && version === 1;

/** Deletes drafts that nobody has taken up since: what was edited, queued, asked to be approved or published stays. */
export async function dropDrafts({ posts }: Pick<DesignerDeps, 'posts'>, orgId: string, ids: readonly string[]) {
  for (const id of await posts.findKnownPosts(orgId, ids))
    try {
      const [draft] = await posts.getPost(orgId, id);
      if (draft && isUntouched(draft)) await posts.removePost(orgId, id);
    } catch (error) {
      if (!(error instanceof AppError && (error.code === 'not_found' || error.code === 'conflict'))) throw error;
    }
}
