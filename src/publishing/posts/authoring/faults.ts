import { AppError } from '../../../platform/kernel/index.ts';
import {
  checkIdleSettings,
  checkPost,
  type FileFacts,
  type Issue,
  limitsOfItem,
  takesThread,
} from '../../../providers/registry/index.ts';
import type { NetworkRules } from '../channels-port.ts';
import type { ChannelSummary } from './channels.ts';
import { judgeFollowUps } from './follow-ups.ts';

/** A thread to be held against what its network takes. */
export interface JudgedThread {
  rules: NetworkRules;
  channel: Pick<ChannelSummary, 'name' | 'providerId' | 'settings'>;
  /** Of the post, and their field. */
  settings: Readonly<Record<string, unknown>>;
  settingsAt: string;
  items: readonly JudgedItem[];
  /** The first item is published, and what is to follow it planned: neither is sent again. */
  isRootOut?: boolean;
}
interface JudgedItem {
  content: string;
  /** Of its media; undefined for one that lies outside. */
  files: readonly (FileFacts | undefined)[];
  /** Its field, with a dot where it has one. */
  at: string;
  isLater: boolean;
}

/**
 * What can be wrong with a thread. Create, edit, preflight and bulk all judge by this list, so a further part of a post
 * is judged everywhere once its check stands here.
 */
const CHECKS: readonly ((thread: JudgedThread) => Iterable<Issue>)[] = [
  checkItems,
  checkSettingsOfRoot,
  (thread) => (thread.isRootOut ? [] : judgeFollowUps(thread)),
];

/** What the network would refuse of a thread: every fault, with its field. */
export const findIssues = (thread: JudgedThread): Issue[] => CHECKS.flatMap((check) => [...check(thread)]);

/** 400 `invalid_content` for what the network would refuse (S108), naming every field; undefined without a fault. */
export function contentFault({ rules, channel }: JudgedThread, issues: readonly Issue[]): AppError | undefined {
  const [first] = issues;
  return first
    ? new AppError('invalid_content', `${rules.title} (${channel.name}): ${first.message}`, {
        provider: channel.providerId,
        name: channel.name,
        errors: issues,
      })
    : undefined;
}

function* checkItems({ rules, channel, settings: own, items }: JudgedThread): Generator<Issue> {
  const settings = { ...channel.settings, ...own };
  for (const [index, { at, content, files, isLater }] of items.entries()) {
    if (isLater && !takesThread(rules, settings)) {
      yield { field: at.slice(0, -1), message: 'a post has one item here, and no thread', rule: 'max_items' };
      continue;
    }
    const where = index === 0 ? '' : `item ${index + 1} of the thread: `;
    const { counted: text, plain } = rules.write(content);
    for (const { field, message, rule } of checkPost(limitsOfItem(rules, settings, isLater), {
      text,
      plain,
      files,
      settings,
    }))
      yield { field: at + field, message: where + message, rule };
  }
}

/** The settings of the post that have no effect on its first item; those of its channel are for other posts, too. */
function* checkSettingsOfRoot({ rules, channel, settings, settingsAt, items: [first], isRootOut }: JudgedThread) {
  if (!first || first.isLater || isRootOut) return;
  const limits = limitsOfItem(rules, { ...channel.settings, ...settings }, false);
  for (const { field, ...issue } of checkIdleSettings(limits, first.files, settings))
    yield { ...issue, field: `${settingsAt}.${field}` };
}
