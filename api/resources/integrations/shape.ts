import { z } from 'zod';
import {
  customFieldsOf,
  type FileLimits,
  type Limits,
  type Mention as SocialMention,
  type Page as SocialPage,
  type SocialAdapter,
  type TextUnit,
  UNIT_WORDS,
} from '../../../src/providers/registry/index.ts';
import type { ChannelView, PostingRules } from '../../../src/publishing/channels/index.ts';

const CustomField = z.strictObject({
  key: z.string(),
  label: z.string(),
  type: z.enum(['text', 'password', 'select']),
  required: z.boolean(),
  defaultValue: z.string().optional(),
  validation: z.string().optional(),
  options: z.array(z.strictObject({ value: z.string(), label: z.string() })).optional(),
  help: z.string().optional(),
});
const Customer = z.strictObject({ id: z.string(), name: z.string() });
const Time = z.strictObject({ time: z.int() });
const customerOf = ({ customerId, customerName }: ChannelView) =>
  customerId === null || customerName === null ? null : { id: customerId, name: customerName };

/** The Channel object of S127. Tokens have no field at all. */
export const Channel = z.strictObject({
  id: z.string(),
  internalId: z.string(),
  name: z.string(),
  picture: z.string().nullable(),
  identifier: z.string(),
  providerIdentifier: z.string(),
  type: z.literal('social'),
  disabled: z.boolean(),
  refreshNeeded: z.boolean(),
  inBetweenSteps: z.boolean(),
  tokenExpiration: z.string().nullable(),
  profile: z.string(),
  postingTimes: z.array(Time),
  time: z.array(Time),
  customer: Customer.nullable(),
  additionalSettings: z.string(),
  editor: z.enum(['normal', 'markdown', 'html']),
  stripLinks: z.boolean(),
  isCustomFields: z.boolean(),
  customFields: z.array(CustomField),
  display: z.string(),
  changeProfilePicture: z.boolean(),
  changeNickName: z.boolean(),
  providerVersion: z.string(),
  tokenDaysLeft: z.number().nullable(),
  createdAt: z.string(),
});

export function presentChannel(row: ChannelView): z.input<typeof Channel> {
  const times = row.postingTimes.map((time) => ({ time }));
  const { adapter } = row;
  const fields = adapter ? customFieldsOf(adapter) : [];
  return {
    id: row.id,
    internalId: row.internalId,
    name: row.name,
    picture: row.picture,
    identifier: row.providerId,
    providerIdentifier: row.providerId,
    type: 'social',
    disabled: row.disabled,
    refreshNeeded: row.refreshNeeded,
    inBetweenSteps: row.inBetweenSteps,
    tokenExpiration: row.tokenExpiresAt?.toISOString() ?? null,
    profile: row.handle,
    postingTimes: times,
    time: times,
    customer: customerOf(row),
    additionalSettings: row.additionalSettings,
    editor: adapter?.editor ?? 'normal',
    stripLinks: row.stripsLinks,
    isCustomFields: fields.length > 0,
    customFields: fields,
    display: row.handle,
    changeProfilePicture: false,
    changeNickName: false,
    providerVersion: row.providerVersion,
    tokenDaysLeft: row.tokenDaysLeft,
    createdAt: row.createdAt.toISOString(),
  };
}

/** A page of the person who logged in, of which one becomes the channel (S133). */
export const Page = z.strictObject({
  id: z.string(),
  name: z.string(),
  handle: z.string().nullable(),
  picture: z.string().nullable(),
});
export const presentPage = ({ id, name, handle, picture }: SocialPage): z.input<typeof Page> => ({
  id,
  name,
  handle: handle ?? null,
  picture: picture ?? null,
});

/** Somebody who can be mentioned in a post. */
export const Mention = z.strictObject({ id: z.string(), label: z.string(), image: z.string().nullable() });
export const presentMention = ({ id, label, image }: SocialMention): z.input<typeof Mention> => ({
  id,
  label,
  image: image ?? null,
});

/** The version of its network that a channel is pinned to. */
export const Version = z.strictObject({
  version: z.string(),
  status: z.enum(['preview', 'active', 'deprecated', 'retired']),
  upgradeAvailable: z.string().nullable(),
});

/** An entry of the list of networks that can be connected here (S128). */
export const Network = z.strictObject({
  name: z.string(),
  identifier: z.string(),
  toolTip: z.string().nullable(),
  isExternal: z.boolean(),
  isWeb3: z.boolean(),
  isChromeExtension: z.boolean(),
  customFields: z.array(CustomField),
});

export const presentNetwork = (adapter: SocialAdapter): z.input<typeof Network> => ({
  name: adapter.title,
  identifier: adapter.id,
  toolTip: adapter.setupNotes ?? null,
  isExternal: adapter.login.kind === 'oauth2' && adapter.login.registerApp !== undefined,
  isWeb3: adapter.isWeb3 ?? false,
  isChromeExtension: false,
  customFields: customFieldsOf(adapter),
});

