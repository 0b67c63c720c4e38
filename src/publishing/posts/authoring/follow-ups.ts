import { cleanContents } from '../../../platform/content/index.ts';
import { AppError, asksNothing, invalidField, isId } from '../../../platform/kernel/index.ts';
import {
  checkPost,
  exceptionOf,
  type Issue,
  limitsOfItem,
  type PlugField,
  type PostPlug,
  type SettingValues,
} from '../../../providers/registry/index.ts';
import type { ChannelsPort, NetworkRules } from '../channels-port.ts';
import type { ChannelSummary } from './channels.ts';

// What is to follow the publication of a post, as its settings say it: `firstComment`, and `plug--<identifier>--…` (S145).

type Settings = Readonly<Record<string, unknown>>;

const LONGEST = 100_000;
const MOST_CHANNELS = 100;
/** The field of a plug that holds the text of its comment. */
export const PLUG_TEXT = 'post';
const PLUG_KEY = /^plug--(.+?)--(.+)$/s;
const ON = new Set<unknown>([true, 'true']);
const OFF = new Set<unknown>([false, 'false']);

/** The first comment that a post asks for; undefined where it asks for none. */
export const firstCommentOf = ({ firstComment }: Settings): string | undefined =>
  typeof firstComment === 'string' && firstComment.trim() !== '' ? firstComment : undefined;

/** What the network would refuse of what is to follow a post. */
export function* judgeFollowUps(post: Followed): Generator<Issue> {
  const { rules, settings, settingsAt } = post;
  const all = { ...post.channel.settings, ...settings };
  const not = {
    comment: exceptionOf(rules.commentsUnless, all),
    repost: exceptionOf(rules.repostsUnless, all),
  };
  if (not.comment && rules.hasComments && firstCommentOf(settings) !== undefined)
    yield {
      field: `${settingsAt}.firstComment`,
      message: `first comment: ${without('comments', not.comment)}`,
      rule: 'unsupported',
    };
  else yield* judgeFirstComment(post);
  for (const [identifier, asked] of plugsIn(settings)) {
    const { act } = rules.postPlugs.find((one) => one.identifier === identifier) ?? {};
    const values = act && ON.has(asked.get('active')) && not[act];
    if (!values) continue;
    const field = `${settingsAt}.plug--${identifier}--active`;
    yield { field, message: without(act === 'repost' ? 'reposts' : 'comments', values), rule: 'unsupported' };
  }
}
const without = (what: string, values: SettingValues): string =>
  `a post takes no ${what} with ${Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(' and ')}`;

function* judgeFirstComment({ rules, settings, settingsAt }: Followed): Generator<Issue> {
  const asked = firstCommentOf(settings);
  if (asked === undefined || !rules.hasComments) return;
  const field = `${settingsAt}.firstComment`;
  try {
    const [content = ''] = cleanContents([{ field, content: asked }]);
    for (const { message, rule } of judgeComment(rules, content, field))
      yield { field, message: `first comment: ${message}`, rule };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    yield { field, message: 'first comment: more markup than is read for one request', rule: 'too_big' };
  }
}

/** What the network would refuse of a comment with this content, which is cleaned. */
export function* judgeComment(rules: NetworkRules, content: string, field: string): Generator<Issue> {
  const { counted: text, plain } = rules.write(content);
  const limits = limitsOfItem({ ...rules, threads: 'comment' }, {}, true);
  for (const { message, rule } of checkPost(limits, { text, plain, files: [] })) yield { field, message, rule };
}

/** A post with its network; `settingsAt`: the field of its settings. */
interface Followed {
  rules: NetworkRules;
  channel: { settings: Settings };
  settings: Settings;
  settingsAt: string;
}

/** What settings say of one plug, by what stands behind its identifier. */
type Asked = Map<string, unknown>;

/** The plugs that settings speak of, each with its keys. */
function plugsIn(settings: Settings): Map<string, Asked> {
  const found = new Map<string, Asked>();
  for (const [key, value] of Object.entries(settings)) {
    const [, plug, name] = PLUG_KEY.exec(key) ?? [];
    if (plug === undefined || name === undefined) continue;
    const asked = found.get(plug) ?? new Map<string, unknown>();
    found.set(plug, asked.set(name, value));
  }
  return found;
}

