import { changeAuditLog, forgetActors, writeAudit } from '../../platform/audit/index.ts';
import { type Database, runEach, type Sql } from '../../platform/db/index.ts';
import { AppError, bind, equalSecrets, invalidField, isId, newId, notFound } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import {
  checkCategories,
  completePreferences,
  merge,
  type Preferences,
  type PreferencesChange,
} from './preferences.ts';
import { locked } from './rules.ts';
import * as profiles from './profile-store.ts';
import * as store from './store.ts';

/** The proof that somebody who registers runs this service, and is to be its first super-admin. */
export interface Claim {
  /** The setup token that the service printed when it started without a super-admin. */
  setupToken?: string | undefined;
  /**
   * The request was made on this machine, outside production: the first user of an empty instance needs nothing else.
   */
  isLocal: boolean;
}

/** Where a registration comes from, and the org it opens. */
interface Newcomer {
  email: string;
  name: string;
  company: string;
  timezone: string;
  ip: string;
  userAgent: string;
  claim?: Claim;
}
export interface Registration extends Newcomer {
  /** Null: it is known when the address is proven. */
  passwordHash: string | null;
  /** False: the address is to be proven first. */
  activated: boolean;
}
/** Somebody whom a login provider vouches for. */
export interface ProviderRegistration extends Newcomer {
  providerName: string;
  /** The account's id at the provider. */
  providerId: string;
  avatarUrl: string | null;
  /** The provider is the operator's own: `DISABLE_REGISTRATION` does not apply. */
  registersWhenClosed?: boolean | undefined;
}
export type { MembershipRow, SelfRow } from './store.ts';

export interface ProfileChange {
  name?: string | undefined;
  lastName?: string | undefined;
  bio?: string | undefined;
  timezone?: string | undefined;
  /** Null: none any more. */
  pictureId?: string | null | undefined;
}

export type Identity = ReturnType<typeof openIdentity>;

const appointed = (userId: string) => ({
  orgId: null,
  action: 'user.became_super_admin',
  resource: 'user',
  resourceId: userId,
});

/** Makes the user with an address super-admin, on the word of whoever runs this service; answers why not, if not. */
export async function appointSuperAdmin(sql: Database, email: string, provider?: string): Promise<string | undefined> {
  const people = (await store.usersByAddress(sql, email)).filter(
    ({ providerName }) => provider === undefined || providerName === provider,
  );
  const [person] = people;
  if (!person)
    return `Nobody has registered with the address ${email}${provider === undefined ? '' : ` at ${provider}`}.`;
  if (people.length > 1)
    return `Several people have this address: name one of ${people.map(({ providerName }) => providerName).join(', ')} behind it.`;
  if (!person.activated) return 'This account is locked, or its address was not confirmed yet.';
  await sql.begin(async (tx) => {
    await store.makeSuperAdmin(tx, person.id);
    await writeAudit(tx, { userId: null, impersonatorId: null, ip: null }, appointed(person.id));
  });
  return undefined;
}

const found = <T>(row: T | undefined): T => {
  if (row === undefined) throw notFound();
  return row;
};

interface IdentityDeps {
  sql: Database;
  registrationDisabled: boolean;
  /** The same in every process of the deployment. */
  setupToken: string;
  /** Forgets what others keep of people by their address, until then; answers how many rows of each table. */
  forgetAddresses: (
    transaction: Sql,
    people: readonly { email: string; deletedAt: Date }[],
  ) => Promise<Record<string, number>>;
  /** Told in the transaction that the preferences of a user, or the zone that they are read in, have changed. */
  noticesChanged: (transaction: Sql, userId: string, before?: PreferencesChange) => Promise<void>;
  /** The public address of a stored picture. */
  urlOfPicture: (storageKey: string) => string;
  log: Pick<Log, 'warn'>;
}

const disabled = () => new AppError('invalid_request', 'Registration is disabled');
const NO_CLAIM: Claim = { isLocal: false };

/** Tells whether the claim holds now. */
async function holds(deps: IdentityDeps, tx: Sql, { setupToken: given, isLocal }: Claim): Promise<boolean> {
  if (given === undefined) return isLocal && !(await store.anyUser(tx));
  if (!equalSecrets(given, deps.setupToken))
    throw invalidField('setupToken', 'is not the one that this service printed', 'invalid_value');
  if (await store.anySuperAdmin(tx))
    throw invalidField('setupToken', 'this service has a super-admin already', 'invalid_value');
  return true;
}

