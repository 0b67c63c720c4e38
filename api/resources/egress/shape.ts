import { z } from 'zod';
import { choiceText, type Overview, type RouteRow } from '../../../src/publishing/egress/index.ts';

export const EgressChoice = z.strictObject({ route: z.string().min(1).max(64) });

/** The state of a route when it was last asked where it comes out; `ok` is null before that. */
export const RouteHealth = z.strictObject({
  ok: z.boolean().nullable(),
  exitAddress: z.string().nullable(),
  message: z.string(),
  latencyMs: z.int().nullable(),
  checkedAt: z.string().nullable(),
  failingSince: z.string().nullable(),
});
const Route = z.strictObject({
  id: z.string(),
  name: z.string(),
  providerId: z.string(),
  owner: z.enum(['org', 'instance']),
  enabled: z.boolean(),
  health: RouteHealth,
});
export const EgressShape = z.strictObject({
  route: z.string(),
  routes: z.array(Route),
  channels: z.array(z.strictObject({ id: z.string(), route: z.string(), effective: z.string() })),
});

export const presentHealth = ({
  ok,
  exitAddress,
  message,
  latencyMs,
  checkedAt,
  failingSince,
}: RouteRow): z.input<typeof RouteHealth> => ({
  ok,
  exitAddress,
  message: message ?? '',
  latencyMs,
  checkedAt: checkedAt?.toISOString() ?? null,
  failingSince: failingSince?.toISOString() ?? null,
});

/** Choices as they are written, and for each channel what it comes to. */
export const presentEgress = ({ route, routes, channels }: Overview): z.input<typeof EgressShape> => ({
  route,
  routes: routes.map((row) => ({
    id: row.id,
    name: row.name,
    providerId: row.providerId,
    owner: row.owner === null ? ('instance' as const) : ('org' as const),
    enabled: row.enabled,
    health: presentHealth(row),
  })),
  channels: channels.map(({ id, egress, settingId }) => {
    const chosen = choiceText(egress, settingId);
    return { id, route: chosen, effective: chosen === 'org' ? route : chosen };
  }),
});