/** The ids that are picked as channels of plugs, as they were sent; for whoever looks them up. */
export const pickedIn = (settings: Settings): string[] =>
  [...plugsIn(settings).values()].flatMap((asked) =>
    ON.has(asked.get('active')) ? idsOf(asked.get('integrations')).filter(isId).slice(0, MOST_CHANNELS) : [],
  );

/** A channel as it is picked for a plug: `{id, fields?}`, where `fields` stand over those of the plug for it alone. */
interface Choice {
  id: string;
  fields: unknown;
}
const picksOf = (value: unknown): Choice[] =>
  Array.isArray(value)
    ? value.map((one: unknown) => {
        const { id, fields }: { id?: unknown; fields?: unknown } = typeof one === 'object' && one !== null ? one : {};
        return { id: typeof id === 'string' ? id : '', fields };
      })
    : [];
const idsOf = (value: unknown): string[] => picksOf(value).map(({ id }) => id);

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a field of a post plug for one of its channels: its own, or that of all of them; empty: none. */
export function plugValueOf(settings: Settings, plug: string, field: string, channelId: string): string {
  const key = (name: string) => settings[`plug--${plug}--${name}`];
  const own = picksOf(key('integrations')).find(({ id, fields }) => id === channelId && isFields(fields))?.fields;
  return valueOf(isFields(own) ? own[field] : undefined, key(field));
}
const valueOf = (own: unknown, ofAll: unknown): string => {
  const value = asksNothing(own) ? ofAll : own;
  return typeof value === 'string' ? value : '';
};

type Acting = Pick<ChannelSummary, 'providerId' | 'providerVersion' | 'serverLimits' | 'account'>;
/** A picked channel, with the field of its own values. */
type Picked = Acting & { own: Readonly<Record<string, unknown>>; at: string };
/** The channels that plugs can name, and what their networks take. */
interface Actors {
  channels: ReadonlyMap<string, Acting>;
  rulesOf: ChannelsPort['rules'];
}

/**
 * Refuses settings that ask for what cannot follow the post: 400 naming the key below `at`. A plug that is off, and a
 * first comment where the network has none, ask for nothing.
 */
export function checkFollowUps(
  settings: Settings,
  at: string,
  { postPlugs }: Pick<NetworkRules, 'postPlugs'>,
  actors: Actors,
): void {
  const { firstComment } = settings;
  if (!asksNothing(firstComment) && (typeof firstComment !== 'string' || firstComment.length > LONGEST))
    throw invalidField(`${at}.firstComment`, `must be a text of at most ${LONGEST} characters`, 'invalid_type');
  for (const [identifier, asked] of plugsIn(settings)) {
    const key = (name: string) => `${at}.plug--${identifier}--${name}`;
    if (OFF.has(asked.get('active'))) continue;
    const wanted = [...asked].find(([, value]) => !asksNothing(value));
    if (!wanted) continue;
    const plug = postPlugs.find((one) => one.identifier === identifier);
    if (!plug) throw invalidField(key(wanted[0]), 'names a plug that the network does not have', 'unknown_plug');
    if (!ON.has(asked.get('active')))
      throw invalidField(
        key(asksNothing(asked.get('active')) ? wanted[0] : 'active'),
        `takes effect only with plug--${identifier}--active, which must be true or false`,
        'inactive',
      );
    const picked = checkChannels(plug, asked.get('integrations'), key('integrations'), actors);
    checkFields(plug, asked, picked, key);
    if (plug.act !== 'comment') continue;
    for (const { network, text, field } of textsOf(picked, asked.get(PLUG_TEXT), key(PLUG_TEXT), actors))
      checkPlugText(network, text, field);
  }
}

