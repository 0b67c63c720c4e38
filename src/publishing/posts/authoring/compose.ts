import { AppError, invalidField, isId, newId } from '../../../platform/kernel/index.ts';
import { checkPost, limitsOfItem } from '../../../providers/registry/index.ts';
import type { CreateBody, ElementBody } from './body.ts';
import type { NewPost, PostChange } from './input.ts';
import { post, type PostMedia } from '../row.ts';
import type { MediaPort, NetworkRules } from '../ports.ts';
import { tooLongAgo } from '../rules.ts';
import type { ChannelSummary } from './channels.ts';
import { checkFollowUps, judgeFirstComment } from './follow-ups.ts';
import type { Existing } from './named.ts';

/**
 * What a body asks for, judged: new posts, and changes of posts that it names. `reply` has one entry for each element.
 */
export interface Composed {
  posts: NewPost[];
  edits: { postId: string; change: PostChange }[];
  reply: { postId: string; integration: string }[];
  /** What is to be published, and has to be held against the limits of its network. */
  toJudge: ToJudge[];
}

interface Known {
  channels: ReadonlyMap<string, ChannelSummary>;
  existing: ReadonlyMap<string, Existing>;
  rules(channel: ChannelSummary): NetworkRules;
  /** Shared by all that is composed, so that whoever composes may fill it in afterwards. */
  tagIds: string[];
  now: Date;
}
interface Content {
  content: string;
  media: readonly PostMedia[];
}
/** Items of a thread, to be held against the limits of their network; `at` is the field of each, with a dot. */
export interface ToJudge {
  rules: NetworkRules;
  channel: Pick<ChannelSummary, 'name' | 'providerId' | 'settings'>;
  /** Of the post, and their field. */
  settings: Readonly<Record<string, unknown>>;
  settingsAt: string;
  items: readonly (Content & { at: string; isLater: boolean })[];
}

/** The ids of a body that may name posts. */
export const namedPosts = (body: CreateBody): string[] =>
  body.posts.flatMap(({ value }) => value.flatMap(({ id }) => (id !== undefined && isId(id) ? [id] : [])));