/** Undefined when the address or the account has a user already. */
async function addUser(
  deps: IdentityDeps,
  tx: Sql,
  person: Omit<store.NewUser, 'userId' | 'orgId'> & { userId?: string; claim?: Claim } & Pick<
      ProviderRegistration,
      'registersWhenClosed'
    >,
): Promise<{ userId: string; orgId: string } | undefined> {
  const { claim = NO_CLAIM } = person;
  let first = await holds(deps, tx, claim);
  if (first && person.activated) {
    await store.lockFirstAdmin(tx);
    first = await holds(deps, tx, claim); // asked again: whoever waited for the lock is not the first
  }
  if (deps.registrationDisabled && !first && !person.registersWhenClosed) throw disabled();
  const [userId, orgId] = [person.userId ?? newId(), newId()];
  if (!(await store.insertUser(tx, { ...person, userId, orgId }, first))) return undefined;
  const by = { userId, impersonatorId: null, ip: person.ip };
  await writeAudit(tx, by, {
    orgId,
    action: 'user.registered',
    resource: 'user',
    resourceId: userId,
    detail: { provider: person.providerName },
  });
  return { userId, orgId };
}

/** The orgs that a user is about to leave, locked; 409 when that may not be. */
async function leaving(tx: Sql, userId: string): Promise<store.OrganizationLeft[]> {
  const orgs = await store.lockOrganizationsOf(tx, userId);
  if (orgs.some(({ others, isLastOwner }) => others > 0 && isLastOwner))
    throw new AppError(
      'conflict',
      'The last owner of an organization with other members stays: make one of them an owner first',
    );
  const admins = await store.lockSuperAdmins(tx, userId);
  if (admins.length === 1 && admins[0] === userId)
    throw new AppError('conflict', 'The last super-admin stays: make another one first');
  return orgs;
}

/** Tells whether someone unknown may register: not when it is switched off, but for the first super-admin. */
const canRegister = async ({ registrationDisabled, sql }: IdentityDeps): Promise<boolean> =>
  !registrationDisabled || !(await store.anySuperAdmin(sql));

/** Refuses with 400 a registration while they are switched off, and a setup token that does not hold. */
async function requireOpen(deps: IdentityDeps, claim: Claim): Promise<void> {
  if ((deps.registrationDisabled || claim.setupToken !== undefined) && !(await holds(deps, deps.sql, claim)))
    throw disabled();
}

/** The setup token: whoever registers with it becomes super-admin; undefined once there is one. */
const setupToken = async (deps: IdentityDeps): Promise<string | undefined> =>
  (await store.anySuperAdmin(deps.sql)) ? undefined : deps.setupToken;

/** A pending user whose address is registered once more, by somebody whose claim holds. */
async function nominate(deps: IdentityDeps, tx: Sql, userId: string, claim: Claim): Promise<void> {
  if (await holds(deps, tx, claim)) await store.nominate(tx, userId);
}

/**
 * Makes a user whose mailbox was proven just now super-admin, if the registration was one of whoever runs this
 * service and there is none yet.
 */
async function becomeSuperAdmin(tx: Sql, userId: string, ip: string | null): Promise<void> {
  if (!(await store.takeNomination(tx, userId))) return;
  await store.lockFirstAdmin(tx);
  if (await store.anySuperAdmin(tx)) return;
  await store.makeSuperAdmin(tx, userId);
  await writeAudit(tx, { userId, impersonatorId: null, ip }, appointed(userId));
}

/**
 * User, profile, org and ownership, in the caller's transaction; undefined when the address has a user. Whose claim
 * holds becomes super-admin, once active.
 */
function register(
  deps: IdentityDeps,
  tx: Sql,
  person: Registration,
): Promise<{ userId: string; orgId: string } | undefined> {
  const userId = newId();
  return addUser(deps, tx, { ...person, userId, providerName: 'local', providerId: userId, avatarUrl: null });
}

/** The user behind an account at a login provider; never found by address (S38). 400 for one who is locked out. */
async function findProviderAccount(
  { sql }: IdentityDeps,
  providerName: string,
  providerId: string,
): Promise<string | undefined> {
  const user = await store.providerAccount(sql, providerName, providerId);
  if (user && !user.activated) throw locked();
  return user?.id;
}

/**
 * The same in a commit of its own, active at once; 400 when the account, or the address at this provider, has a user
 * already.
 */
const registerWithProvider = (
  deps: IdentityDeps,
  person: ProviderRegistration,
): Promise<{ userId: string; orgId: string }> =>
  deps.sql.begin(async (tx) => {
    const added = await addUser(deps, tx, { ...person, passwordHash: null, activated: true });
    if (!added) throw new AppError('invalid_request', 'Email already exists');
    return added;
  });

const self = async ({ sql }: IdentityDeps, orgId: string, userId: string): Promise<store.SelfRow> =>
  found(await store.selfOf(sql, orgId, userId));

const organizationsOf = ({ sql }: IdentityDeps, userId: string): Promise<readonly store.MembershipRow[]> =>
  store.membershipsOf(sql, userId);

/** 404 when the user does not belong to it. */
async function changeOrganization({ sql }: IdentityDeps, userId: string, orgId: string): Promise<string> {
  if (!(await store.useOrganization(sql, orgId, userId))) throw notFound();
  return orgId;
}

/** The profile of a user (US3). */
const profile = async ({ sql }: IdentityDeps, userId: string): Promise<profiles.ProfileRow> =>
  found(await profiles.profileOf(sql, userId));