/** A channel as `/public/v1/integrations` lists it. */
export const PublicChannel = z.strictObject({
  id: z.string(),
  name: z.string(),
  identifier: z.string(),
  picture: z.string().nullable(),
  disabled: z.boolean(),
  profile: z.string(),
  refreshNeeded: z.boolean(),
  customer: Customer.optional(),
});

export const presentPublicChannel = (channel: ChannelView): z.input<typeof PublicChannel> => {
  const customer = customerOf(channel);
  return {
    id: channel.id,
    name: channel.name,
    identifier: channel.providerId,
    picture: channel.picture,
    disabled: channel.disabled,
    profile: channel.handle,
    refreshNeeded: channel.refreshNeeded,
    ...(customer && { customer }),
  };
};

/** Tells a client how to write for a channel. */
export const ChannelRules = z.strictObject({
  rules: z.string(),
  maxLength: z.int(),
  settings: z.union([z.record(z.string(), z.unknown()), z.string()]),
  tools: z.array(
    z.strictObject({
      methodName: z.string(),
      description: z.string(),
      dataSchema: z.array(z.strictObject({ key: z.string(), description: z.string(), type: z.string() })),
    }),
  ),
});

/** The limits of a kind of file in words. */
function fileRules(what: string, limits: FileLimits = {}): string[] {
  const { count, beside, bytes, side, ratio, seconds, thumbnail } = limits;
  const words = [
    count !== undefined && `at most ${count} in a post`,
    beside !== undefined && (beside === 0 ? 'no other file beside it' : `at most ${beside} other files beside it`),
    bytes !== undefined && `at most ${bytes} bytes`,
    side && `sides of ${side[0]} to ${side[1]} pixels`,
    ratio && `width by height of ${ratio[0]} to ${ratio[1]}`,
    seconds && `${seconds[0]} to ${seconds[1]} seconds`,
    thumbnail && 'a picture that is chosen for it',
  ].filter((word) => word !== false && word !== undefined);
  return words.length === 0 ? [] : [`a ${what} has ${words.join(', ')}`];
}

/** The JSON Schema of what a client sends. */
const schemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
type Property = { description?: string; type?: string };
const propertiesOf = ({ properties = {} }: { properties?: object }) => Object.entries<Property>({ ...properties });

/** The methods of a network, each with the keys of its data. */
const presentTools = ({ tools = {} }: SocialAdapter): z.input<typeof ChannelRules>['tools'] =>
  Object.entries(tools).map(([methodName, { description, data }]) => ({
    methodName,
    description,
    dataSchema: propertiesOf(schemaOf(data)).map(([key, property]) => ({
      key,
      description: property.description ?? '',
      type: property.type ?? 'any',
    })),
  }));

const kindRule = (oneKind: NonNullable<Limits['oneKind']>): string =>
  oneKind === true
    ? 'files of different kinds do not go together'
    : `files of different kinds do not go together, but for ${oneKind.join(' and ')}`;

/** Limits in words; of a type of posts those that it has of its own. */
function limitRules(limits: Partial<Limits>, unit: TextUnit): string[] {
  const { text, textLeast, media, mediaTypes, needsMedia, linkLength, oneKind, single } = limits;
  const files = media === 0 ? 'no files' : `${media === undefined ? '' : `at most ${media} `}pictures or videos`;
  return [
    ...(text === undefined ? [] : [`at most ${text} ${UNIT_WORDS[unit]}`]),
    ...(textLeast === undefined ? [] : [`a text has at least ${textLeast}`]),
    ...(media === undefined && !mediaTypes && !needsMedia
      ? []
      : [`${needsMedia ? 'at least one and ' : ''}${files}${mediaTypes?.length ? ` (${mediaTypes.join(', ')})` : ''}`]),
    ...(linkLength === undefined ? [] : [`every link counts as ${linkLength}`]),
    ...(['links', 'hashtags', 'mentions'] as const).flatMap((name) =>
      limits[name] === undefined ? [] : [`at most ${limits[name]} ${name}`],
    ),
    ...(oneKind ? [kindRule(oneKind)] : []),
    ...(single ? ['one item, and no thread'] : []),
    ...fileRules('picture', limits.image),
    ...fileRules('animated picture', limits.animated),
    ...fileRules('video', limits.video),
  ];
}

export function presentRules({ adapter, limits, stripsLinks }: PostingRules): z.input<typeof ChannelRules> {
  const { title, settings, threads } = adapter;
  const { unit, byType, countedSettings = [] } = limits;
  const { $schema: _, ...schema } = schemaOf(settings);
  const types = Object.entries(byType?.limits ?? {});
  const rules = [
    ...limitRules(limits, unit),
    ...countedSettings.map((name) => `${name} counts with the text`),
    ...(stripsLinks ? ['links are removed from the text'] : []),
    ...(threads === 'none' ? ['a post has one item, and no thread'] : []),
    ...types.map(([type, own]) => `with ${byType!.setting} ${type}: ${limitRules(own, own.unit ?? unit).join(', ')}`),
  ];
  return {
    rules: `${title}: ${rules.join('; ')}.`,
    maxLength: limits.text,
    settings: propertiesOf(schema).length > 0 ? schema : 'No additional settings required',
    tools: presentTools(adapter),
  };
}