function checkChannels({ pickIntegration }: PostPlug, value: unknown, at: string, { channels }: Actors): Picked[] {
  const picks = picksOf(value);
  if (picks.length === 0 || picks.length > MOST_CHANNELS)
    throw invalidField(at, `must be a list of 1 to ${MOST_CHANNELS} channels, each as {id}`, 'invalid_type');
  return picks.map(({ id, fields }, n) => {
    const channel = channels.get(id);
    if (!channel) throw invalidField(`${at}.${n}.id`, 'names no channel of this organization', 'unknown_id');
    if (!pickIntegration.includes(channel.providerId))
      throw invalidField(`${at}.${n}.id`, `must be a channel of ${pickIntegration.join(', ')}`, 'other_provider');
    if (!asksNothing(fields) && !isFields(fields))
      throw invalidField(`${at}.${n}.fields`, 'must be an object of fields of the plug', 'invalid_type');
    const own = isFields(fields) ? fields : {};
    if (Object.keys(own).length > 0 && picks.findIndex((one) => one.id === id) < n)
      throw invalidField(`${at}.${n}.fields`, 'is of a channel that is picked before', 'duplicate');
    return { ...channel, own, at: `${at}.${n}.fields` };
  });
}

/** The text of each picked channel with what its network takes, or its server; the same of both once. */
function textsOf(picked: readonly Picked[], ofAll: unknown, at: string, { rulesOf }: Actors) {
  const texts = new Map(
    picked.map(({ providerId, providerVersion, serverLimits, own, at: ownAt }) => {
      const text = valueOf(own[PLUG_TEXT], ofAll);
      const field = asksNothing(own[PLUG_TEXT]) ? at : `${ownAt}.${PLUG_TEXT}`;
      const network = () => rulesOf(providerId, providerVersion, serverLimits);
      return [JSON.stringify([providerId, providerVersion, serverLimits, text]), { network, text, field }];
    }),
  );
  return [...texts.values()].map((one) => ({ ...one, network: one.network() }));
}

/** Refuses the text of a plug that the network would not take as a comment: 400 naming `field`. */
export function checkPlugText(rules: NetworkRules, text: string, field: string): void {
  const [content = ''] = cleanContents([{ field, content: text }]);
  for (const { message, rule } of judgeComment(rules, content, field))
    throw invalidField(field, `${rules.title}: ${message}`, rule);
}

function checkFields(
  { fields }: PostPlug,
  asked: Asked,
  picked: readonly Picked[],
  key: (name: string) => string,
): void {
  for (const field of fields) {
    const ofAll = asked.get(field.name);
    const others = picked.filter(({ own }) => asksNothing(own[field.name]));
    if (others.length > 0 || !asksNothing(ofAll)) checkValue(field, ofAll ?? '', key(field.name));
    for (const { own, at } of picked)
      if (!asksNothing(own[field.name])) checkValue(field, own[field.name], `${at}.${field.name}`);
    checkPlaces(field, others);
  }
  const names = new Set(fields.map(({ name }) => name));
  const unknown = [...asked].find(
    ([name, value]) => !['active', 'integrations'].includes(name) && !names.has(name) && !asksNothing(value),
  );
  if (unknown) throw invalidField(key(unknown[0]), 'is no field of this plug', 'unknown');
  for (const { own, at } of picked)
    for (const [name, value] of Object.entries(own))
      if (!names.has(name) && !asksNothing(value))
        throw invalidField(`${at}.${name}`, 'is no field of this plug', 'unknown');
}

function checkValue({ validation }: PlugField, value: unknown, field: string): void {
  if (typeof value !== 'string' || value.length > LONGEST || !isValidValue(validation, value))
    throw invalidField(field, 'does not match what the plug takes', 'invalid_format');
}

/** Refuses one value for channels of several servers, where it can be that of one alone. */
function checkPlaces({ name, holdsAt }: PlugField, sharing: readonly Picked[]): void {
  const [first] = sharing;
  if (!first || !holdsAt) return;
  const other = sharing.find(({ account }) => holdsAt(account) !== holdsAt(first.account));
  if (other)
    throw invalidField(
      `${other.at}.${name}`,
      'must be given: the channel is of another server or workspace than the others, where the value of all names something else',
      'other_place',
    );
}

/** Whether the whole value matches; the patterns of plugs are linear in time, which a test of all of them holds. */
export const isValidValue = (validation: string | undefined, value: string): boolean =>
  validation === undefined || (new RegExp(validation, 'u').exec(value)?.[0] ?? undefined) === value;
