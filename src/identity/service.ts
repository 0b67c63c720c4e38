import type { Database } from '../db/index.ts';
import { AppError, newId, notFound } from '../kernel/index.ts';
import * as store from './store.ts';

export interface Registration {
  email: string;
  passwordHash: string;
  name: string;
  timezone: string;
  company: string;
  ip: string;
  userAgent: string;
}
export type { LocalAccount, MembershipRow, OrganizationRow, SelfRow } from './store.ts';

/** People, the orgs they belong to, and how. */
export interface Identity {
  /** Whether someone unknown may register: not when it is switched off, but for the first user of an empty instance. */
  canRegister(): Promise<boolean>;
  /** User, profile, org and ownership in one commit; the first user of an empty instance becomes super-admin. */
  register(person: Registration): Promise<{ userId: string; orgId: string }>;
  localAccount(email: string): Promise<store.LocalAccount | undefined>;
  self(orgId: string, userId: string): Promise<store.SelfRow>;
  organizationsOf(userId: string): Promise<readonly store.MembershipRow[]>;
  /** 404 when the user does not belong to it. */
  changeOrganization(userId: string, orgId: string): Promise<string>;
  createOrganization(userId: string, name: string): Promise<store.OrganizationRow>;
  organization(orgId: string): Promise<store.OrganizationRow>;
  updateOrganization(orgId: string, change: { name?: string | undefined; timezone?: string | undefined }): Promise<store.OrganizationRow>;
}

const found = <T>(row: T | undefined): T => {
  if (row === undefined) throw notFound();
  return row;
};

export function openIdentity({ sql, registrationDisabled }: { sql: Database; registrationDisabled: boolean }): Identity {
  return {
    canRegister: async () => !registrationDisabled || !(await store.anyUser(sql)),

    register: ({ ip, userAgent, ...person }) =>
      sql.begin(async (tx) => {
        if (!(await store.anyUser(tx))) await store.lockFirstUser(tx);
        const first = !(await store.anyUser(tx)); // asked again: whoever waited for the lock is not the first
        if (registrationDisabled && !first) throw new AppError('invalid_request', 'Registration is disabled');
        const userId = newId();
        const orgId = newId();
        const user = { userId, orgId, providerName: 'local', providerId: userId, ip, userAgent, ...person };
        if (!(await store.insertUser(tx, user, first))) throw new AppError('invalid_request', 'Email already exists');
        return { userId, orgId };
      }),

    localAccount: (email) => store.localAccount(sql, email),
    self: async (orgId, userId) => found(await store.selfOf(sql, orgId, userId)),
    organizationsOf: (userId) => store.membershipsOf(sql, userId),
    async changeOrganization(userId, orgId) {
      if (!(await store.useOrganization(sql, orgId, userId))) throw notFound();
      return orgId;
    },
    createOrganization: (userId, name) => store.insertOrganization(sql, newId(), userId, name),
    organization: async (orgId) => found(await store.organization(sql, orgId)),
    updateOrganization: async (orgId, change) => found(await store.updateOrganization(sql, orgId, change)),
  };
}
