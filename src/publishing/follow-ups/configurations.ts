import { AppError, invalidField, isId, newId, notFound } from '../../platform/kernel/index.ts';
import type { AutoPlug, PostPlug, SocialAdapter } from '../../providers/registry/index.ts';
import type { ChannelView } from '../channels/index.ts';
import { checkPlugText, isValidValue, PLUG_TEXT } from '../posts/index.ts';
import {
  activateConfiguration,
  type ConfigurationRow,
  configurationsOfChannel,
  findConfiguration,
  upsertConfiguration,
} from './configurations-store.ts';
import type { FollowUpsDeps } from './deps.ts';
import type { PlugValue } from './row.ts';

type Deps = Pick<FollowUpsDeps, 'sql' | 'channels' | 'providers'> & {
  channels: { get: (orgId: string, id: string) => Promise<Pick<ChannelView, 'adapter' | 'serverLimits'>> };
};

const autoPlugsOf = ({ plugs = [] }: Pick<SocialAdapter, 'plugs'>): AutoPlug[] =>
  plugs.filter((plug) => plug.kind === 'auto');

/** The newest version of each network that a channel can have. */
function newestNetworks({ providers }: Pick<Deps, 'providers'>): SocialAdapter[] {
  const ids = [...new Set(providers.list('social').map(({ id }) => id))];
  return ids.flatMap((id) => {
    try {
      return [providers.resolve('social', id, { allowPreview: true })];
    } catch (error) {
      if (error instanceof AppError) return []; // only retired or deprecated versions
      throw error;
    }
  });
}

/** A network with the auto plugs that it declares. */
export interface NetworkPlugs {
  title: string;
  id: string;
  plugs: readonly AutoPlug[];
}
/** Lists the auto plugs of every network that has some (PL14). */
export const listAutoPlugs = (deps: Pick<Deps, 'providers'>): NetworkPlugs[] =>
  newestNetworks(deps)
    .map((adapter) => ({ title: adapter.title, id: adapter.id, plugs: autoPlugsOf(adapter) }))
    .filter(({ plugs }) => plugs.length > 0);

/** Lists the post plugs of a network (PL18); 404 for one that is not offered. */
export function listPostPlugs(deps: Pick<Deps, 'providers'>, identifier: string): PostPlug[] {
  const adapter = newestNetworks(deps).find(({ id }) => id === identifier);
  if (!adapter) throw notFound('Provider not found');
  return (adapter.plugs ?? []).filter((plug) => plug.kind === 'post');
}

/** Lists the configurations of a channel (PL15), or throws 404. */
export async function listConfigurations(deps: Deps, orgId: string, channelId: string): Promise<ConfigurationRow[]> {
  await deps.channels.get(orgId, channelId);
  return configurationsOfChannel(deps.sql, orgId, channelId);
}

/** A configuration as it is sent (S143). */
export interface PlugInput {
  func: string;
  fields: readonly PlugValue[];
}
/**
 * Saves the configuration of an auto plug: one for each plug and channel, and a new one is active (PL9, PL16).
 * @throws AppError 400 for a plug that the network does not have or that is disabled, and for a value that does not fit
 */
export async function saveConfiguration(
  deps: Deps,
  orgId: string,
  channelId: string,
  { func, fields }: PlugInput,
): Promise<ConfigurationRow> {
  const { adapter, serverLimits } = await deps.channels.get(orgId, channelId);
  const plug = adapter && autoPlugsOf(adapter).find(({ identifier }) => identifier === func);
  if (!plug) throw invalidField('func', 'names no auto plug of the network of this channel', 'unknown_plug');
  if (plug.disabled) throw pluggedOff('func');
  const values = judgedFields(plug, fields);
  if (plug.act === 'comment') {
    const n = fields.findIndex(({ name }) => name === PLUG_TEXT);
    const rules = deps.channels.rules(adapter.id, adapter.version, serverLimits);
    checkPlugText(rules, fields[n]?.value ?? '', `fields.${n}.value`);
  }
  return upsertConfiguration(deps.sql, { id: newId(), orgId, channelId, func, fields: values });
}

const pluggedOff = (field: string) => invalidField(field, 'this plug is disabled and cannot be activated', 'disabled');

/** Every field of the plug once, in its order. */
function judgedFields(plug: AutoPlug, sent: readonly PlugValue[]): PlugValue[] {
  for (const [n, { name }] of sent.entries()) {
    if (!plug.fields.some((field) => field.name === name))
      throw invalidField(`fields.${n}.name`, 'names no field of this plug', 'unknown_id');
    if (sent.findIndex((one) => one.name === name) < n)
      throw invalidField(`fields.${n}.name`, 'is there twice', 'duplicate');
  }
  return plug.fields.map(({ name, validation }) => {
    const n = sent.findIndex((one) => one.name === name);
    const value = sent[n]?.value ?? '';
    if (!isValidValue(validation, value))
      throw n < 0
        ? invalidField('fields', `needs a value for ${name}`, 'required')
        : invalidField(`fields.${n}.value`, `does not match what ${name} takes`, 'invalid_format');
    return { name, value };
  });
}

/** Turns a configuration on or off (PL17). What was missed while it was off is not made up for. */
export async function setConfigurationActive(
  deps: Deps,
  orgId: string,
  id: string,
  active: boolean,
): Promise<Pick<ConfigurationRow, 'id' | 'activated'>> {
  const found = isId(id) ? await findConfiguration(deps.sql, orgId, id) : undefined;
  if (!found) throw notFound('Plug not found');
  if (active) {
    const { adapter } = await deps.channels.get(orgId, found.channelId);
    const plug = adapter && autoPlugsOf(adapter).find(({ identifier }) => identifier === found.plugFunction);
    if (!plug || plug.disabled) throw pluggedOff('status');
  }
  await activateConfiguration(deps.sql, orgId, id, active);
  return { id, activated: active };
}
