import { z } from 'zod';
import { type CustomField, type Limits, presentCustomFields, type SocialAdapter } from '../../providers/registry/index.ts';
import { daysLeft } from './rules.ts';
import type { ChannelRow } from './store.ts';

const CustomFieldShape = z.strictObject({
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

/** The Channel object of S127. Tokens have no field at all. */
export const ChannelShape = z.strictObject({
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
  customFields: z.array(CustomFieldShape),
  display: z.string(),
  changeProfilePicture: z.boolean(),
  changeNickName: z.boolean(),
  providerVersion: z.string(),
  tokenDaysLeft: z.number().nullable(),
  createdAt: z.string(),
});
export type ChannelShape = z.output<typeof ChannelShape>;

/** An entry of the list of networks that can be connected here (S128). */
export const NetworkShape = z.strictObject({
  name: z.string(),
  identifier: z.string(),
  toolTip: z.string().nullable(),
  isExternal: z.boolean(),
  isWeb3: z.boolean(),
  isChromeExtension: z.boolean(),
  customFields: z.array(CustomFieldShape),
});
export type NetworkShape = z.output<typeof NetworkShape>;

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
export type PublicChannel = z.output<typeof PublicChannel>;

/** What a client needs to know to write for a channel. */
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
export type ChannelRules = z.output<typeof ChannelRules>;

const customFields = (adapter: SocialAdapter | undefined): CustomField[] => (adapter ? presentCustomFields(adapter) : []);

/** `adapter` is undefined where its version is no longer registered: the channel is shown all the same. */
export function presentChannel(row: ChannelRow, adapter: SocialAdapter | undefined, now: Date): ChannelShape {
  const times = row.postingTimes.map((time) => ({ time }));
  const fields = customFields(adapter);
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
    inBetweenSteps: false,
    tokenExpiration: row.tokenExpiresAt?.toISOString() ?? null,
    profile: row.handle,
    postingTimes: times,
    time: times,
    customer: row.customerId === null || row.customerName === null ? null : { id: row.customerId, name: row.customerName },
    additionalSettings: row.additionalSettings,
    editor: adapter?.editor ?? 'normal',
    stripLinks: false,
    isCustomFields: fields.length > 0,
    customFields: fields,
    display: row.handle,
    changeProfilePicture: false,
    changeNickName: false,
    providerVersion: row.providerVersion,
    tokenDaysLeft: daysLeft(row.tokenExpiresAt, now),
    createdAt: row.createdAt.toISOString(),
  };
}

export const presentNetwork = (adapter: SocialAdapter): NetworkShape => ({
  name: adapter.title,
  identifier: adapter.id,
  toolTip: adapter.toolTip ?? null,
  isExternal: adapter.login.kind === 'oauth2' && adapter.login.registerApp !== undefined,
  isWeb3: adapter.isWeb3 ?? false,
  isChromeExtension: false,
  customFields: presentCustomFields(adapter),
});

export const presentPublicChannel = (channel: ChannelShape): PublicChannel => ({
  id: channel.id,
  name: channel.name,
  identifier: channel.identifier,
  picture: channel.picture,
  disabled: channel.disabled,
  profile: channel.profile,
  refreshNeeded: channel.refreshNeeded,
  ...(channel.customer && { customer: channel.customer }),
});

export function presentRules({ title, settings }: SocialAdapter, limits: Limits): ChannelRules {
  const { $schema: _, ...schema } = z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' });
  const rules = [
    `${title}: at most ${limits.text} ${limits.unit}`,
    `${limits.needsMedia ? 'at least one and ' : ''}at most ${limits.media} pictures or videos (${limits.mediaTypes.join(', ')})`,
    ...(limits.linkLength === undefined ? [] : [`every link counts as ${limits.linkLength}`]),
    ...(limits.imageBytes === undefined ? [] : [`a picture has at most ${limits.imageBytes} bytes`]),
  ];
  return {
    rules: `${rules.join('; ')}.`,
    maxLength: limits.text,
    settings: Object.keys((schema.properties as object | undefined) ?? {}).length > 0 ? schema : 'No additional settings required',
    tools: [],
  };
}
