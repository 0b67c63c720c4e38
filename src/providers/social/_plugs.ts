/**
 * A field of a plug; `validation` is the source of an expression that the whole value must match, in linear time: one
 * repeated class of characters. `likesAmount` and `post`, the text of a comment, are what plugs act by.
 */
export interface PlugField {
  name: string;
  description: string;
  type: 'number' | 'text';
  placeholder: string;
  validation?: string;
  /**
   * Where a value holds, by the account of the channel that acts: its server or workspace. Absent where one value does
   * for every channel of the network.
   */
  holdsAt?(account: string): string;
}
/** What a plug does to a post, by the method of the adapter that it calls. */
type PlugAct = 'repost' | 'comment';

/** A plug that looks at the posts of its channel again and again, and acts when one has enough likes (PL1). */
export interface AutoPlug {
  kind: 'auto';
  act: PlugAct;
  /** Unique over all networks (PL2). */
  identifier: string;
  title: string;
  description: string;
  runEveryMilliseconds: number;
  /** 0: without end. */
  totalRuns: number;
  disabled: boolean;
  fields: readonly PlugField[];
}
/** A plug of one post, which acts through other channels once it is published (PL5). */
export interface PostPlug {
  kind: 'post';
  act: PlugAct;
  identifier: string;
  title: string;
  description: string;
  /** Ids of the networks whose channels can act. */
  pickIntegration: readonly string[];
  fields: readonly PlugField[];
}
export type Plug = AutoPlug | PostPlug;

const HOURS_6 = 21_600_000;
const likesAmount: PlugField = {
  name: 'likesAmount',
  type: 'number',
  description: 'Number of likes from which it acts',
  placeholder: '10',
  validation: '^\\d{1,9}$',
};
const text = (description: string): PlugField => ({
  name: 'post',
  type: 'text',
  description,
  placeholder: 'At least 3 characters',
  validation: '^[\\s\\S]{3,}$',
});
/** The place where the acting channel repeats a post. */
export const place = (
  name: string,
  description: string,
  placeholder: string,
  validation: string,
  holdsAt?: PlugField['holdsAt'],
): PlugField => ({ name, type: 'text', description, placeholder, validation, ...(holdsAt && { holdsAt }) });
export const titleField = (least: number, most: number): PlugField =>
  place('title', 'Title of the new post', 'A title', `^[^\\r\\n]{${least},${most}}$`);
/** Three looks, six hours apart. */
const polled = { kind: 'auto', runEveryMilliseconds: HOURS_6, totalRuns: 3, disabled: false } as const;

/** The channel repeats its own post that has so many likes. */
const repostAtLikes = (network: string): AutoPlug => ({
  ...polled,
  act: 'repost',
  identifier: `${network}-auto-repost`,
  title: 'Repost popular posts',
  description: 'Reposts a post of this channel when it has reached a number of likes.',
  fields: [likesAmount],
});
/** The channel answers its own post that has so many likes. */
const commentAtLikes = (network: string): AutoPlug => ({
  ...polled,
  act: 'comment',
  identifier: `${network}-auto-comment`,
  title: 'Comment on popular posts',
  description: 'Writes a comment below a post of this channel when it has reached a number of likes.',
  fields: [likesAmount, text('Text of the comment')],
});
/** Other channels repeat the post. `fields`: where, on a network whose channels post to more than one place. */
const repostFrom = (network: string, pickIntegration: readonly string[], fields: readonly PlugField[]): PostPlug => ({
  kind: 'post',
  act: 'repost',
  identifier: `${network}-repost-from`,
  title: 'Repost from other channels',
  description: 'Reposts the post from other channels once it is published.',
  pickIntegration,
  fields,
});
/** Other channels comment on the post. */
const commentFrom = (network: string, pickIntegration: readonly string[]): PostPlug => ({
  kind: 'post',
  act: 'comment',
  identifier: `${network}-comment-from`,
  title: 'Comment from other channels',
  description: 'Writes a comment below the post from other channels once it is published.',
  pickIntegration,
  fields: [text('Text of the comment')],
});

const PLUGS = {
  'auto-repost': repostAtLikes,
  'auto-comment': commentAtLikes,
  'repost-from': repostFrom,
  'comment-from': commentFrom,
} as const;
/**
 * The plugs of a network. `from`: the networks whose channels can act for one of its posts. `where`: the fields of
 * `repost-from`. No repost from other channels have:
 * - devto, hashnode and medium: a copy with a canonical address needs title and text, and a plug is handed neither;
 * - discord: its API description has references of messages to what they answer only, and none that forwards.
 */
export const plugsOf = (
  network: string,
  names: readonly (keyof typeof PLUGS)[],
  from: readonly string[] = [network],
  where: readonly PlugField[] = [],
): Plug[] => names.map((name) => PLUGS[name](network, from, where));

/** The same plugs where auto plugs look in another rhythm. */
export const inRhythm = (
  plugs: readonly Plug[],
  rhythm: Pick<AutoPlug, 'runEveryMilliseconds' | 'totalRuns'>,
): Plug[] => plugs.map((plug) => (plug.kind === 'auto' ? { ...plug, ...rhythm } : plug));
