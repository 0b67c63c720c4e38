import {
  AppError,
  type FieldError,
  invalidField,
  judge,
  unknownField,
  validationFailed,
} from '../../platform/kernel/index.ts';
import { type Domain, DOMAINS, type Lifecycle, type Manifest } from '../kit/declare/adapter.ts';
import { type Fields, MAX_LENGTH } from '../kit/declare/fields.ts';
import { PLAIN_ID } from '../social/_bounds.ts';
import type { SocialAdapter } from '../social/_contract.ts';
import type { AnyAdapter } from './domains.ts';

/** A request for a version. `new` writes a row; `edit` changes one that holds this version, and `pinned` uses it. */
export interface Resolve {
  version?: string | undefined;
  use?: 'new' | 'edit' | 'pinned';
  allowPreview?: boolean | undefined;
}

const numberOf = ({ version }: Pick<AnyAdapter, 'version'>) => Number(version.slice(1));
const newest = <A extends AnyAdapter>(adapters: readonly A[]) =>
  adapters.toSorted((a, b) => numberOf(b) - numberOf(a))[0];
/** Answers the declared status; every version is a preview until it declares another (VE2, VE3). */
export const declaredStatus = ({ status = 'preview' }: Pick<Manifest, 'status'>): Lifecycle => status;

/**
 * Answers the status of a version among the registered ones: the declared one, unless a newer active version supersedes
 * it or its sunset has passed.
 */
export function lifecycleOf(adapter: AnyAdapter, registered: readonly AnyAdapter[], now: Date): Lifecycle {
  const status = declaredStatus(adapter);
  if (status !== 'active' && status !== 'deprecated') return status;
  if (adapter.sunsetAt !== undefined && new Date(adapter.sunsetAt) <= now) return 'retired';
  const isNewer = (other: AnyAdapter) =>
    other.domain === adapter.domain && other.id === adapter.id && numberOf(other) > numberOf(adapter);
  return registered.some((other) => declaredStatus(other) === 'active' && isNewer(other)) ? 'deprecated' : status;
}

/** Parses the name of a domain. @throws AppError `unknown_domain` */
export function knownDomain(domain: string): Domain {
  const known = DOMAINS.find((name) => name === domain);
  if (!known) throw new AppError('unknown_domain', `Unknown domain ${domain}: use one of ${DOMAINS.join(', ')}`);
  return known;
}

/** Chooses the version for a write or a use, by the order of S158 and S159: provider, version, status. */
export function chooseVersion<A extends AnyAdapter>(
  registered: readonly A[],
  domain: Domain,
  id: string,
  { version, use = 'new', allowPreview = false }: Resolve,
  now: Date,
): A {
  const versions = registered.filter((adapter) => adapter.domain === domain && adapter.id === id);
  const statusOf = (one: A) => lifecycleOf(one, versions, now);
  if (versions.length === 0) throw new AppError('unknown_version', `Unknown provider ${domain}/${id}`);
  const chosen =
    version === undefined
      ? (newest(versions.filter((one) => statusOf(one) === 'active')) ??
        newest(versions.filter((one) => statusOf(one) === 'preview')))
      : versions.find((one) => one.version === version);
  if (!chosen)
    throw new AppError(
      'unknown_version',
      version === undefined
        ? `No version of ${domain}/${id} is active`
        : `Unknown version ${version} of ${domain}/${id}`,
    );
  const name = `${domain}/${id}@${chosen.version}`;
  switch (statusOf(chosen)) {
    case 'retired':
      throw new AppError('version_retired', `${name} is retired: choose a newer version`);
    case 'deprecated':
      if (use === 'new')
        throw new AppError('version_deprecated', `${name} is deprecated: new connections need a newer version`);
      return chosen;
    case 'preview':
      if (use !== 'pinned' && !allowPreview)
        throw new AppError('preview_not_allowed', `${name} is a preview: send allowPreview: true to use it`);
      return chosen;
    case 'active':
      return chosen;
  }
}

