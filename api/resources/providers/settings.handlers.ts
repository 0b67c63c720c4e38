import { z } from 'zod';
import type { Permission } from '../../../src/people/access/index.ts';
import { type Owner } from '../../../src/providers/settings/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { nameText } from '../../http/fields.ts';
import { type AuthKind, type Principal, routesOf } from '../../http/route.ts';
import { presentSetting, Setting } from './settings.shape.ts';

const route = routesOf('providerSettings');

const id = z.string().max(64);
const Fields = z.record(z.string().max(64), z.string().max(16_384).nullable());
const NewSetting = z.strictObject({
  domain: id,
  providerId: id,
  version: id.optional(),
  credentials: Fields,
  allowPreview: z.boolean().optional(),
  name: nameText(1, 100).optional(),
  options: Fields.optional(),
  isDefault: z.boolean().optional(),
  enabled: z.boolean().optional(),
});
const SettingChange = NewSetting.partial();
const Tested = z.strictObject({ ok: z.boolean(), message: z.string(), latencyMs: z.int() });

interface Place {
  /** `/providers/settings`, and the same for the whole instance. */
  path: `/${string}`;
  /** The name of the owner, for people. */
  whose: string;
  auth: readonly [AuthKind];
  ownerOf: (principal: Principal) => Owner;
  /** The permission for an action, where more than the kind of login is asked. */
  permission?: (action: 'create' | 'read' | 'update' | 'delete') => Permission;
}

/** The settings of providers of one owner: the same routes and the same judgement for each. */
export function settingsRoutes({ path, whose, auth, ownerOf, permission }: Place) {
  const may = (action: 'create' | 'read' | 'update' | 'delete') => ({
    auth,
    impersonation: 'allowed' as const,
    ...(permission && { permission: permission(action) }),
  });
  return [
    route({
      ...may('read'),
      method: 'get',
      path,
      summary: `List provider settings of ${whose}`,
      description: 'Secrets are not in them.',
      query: z.object({ domain: id.optional() }),
      answer: z.array(Setting),
      handle: ({ rooms, principal, query }) => rooms.providerSettings.list(ownerOf(principal), query.domain),
      present: (settings) => settings.map(presentSetting),
    }),

    route({
      ...may('create'),
      method: 'post',
      path,
      summary: `Create a provider setting of ${whose}`,
      description: 'It is pinned to the version of the provider.',
      creates: true,
      body: NewSetting,
      answer: Setting,
      handle: (call) => call.rooms.providerSettings.create(ownerOf(call.principal), call.body, auditActor(call)),
      present: presentSetting,
    }),

    route({
      ...may('update'),
      method: 'put',
      path: `${path}/:id`,
      summary: 'Change a provider setting',
      description:
        'A field that is absent keeps its value, null clears it. Provider and version stay: they may be named as they are.',
      body: SettingChange,
      answer: Setting,
      handle: (call) =>
        call.rooms.providerSettings.update(ownerOf(call.principal), call.params.id, call.body, auditActor(call)),
      present: presentSetting,
    }),

    route({
      ...may('update'),
      method: 'post',
      path: `${path}/:id/upgrade`,
      summary: 'Move a provider setting to another version',
      body: z.strictObject({ version: id, allowPreview: z.boolean().optional() }),
      answer: Setting,
      handle: (call) =>
        call.rooms.providerSettings.upgrade(ownerOf(call.principal), call.params.id, call.body, auditActor(call)),
      present: presentSetting,
    }),

    route({
      ...may('update'),
      method: 'post',
      path: `${path}/:id/test`,
      summary: 'Test a provider setting',
      description: 'A refusal by the provider is an answer, not an error.',
      limit: '60/hour',
      answer: Tested,
      handle: ({ rooms, principal, params }) => rooms.providerSettings.test(ownerOf(principal), params.id),
      present: (tested) => tested,
    }),

    route({
      ...may('create'),
      method: 'post',
      path: `${path}/test`,
      summary: 'Test a provider setting without storing it',
      description: 'A refusal by the provider is an answer, not an error.',
      limit: '60/hour',
      body: NewSetting,
      answer: Tested,
      handle: ({ rooms, principal, body }) => rooms.providerSettings.tryOut(ownerOf(principal), body),
      present: (tested) => tested,
    }),

    route({
      ...may('delete'),
      method: 'delete',
      path: `${path}/:id`,
      summary: 'Delete an unused provider setting',
      answer: z.strictObject({ success: z.literal(true) }),
      handle: (call) => call.rooms.providerSettings.remove(ownerOf(call.principal), call.params.id, auditActor(call)),
      present: () => ({ success: true as const }),
    }),
  ];
}