/** 400 `invalid_content` for what the network would refuse (S108), naming every field. */
export async function judgeContent(
  { media }: { media: Pick<MediaPort, 'facts'> },
  orgId: string,
  posts: readonly ToJudge[],
): Promise<void> {
  const lists = posts.flatMap(({ items }) => items.map((item) => item.media));
  const facts = lists.some((list) => list.length > 0) ? await media.facts(orgId, lists) : lists.map(() => []);
  let n = 0;
  for (const { rules, channel, items, settings: own, settingsAt } of posts) {
    const settings = { ...channel.settings, ...own };
    const issues = items.flatMap(({ at, content, isLater }, index) => {
      const where = index === 0 ? '' : `item ${index + 1} of the thread: `;
      const files = facts[n++]!;
      if (isLater && rules.threads === 'none')
        return [{ field: at.slice(0, -1), message: 'a post has one item here, and no thread', rule: 'max_items' }];
      const { counted: text, plain } = rules.write(content);
      const found = checkPost(limitsOfItem(rules, settings, isLater), { text, plain, files, settings });
      return found.map(({ field, message, rule }) => ({ field: at + field, message: where + message, rule }));
    });
    issues.push(...judgeFirstComment(rules, own, settingsAt));
    if (issues.length > 0)
      throw new AppError('invalid_content', `${rules.title} (${channel.name}): ${issues[0]!.message}`, {
        provider: channel.providerId,
        name: channel.name,
        errors: issues,
      });
  }
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

/** 400 for a date that is too long ago to be meant (S104). */
export function checkDate(date: Date, now: Date, field = 'date'): void {
  if (tooLongAgo(date, now))
    throw new AppError('date_in_past', 'The date is more than a day ago', {
      errors: [{ field, message: 'is more than a day ago', rule: 'date' }],
    });
}

/** What a create body means. Throws the first fault; nothing is stored before the whole body is judged. */
export function compose(body: CreateBody, known: Known): Composed {
  const composed: Composed = { posts: [], edits: [], reply: [], toJudge: [] };
  if (body.type === 'schedule') checkDate(body.date!, known.now);
  body.posts.forEach((element, n) => {
    const at = `posts.${n}`;
    const channel = known.channels.get(element.integration.id);
    if (!channel)
      throw new AppError('invalid_request', 'Integration not found', {
        errors: [{ field: `${at}.integration.id`, message: 'Integration not found', rule: 'unknown_id' }],
      });
    if (channel.disabled && (body.type === 'schedule' || body.type === 'now'))
      throw new AppError('invalid_request', `Integration is disabled: ${channel.name}`, {
        errors: [{ field: `${at}.integration.id`, message: 'Integration is disabled', rule: 'disabled' }],
      });

    const rules = known.rules(channel);
    rules.checkSettings(element.settings, `${at}.settings`);
    checkFollowUps(element.settings, `${at}.settings`, rules, known.channels);
    const shortLinks = shortensLinks(channel, body.shortLink);
    const items = element.value.map(({ id, image: media, delay: delayMinutes, ...item }) => ({
      ...item,
      named: id,
      media,
      delayMinutes,
    }));
    const rootId = element.value[0]!.id;
    const root = rootId === undefined ? undefined : known.existing.get(rootId);
    const queued =
      body.type === 'schedule' || body.type === 'now' || (body.type === 'update' && root?.state !== 'DRAFT');
    if (queued)
      composed.toJudge.push({
        rules,
        channel,
        settings: element.settings,
        settingsAt: `${at}.settings`,
        items: items.map(({ content, media }, index) => ({
          content,
          media,
          at: `${at}.value.${index}.`,
          isLater: index > 0,
        })),
      });

    if (body.type === 'update' && !root)
      throw invalidField(`${at}.value.0.id`, 'names no post of this organization', 'unknown_id');
    if (root) editOf(element, root);
    else createOf(element, channel);

    function editOf({ group, settings }: ElementBody, existing: Existing): void {
      if (existing.rootPostId !== null)
        throw invalidField(`${at}.value.0.id`, 'names an item inside a thread, not its first post', 'unknown_id');
      if (existing.channelId !== channel!.id)
        throw invalidField(`${at}.integration.id`, 'the post belongs to another channel', 'other_channel');
      const [first, ...others] = items;
      composed.edits.push({
        postId: existing.id,
        change: {
          ...post.pick('edit', first!),
          settings: { values: typedSettings(settings, channel!.providerId), merge: false },
          thread: others.map(({ named, ...item }) => ({
            ...post.pick('item', item),
            id: named !== undefined && known.existing.get(named)?.rootPostId === existing.id ? named : newId(),
          })),
          ...(group !== undefined && { group }),
          ...(shortLinks !== undefined && { shortLinks }),
          ...(body.tags.length > 0 && { tagIds: known.tagIds }),
          ...(body.type === 'now' ? { publishDate: known.now } : body.date && { publishDate: body.date }),
          ...(body.type === 'draft'
            ? { status: 'draft' as const }
            : body.type !== 'update' && { status: 'schedule' as const }),
        },
      });
      composed.reply.push({ postId: existing.id, integration: channel!.id });
    }

    function createOf({ group = newId(), settings }: ElementBody, { id: channelId, providerId }: ChannelSummary): void {
      const ids = items.map(() => newId());
      items.forEach((item, index) => {
        const one: NewPost = {
          ...post.pick('create', item),
          id: ids[index]!,
          channelId,
          group,
          ...(index > 0 && { parentPostId: ids[index - 1]!, rootPostId: ids[0]! }),
          state: body.type === 'draft' ? 'DRAFT' : 'QUEUE',
          settings: typedSettings(settings, providerId),
          publishDate: body.type === 'now' ? null : (body.date ?? known.now),
          tagIds: known.tagIds,
          ...(shortLinks && { shortLinks }),
          creationMethod: body.creationMethod === 'CLI' ? 'CLI' : 'API',
        };
        composed.posts.push(one);
      });
      composed.reply.push({ postId: ids[0]!, integration: channelId });
    }
  });
  return composed;
}