/** Freezes an adapter: a released version never changes. */
export function immutable<A extends AnyAdapter>(adapter: A): A {
  if (Object.isFrozen(adapter)) return adapter;
  for (const fields of [adapter.credentials, adapter.setup?.fields ?? {}])
    for (const field of Object.values(Object.freeze(fields))) Object.freeze(field);
  for (const part of [adapter.setup, adapter.capabilities, adapter.facts, adapter.errors, adapter.auth])
    if (part) Object.freeze(part);
  return Object.freeze(adapter);
}

/** Checks the typed fields of a form against their declaration: fills in defaults, and throws with every fault. */
export function readFields(fields: Fields, input: Readonly<Record<string, unknown>>, at = ''): Record<string, string> {
  const errors: FieldError[] = Object.keys(input)
    .filter((name) => !Object.hasOwn(fields, name))
    .map((name) => unknownField(name, at + name));
  const values: Record<string, string> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = input[name] === undefined || input[name] === null || input[name] === '' ? field.default : input[name];
    const fault = (message: string, rule: string) =>
      errors.push({ field: at + name, message: `${field.label}: ${message}`, rule });
    if (given === undefined) {
      if (field.required) fault('is needed', 'required');
    } else if (typeof given !== 'string') fault('must be a text', 'invalid_type');
    else if (given.length > (field.maxLength ?? MAX_LENGTH))
      fault(`has more than ${field.maxLength ?? MAX_LENGTH} characters`, 'too_big');
    else if (field.options && !field.options.some(({ value }) => value === given))
      fault(`must be one of ${field.options.map(({ value }) => value).join(', ')}`, 'invalid_value');
    else if (field.validation && !new RegExp(`^(?:${field.validation})$`, 'u').test(given.trim()))
      fault(field.help ?? 'has another form', 'invalid_format');
    else if (field.fault?.(given) !== undefined) fault(field.fault(given)!, 'invalid_format');
    else if (field.form === 'origin' || field.form === 'site') {
      const server = serverOf(given);
      if (server === undefined) fault('must be the address of a server, like https://social.example', 'invalid_format');
      else values[name] = server.origin + (field.form === 'site' ? server.pathname.replace(/(?<!\/)\/+$/, '') : '');
    } else if (field.form === 'url') {
      if (!isAddress(given.trim())) fault('must be an address, like https://login.example/token', 'invalid_format');
      else values[name] = given.trim();
    } else values[name] = field.secret ? oneLine(given) : given.trim();
  }
  if (errors.length > 0) throw validationFailed(errors);
  return values;
}

/**
 * Removes line breaks that were pasted with a secret of one line, since no header could carry them; a secret of several
 * lines, a file, is unchanged.
 */
function oneLine(secret: string): string {
  const [line, ...more] = secret.split(/[\r\n]+/).filter(Boolean);
  return line !== undefined && more.length === 0 ? line : secret;
}

/** Reads a typed server, https without a scheme; undefined for an invalid one. */
function serverOf(typed: string): URL | undefined {
  const text = typed.trim();
  const host = text.replace(/^https?:\/\//i, '');
  // another scheme, which would be read as the host
  if (/^([a-z][a-z0-9+.-]*:(?!\d)|[/\\])/i.test(host)) return undefined;
  const whole = host === text ? `https://${text}` : text;
  if (!URL.canParse(whole)) return undefined;
  const url = new URL(whole);
  return url.username || url.password || url.hostname === '' ? undefined : url;
}

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hash === ''
  );
}

/** Checks the settings of a post; a wrong value of a known key is 400, unknown keys pass (T6). */
export function checkSettings(adapter: SocialAdapter, settings: unknown, at = 'settings'): void {
  const { errors } = judge(adapter.settings, settings, at.split('.'));
  if (errors) throw validationFailed(errors);
}

/**
 * Holds the id that a person names of a post against the form of its network: 400 for one that no post of this account
 * has. An id leads to what is read and written later, by an app that may serve other accounts as well.
 */
export function checkReleaseId(
  { releaseIds: { form, words } = PLAIN_ID }: Pick<SocialAdapter, 'releaseIds'>,
  releaseId: string,
  account: string,
): void {
  const found = form.exec(releaseId);
  if (!found) throw invalidField('releaseId', `must be ${words}`, 'invalid_format');
  if ((found.groups?.['account'] ?? account) !== account)
    throw invalidField('releaseId', 'is a post of another account', 'other_account');
}