/** Changes the profile; what is absent stays. The picture must be an image of an org of the user, or the one of now. */
async function updateProfile(
  { sql, urlOfPicture, noticesChanged }: IdentityDeps,
  userId: string,
  { pictureId, ...texts }: ProfileChange,
): Promise<profiles.ProfileRow> {
  let picture: { id: string | null; url: string | null } | undefined;
  if (pictureId === null) picture = { id: null, url: null };
  else if (pictureId !== undefined) {
    const key = isId(pictureId) ? await profiles.pictureKey(sql, userId, pictureId) : undefined;
    if (key === undefined) throw invalidField('pictureId', 'no such picture', 'unknown_id');
    picture = { id: pictureId, url: urlOfPicture(key) };
  }
  if (texts.timezone === undefined) return found(await profiles.updateProfile(sql, userId, texts, picture));
  return sql.begin(async (tx) => {
    const changed = found(await profiles.updateProfile(tx, userId, texts, picture));
    await noticesChanged(tx, userId);
    return changed;
  });
}

const preferences = async ({ sql }: IdentityDeps, userId: string): Promise<Preferences> =>
  completePreferences(found(await profiles.preferencesOf(sql, userId)).preferences);

const updatePreferences = (
  { sql, noticesChanged }: IdentityDeps,
  userId: string,
  change: PreferencesChange,
): Promise<Preferences> =>
  sql.begin(async (tx) => {
    const { preferences: chosen } = found(await profiles.preferencesOf(tx, userId, { lock: true }));
    const merged = merge(chosen, change);
    if (!change.unsubscribed) checkCategories(chosen, merged); // a mail can be refused by whoever has chosen much
    await profiles.keepPreferences(tx, userId, merged);
    await noticesChanged(tx, userId, chosen);
    return completePreferences(merged);
  });

/** The orgs that end with their only member; 409 when the user may not go (see `remove`). */
const ownedAlone = ({ sql }: IdentityDeps, userId: string): Promise<{ id: string; name: string }[]> =>
  sql.begin((tx) => ownedAloneWithin(tx, userId));
/** The same in the caller's transaction. */
const ownedAloneWithin = async (tx: Sql, userId: string): Promise<{ id: string; name: string }[]> =>
  (await leaving(tx, userId))
    .filter(({ others, roleKey }) => others === 0 && roleKey === 'owner')
    .map(({ id, name }) => ({ id, name }));

/**
 * The user is gone for everybody, in the caller's transaction: out of every org that others are in, which are
 * answered; an org without others goes with them. 409 for the last owner of an org that others are in, and for the
 * last super-admin.
 */
async function remove(tx: Sql, userId: string): Promise<string[]> {
  const orgs = await leaving(tx, userId);
  await store.removeUser(tx, userId);
  const ids = (alone: boolean) => orgs.filter(({ others }) => (others === 0) === alone).map(({ id }) => id);
  await store.removeOrganizations(tx, ids(true));
  return ids(false);
}

/** What is kept of people who are deleted: what goes by their address, and who acted in the audit log. */
async function forget({ forgetAddresses }: IdentityDeps, tx: Sql, people: readonly store.ErasedUser[]) {
  const deleted = await forgetAddresses(tx, people);
  const notes = await forgetActors(
    tx,
    people.map(({ id }) => id),
  );
  return { deleted, anonymized: { audit_log: notes } };
}

/**
 * Deletes users who have been gone for 30 days, with what is kept by their address, and out of the audit log, at most
 * `limit`; answers how many. One who cannot be deleted holds up no other.
 */
function dropRemoved(deps: IdentityDeps, limit: number): Promise<number> {
  const drop = (userIds: readonly string[]) =>
    changeAuditLog(deps.sql, async (tx) => {
      const people = await store.dropRemovedUsers(tx, userIds);
      if (people.length > 0) await forget(deps, tx, people);
    });
  return runEach<string>(limit, {
    find: (most, tried) => store.findRemovedUsers(deps.sql, most, tried),
    together: drop, // one commit for any number of them
    work: (userId) => drop([userId]),
    failed: (err, userId) => deps.log.warn({ err, userId }, 'a removed user could not be deleted, tried again'),
  });
}

/** The same at once, of a user who was removed, in a transaction of `changeAuditLog`. Answers rows by table. */
async function erase(deps: IdentityDeps, tx: Sql, userId: string) {
  return forget(deps, tx, await store.dropRemovedUser(tx, userId));
}

/** People, the orgs they belong to, and how. */
export const openIdentity = (deps: IdentityDeps) => ({
  ...bind(deps, {
    canRegister,
    requireOpen,
    setupToken,
    nominate,
    register,
    findProviderAccount,
    registerWithProvider,
    self,
    organizationsOf,
    changeOrganization,
    profile,
    updateProfile,
    preferences,
    updatePreferences,
    ownedAlone,
    dropRemoved,
    erase,
  }),
  ownedAloneWithin,
  becomeSuperAdmin,
  remove,
});
