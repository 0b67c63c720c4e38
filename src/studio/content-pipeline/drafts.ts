import type { PostAuthor } from '../../publishing/posts/index.ts';
import type { ClaimedStep } from '../runs/index.ts';
import type { ContentPipelineDeps } from './deps.ts';
import { draftContent } from '../text/index.ts';

/** A draft as the body of `POST /posts` that creates it. */
export const draftBody = ({ channelId, text }: { channelId: string; text: string }) => ({
  type: 'draft' as const,
  posts: [{ integration: { id: channelId }, value: [{ content: draftContent(text) }], settings: {} }],
});

export interface DraftFault {
  message: string;
  /** Another text may mend it. */
  isOfText: boolean;
}
interface DraftText {
  channelId: string;
  text: string;
}
type Judges = Pick<ContentPipelineDeps, 'posts' | 'clock'>;

const AHEAD_MS = 86_400_000;

/**
 * Judges a draft as publishing does when it is queued, in the unit of its network; pictures, which people add, and
 * whether the channel is switched on may wait.
 */
export async function judgeDraft({ posts, clock }: Judges, orgId: string, author: PostAuthor, draft: DraftText) {
  const [element] = draftBody(draft).posts;
  const body = {
    type: 'schedule' as const,
    date: { at: clock.in(AHEAD_MS), isLocal: false },
    tags: [],
    posts: [
      {
        integration: element!.integration,
        value: element!.value.map(({ content }) => ({ content, id: undefined, delay: 0, image: [] })),
        group: undefined,
        settings: {},
      },
    ],
    timezone: undefined,
  };
  const [judged] = await posts.preflightPosts(orgId, [body], author);
  const { issues, maximumCharacters, providerId } = judged!.entries[0]!; // one for each element of each body
  const found = issues.find(({ field, rule }) => !/\.image(\.\d+)?$/.test(field) && rule !== 'disabled');
  const fault: DraftFault | undefined = found && { message: found.message, isOfText: found.field.endsWith('.content') };
  return { fault, maximumCharacters, providerId };
}

/** What keeps a draft of a run from being a whole one. */
export async function draftFault(
  deps: Judges,
  { orgId, userId }: Pick<ClaimedStep, 'orgId' | 'userId'>,
  draft: DraftText,
): Promise<DraftFault | undefined> {
  return (await judgeDraft(deps, orgId, { userId: userId ?? '', schedulesFreely: false }, draft)).fault;
}
