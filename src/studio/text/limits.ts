import { invalidField } from '../../platform/kernel/index.ts';
import { checkPost, limitsOfItem, UNIT_WORDS } from '../../providers/registry/index.ts';
import type { Channels } from '../../publishing/channels/index.ts';

/** The greatest length that a channel takes. */
export interface TextLimit {
  /** In words, with its unit; `share` of it. */
  words(share: number): string;
  /** What is wrong with the length of a text; undefined: it fits. */
  faultOf(text: string): string | undefined;
}

/** @throws AppError 400 for a channel that is not of the organization */
export async function limitOfChannel(
  { channels }: { channels: Pick<Channels, 'find' | 'rules'> },
  orgId: string,
  id: string,
): Promise<TextLimit> {
  const [channel] = await channels.find(orgId, [id]);
  if (!channel) throw invalidField('integrationId', 'there is no such channel', 'unknown_id');
  const { providerId, providerVersion, serverLimits } = channel;
  const rules = channels.rules(providerId, providerVersion, serverLimits);
  const limits = limitsOfItem(rules, {}, false);
  return {
    words: (share) => `${Math.floor(limits.text * share)} ${UNIT_WORDS[limits.unit]}`,
    faultOf(text) {
      const { counted, plain } = rules.write(text);
      const issues = checkPost(limits, { text: counted, plain, files: [] });
      return issues.find(({ rule }) => rule === 'max_length')?.message;
    },
  };
}
