import { AppError, busy, idFrom, limitExceeded } from '../../platform/kernel/index.ts';
import { CreateBody } from '../../publishing/posts/index.ts';
import type { DesignerDeps } from './deps.ts';

type Needs = Pick<DesignerDeps, 'posts' | 'billing'>;

/** The draft that a step makes for a channel: the same however often it is made. */
export const draftIdOf = (stepId: string, channelId: string): string => idFrom(`draft ${stepId} ${channelId}`);

const MOST_STALE = 20;
const RETRY_MS = 500;

/** Stores the text of a channel as a draft, within the limit of the plan; one that is there already stays. */
export async function keepDraft(
  { posts, billing }: Needs,
  { orgId, userId }: { orgId: string; userId: string },
  draft: { stepId: string; channelId: string; content: string; files: readonly { id: string; path: string }[] },
): Promise<string> {
  const id = draftIdOf(draft.stepId, draft.channelId);
  if ((await posts.findKnownPosts(orgId, [id])).has(id)) return id;
  const body = CreateBody.parse({
    type: 'draft',
    posts: [
      {
        integration: { id: draft.channelId },
        value: [{ content: draft.content, image: draft.files.map((file) => ({ id: file.id, path: file.path })) }],
        group: draft.stepId,
        settings: {},
      },
    ],
  });
  const { posts: made } = await posts.prepareCreate(orgId, body, userId);
  const create = { posts: made.map((post) => ({ ...post, id })), createdBy: userId };
  for (let stale = 0; stale < MOST_STALE; stale += 1) {
    const quota = billing.enabled ? await billing.quota(orgId) : undefined;
    if (quota && quota.used + 1 > quota.max) throw limitExceeded('posts_per_month', quota.max);
    const [admitted] = await posts.admitPosts(orgId, [create], quota);
    if (admitted!.refused) throw admitted!.refused;
    if (!admitted!.stale) return id;
  }
  throw busy(RETRY_MS);
}

/** Deletes drafts that nobody has taken up since: what was queued or published stays. */
export async function dropDrafts({ posts }: Pick<DesignerDeps, 'posts'>, orgId: string, ids: readonly string[]) {
  for (const id of await posts.findKnownPosts(orgId, ids))
    try {
      const [draft] = await posts.getPost(orgId, id);
      if (draft?.state === 'DRAFT') await posts.removePost(orgId, id);
    } catch (error) {
      if (!(error instanceof AppError && (error.code === 'not_found' || error.code === 'conflict'))) throw error;
    }
}
