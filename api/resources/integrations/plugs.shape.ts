import { z } from 'zod';
import type { AutoPlug, PlugField, PostPlug } from '../../../src/providers/registry/index.ts';
import type { ConfigurationRow, NetworkPlugs } from '../../../src/publishing/follow-ups/index.ts';

const Field = z.strictObject({
  name: z.string(),
  description: z.string(),
  type: z.enum(['number', 'text']),
  placeholder: z.string(),
  validation: z.string().optional(),
});
/** What auto plugs and post plugs have in common; `methodName` is the identifier, as clients of the field know it. */
const head = {
  identifier: z.string(),
  methodName: z.string(),
  title: z.string(),
  description: z.string(),
  fields: z.array(Field),
};
const AutoPlugDefinition = z.strictObject({
  ...head,
  runEveryMilliseconds: z.int(),
  totalRuns: z.int(),
  disabled: z.boolean(),
});
const PostPlugDefinition = z.strictObject({ ...head, pickIntegration: z.array(z.string()) });

/** The auto plugs of each network (S142). */
export const AutoPlugs = z.strictObject({
  plugs: z.array(z.strictObject({ name: z.string(), identifier: z.string(), plugs: z.array(AutoPlugDefinition) })),
});
/** The post plugs of a network (S142). */
export const PostPlugs = z.strictObject({ internalPlugs: z.array(PostPlugDefinition) });

const presentField = ({ name, description, type, placeholder, validation }: PlugField): z.input<typeof Field> => ({
  name,
  description,
  type,
  placeholder,
  ...(validation !== undefined && { validation }),
});
const presentHead = ({ identifier, title, description, fields }: AutoPlug | PostPlug) => ({
  identifier,
  methodName: identifier,
  title,
  description,
  fields: fields.map(presentField),
});

export const presentAutoPlugs = (networks: readonly NetworkPlugs[]): z.input<typeof AutoPlugs> => ({
  plugs: networks.map(({ title, id, plugs }) => ({
    name: title,
    identifier: id,
    plugs: plugs.map((plug) => ({
      ...presentHead(plug),
      runEveryMilliseconds: plug.runEveryMilliseconds,
      totalRuns: plug.totalRuns,
      disabled: plug.disabled,
    })),
  })),
});
export const presentPostPlugs = (plugs: readonly PostPlug[]): z.input<typeof PostPlugs> => ({
  internalPlugs: plugs.map((plug) => ({ ...presentHead(plug), pickIntegration: [...plug.pickIntegration] })),
});

/** An auto plug of a channel (S144); `data` is `fields` as JSON text. */
export const PlugRow = z.strictObject({
  id: z.string(),
  plugFunction: z.string(),
  integrationId: z.string(),
  data: z.string(),
  fields: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  activated: z.boolean(),
  runs: z.int(),
  lastRunAt: z.string().nullable(),
});
export const presentPlugRow = (row: ConfigurationRow): z.input<typeof PlugRow> => ({
  id: row.id,
  plugFunction: row.plugFunction,
  integrationId: row.channelId,
  data: JSON.stringify(row.fields),
  fields: row.fields,
  activated: row.activated,
  runs: row.runs,
  lastRunAt: row.lastRunAt?.toISOString() ?? null,
});
