import { newId } from '../../../platform/kernel/index.ts';
import type { Recurrence } from '../recurrence.ts';
import { post } from '../row.ts';
import type { CreateBody, ElementBody } from './body.ts';
import type { ChannelSummary } from './channels.ts';
import type { NewPost, PostChange } from './input.ts';
import { isQueued, type JudgedBody } from './judgement.ts';
import type { Existing } from './named.ts';

/**
 * What an accepted body asks for: new posts, and changes of posts that it names. `reply` has one entry for each
 * element.
 */
export interface Composed {
  posts: NewPost[];
  edits: { postId: string; change: PostChange }[];
  reply: { postId: string; integration: string }[];
}

/** Settings as they are stored: the channel's provider decides, whatever `__type` said (T5). */
export const typedSettings = (
  settings: Readonly<Record<string, unknown>>,
  providerId: string,
): Record<string, unknown> => {
  const { __type, ...own } = settings;
  return { __type: providerId, ...own };
};

/** Whether links go out short: the org decides, or leaves it to whoever writes; undefined where they did not say. */
export const shortensLinks = (
  { shortlink }: Pick<ChannelSummary, 'shortlink'>,
  wished: boolean | null | undefined,
): boolean | undefined => (shortlink === 'ASK' ? (wished ?? undefined) : shortlink === 'YES');

/** The ids of items behind a root: one that names an item of its thread keeps that id, once; any other is new (S106). */
export function idsOfItems(items: readonly { named: string | undefined }[], isOwn: (id: string) => boolean): string[] {
  const kept = new Set<string>();
  return items.map(({ named }) => {
    if (named === undefined || kept.has(named) || !isOwn(named)) return newId();
    kept.add(named);
    return named;
  });
}

type Item = ReturnType<typeof elementItems>[number];
export const elementItems = ({ value }: ElementBody) =>
  value.map(({ id, image: media, delay: delayMinutes, ...item }) => ({ ...item, named: id, media, delayMinutes }));

/** The status that a body gives to a post which it edits; undefined: it keeps its own. */
export const statusOf = ({ type }: Pick<CreateBody, 'type'>): PostChange['status'] =>
  type === 'draft' ? 'draft' : type === 'update' ? undefined : 'schedule';

/** What a body means whose judgement found no fault; `named`: the tags that it names. */
export function compose(judged: JudgedBody, named: string[]): Composed {
  const tagIds = withTag(named, judged.campaignTag);
  const composed: Composed = { posts: [], edits: [], reply: [] };
  for (const { element, channel, root, recurrence } of judged.elements) {
    const items = elementItems(element);
    const part = { judged, element, channel: channel!, recurrence, items, tagIds }; // without a channel there is a fault
    if (root) composed.edits.push(editOf(part, root));
    const made = root ? [] : postsOf(part);
    composed.posts.push(...made);
    composed.reply.push({ postId: root?.id ?? made[0]!.id, integration: channel!.id });
  }
  return composed;
}

export const withTag = (tagIds: readonly string[], tag: string | undefined): string[] =>
  tag === undefined ? [...tagIds] : [...new Set([...tagIds, tag])];

interface Part {
  judged: JudgedBody;
  element: ElementBody;
  channel: ChannelSummary;
  recurrence: Recurrence | undefined;
  items: readonly Item[];
  tagIds: string[];
}

function editOf(
  { judged, element, channel, recurrence, items, tagIds }: Part,
  root: Existing,
): Composed['edits'][number] {
  const { body, existing, now } = judged;
  const { group, settings } = element;
  const [first, ...others] = items;
  const shortLinks = shortensLinks(channel, body.shortLink);
  const status = statusOf(body);
  const ids = idsOfItems(others, (id) => existing.get(id)?.rootPostId === root.id);
  return {
    postId: root.id,
    change: {
      ...post.pick('edit', first!),
      settings: { values: typedSettings(settings, channel.providerId), merge: false },
      thread: others.map((item, n) => ({ ...post.pick('item', item), id: ids[n]! })),
      ...(group !== undefined && { group }),
      ...(shortLinks !== undefined && { shortLinks }),
      ...tagsAfter(judged, tagIds),
      ...(body.type === 'now' ? { publishDate: now } : body.date && { publishDate: body.date }),
      ...(recurrence && { recurrence }),
      ...(status && { status }),
      ...(body.type === 'update' && !isQueued(body, root) && { unjudged: true }),
    },
  };
}

/** The tags of a post that a body edits: those that it names; where it names a campaign alone, this one beside others. */
function tagsAfter({ body, campaignTag }: JudgedBody, tagIds: string[]): Pick<PostChange, 'tagIds' | 'campaignTag'> {
  if (body.tags.length > 0) return { tagIds };
  return campaignTag === undefined ? {} : { campaignTag };
}

function postsOf({ judged, element, channel, recurrence, items, tagIds }: Part): NewPost[] {
  const { body, now } = judged;
  const { group = newId(), settings } = element;
  const shortLinks = shortensLinks(channel, body.shortLink);
  const ids = items.map(() => newId());
  const postOf = (item: Item, index: number): NewPost => ({
    ...post.pick('create', item),
    id: ids[index]!,
    channelId: channel.id,
    group,
    ...(index > 0 && { parentPostId: ids[index - 1]!, rootPostId: ids[0]! }),
    ...(index === 0 && recurrence && { recurrence }),
    state: body.type === 'draft' ? 'DRAFT' : 'QUEUE',
    settings: typedSettings(settings, channel.providerId),
    publishDate: body.type === 'now' ? null : (body.date ?? now),
    tagIds,
    ...(shortLinks && { shortLinks }),
    creationMethod: body.creationMethod === 'CLI' ? 'CLI' : 'API',
  });
  return items.map(postOf);
}
