import { cleanContent } from '../../platform/content/index.ts';
import { ProviderError } from '../../platform/kernel/index.ts';
import {
  type ChannelPost,
  checkPost,
  type Handle,
  type Held,
  limitsOfItem,
  type LookUp,
  type NewComment,
  type OnceClass,
  type PlugField,
  type Published,
} from '../../providers/registry/index.ts';
import { type Connected, PLUG_TEXT, plugValueOf } from '../posts/index.ts';
import type { FollowUpsDeps } from './deps.ts';
import type { FollowUp, PlugValue } from './row.ts';
import type { FollowUpOutcome } from './rules.ts';

/** What a channel is to do. */
export type FollowUpTask =
  | { act: 'comment'; text: string; parent?: NewComment['parent'] }
  | { act: 'repost'; fields: Readonly<Record<string, string>> };

/** The plug as the network of its post declares it; undefined where it is declared no more, or there is none. */
export const plugOf = (
  { channels }: Pick<FollowUpsDeps, 'channels'>,
  { network, plug }: Pick<FollowUp, 'network' | 'plug'>,
) => channels.adapterOf(network)?.plugs?.find(({ identifier }) => identifier === plug);

/** What a follow-up asks for now; an outcome where that is nothing, without a call. */
export function taskOf(
  deps: Pick<FollowUpsDeps, 'channels'>,
  followUp: FollowUp,
): { task: FollowUpTask; outcome?: never } | { outcome: FollowUpOutcome; task?: never } {
  const { channels } = deps;
  const { kind, channel, stop, settings, fields, reply } = followUp;
  const end = (outcome: FollowUpOutcome) => ({ outcome });
  if (followUp.isDeleted) return end({ kind: 'ended', message: 'The post was deleted' });
  if (followUp.isThreadOpen) return end({ kind: 'behind' });
  if (!channel) return end({ kind: 'gone', message: 'The channel that should act is not there any more' });
  if (stop === 'disabled') return end({ kind: 'stopped', message: 'The channel that should act is disabled' });
  if (stop === 'login') return end({ kind: 'reauthorize', message: 'The channel needs a new login' });
  if (reply) {
    if (channels.adapterOf(channel)?.comment?.replies)
      return { task: { act: 'comment', text: reply.content, parent: reply.parent } };
    return end({ kind: 'unsupported', message: 'The network takes no replies to comments any more' });
  }
  if (kind === 'first_comment') {
    if (!channels.adapterOf(channel)?.comment) return end({ kind: 'none' });
    return { task: { act: 'comment', text: String(settings['firstComment']) } };
  }
  if (kind === 'auto_plug' && !fields)
    return end({ kind: 'ended', message: 'The plug of the channel is not activated any more' });
  const plug = plugOf(deps, followUp);
  if (!plug) return end({ kind: 'unsupported', message: 'The network does not have this plug any more' });
  const asked = ({ name }: PlugField) =>
    kind === 'auto_plug' ? valueOf(fields!, name) : plugValueOf(settings, plug.identifier, name, followUp.channelId);
  const said = Object.fromEntries(plug.fields.map((field) => [field.name, asked(field)]));
  if (plug.act === 'repost') return { task: { act: 'repost', fields: said } };
  return { task: { act: 'comment', text: said[PLUG_TEXT] ?? '' } };
}

/** The value of a field; empty where it is not set. */
export const valueOf = (fields: readonly PlugValue[], name: string): string =>
  fields.find((field) => field.name === name)?.value ?? '';

/** A task at its network. */
export interface Doable {
  once: OnceClass;
  send(handle: Handle): Promise<Published | Held>;
  /** Absent where the network cannot be asked. */
  find?: ((attempt: LookUp) => Promise<Published | readonly Published[] | undefined>) | undefined;
}

/**
 * How a connected channel does a task, under the id of the follow-up; undefined where its network cannot.
 * @throws ProviderError `rejected` for a text that the network does not take
 */
export function doableOf(
  { channels, links }: Pick<FollowUpsDeps, 'channels' | 'links'>,
  task: FollowUpTask,
  followUp: FollowUp,
  connected: Connected,
): Doable | undefined {
  const { social, commentOnce, repostOnce } = connected;
  const published: ChannelPost = {
    id: followUp.releaseId,
    url: followUp.releaseUrl,
    account: followUp.network.account,
    ...(followUp.released != null && { saved: followUp.released }),
  };
  if (task.act === 'repost') {
    const repost = { id: followUp.id, published, fields: task.fields };
    const { repost: send, findRepost: find } = social;
    return (
      send && { once: repostOnce!, send: (handle) => send(repost, handle), find: find && ((one) => find(repost, one)) }
    );
  }
  const { comment: send, findComment: find } = social;
  if (!send) return undefined;
  const shortened = (followUp.links ?? []).filter(({ short }) => short !== null);
  const { text, plain, counted } = connected.write(
    cleanContent(task.text),
    shortened.length > 0 ? (one) => links.apply(one, shortened) : undefined,
  );
  const { providerId, providerVersion } = followUp.channel!; // a task has its channel
  const rules = channels.rules(providerId, providerVersion, followUp.serverLimits);
  const [issue] = checkPost(limitsOfItem({ ...rules, threads: 'comment' }, {}, true), {
    text: counted,
    plain,
    files: [],
  });
  // what was sent is looked for, whatever its server takes by now
  if (issue && !followUp.isLost) throw new ProviderError('rejected', issue.message);
  const comment: NewComment = {
    post: { id: followUp.id, text, plain, media: [] },
    published,
    ...(task.parent && { parent: task.parent }),
  };
  return { once: commentOnce!, send: (handle) => send(comment, handle), find: find && ((one) => find(comment, one)) };
}
