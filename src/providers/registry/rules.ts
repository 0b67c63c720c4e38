import { AppError, type FieldError, judge, validationFailed } from '../../platform/kernel/index.ts';
import { type Domain, DOMAINS, type Lifecycle, type Manifest } from '../kit/declare/adapter.ts';
import { type Fields, MAX_LENGTH } from '../kit/declare/fields.ts';
import type { SocialAdapter } from '../social/_contract.ts';
import type { AnyAdapter } from './domains.ts';

/** `new` writes a row; `pinned` uses or edits a row that holds this version already. */
export interface Resolve {
  version?: string | undefined;
  use?: 'new' | 'pinned';
  allowPreview?: boolean | undefined;
}

const numberOf = ({ version }: Pick<AnyAdapter, 'version'>) => Number(version.slice(1));
const newest = <A extends AnyAdapter>(adapters: readonly A[]) => adapters.toSorted((a, b) => numberOf(b) - numberOf(a))[0];
/** Every version starts as a preview, and is released by saying so (VE2, VE3). */
export const declaredStatus = ({ status = 'preview' }: Pick<Manifest, 'status'>): Lifecycle => status;

/** Where a version stands among those that are registered: what it declares, but that a newer active one supersedes it, and that its sunset ends it. */
export function lifecycleOf(adapter: AnyAdapter, registered: readonly AnyAdapter[], now: Date): Lifecycle {
  const status = declaredStatus(adapter);
  if (status !== 'active' && status !== 'deprecated') return status;
  if (adapter.sunsetAt !== undefined && new Date(adapter.sunsetAt) <= now) return 'retired';
  const isNewer = (other: AnyAdapter) => other.domain === adapter.domain && other.id === adapter.id && numberOf(other) > numberOf(adapter);
  return registered.some((other) => declaredStatus(other) === 'active' && isNewer(other)) ? 'deprecated' : status;
}

/** The domain a client named, or 400 `unknown_domain`. */
export function knownDomain(domain: string): Domain {
  const known = DOMAINS.find((name) => name === domain);
  if (!known) throw new AppError('unknown_domain', `Unknown domain ${domain}: use one of ${DOMAINS.join(', ')}`);
  return known;
}

/** The version that a write or a use means, in the order of S158 and S159: provider, version, status. */
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
      ? (newest(versions.filter((one) => statusOf(one) === 'active')) ?? newest(versions.filter((one) => statusOf(one) === 'preview')))
      : versions.find((one) => one.version === version);
  if (!chosen)
    throw new AppError('unknown_version', version === undefined ? `No version of ${domain}/${id} is active` : `Unknown version ${version} of ${domain}/${id}`);
  const name = `${domain}/${id}@${chosen.version}`;
  switch (statusOf(chosen)) {
    case 'retired':
      throw new AppError('version_retired', `${name} is retired: choose a newer version`);
    case 'deprecated':
      if (use === 'new') throw new AppError('version_deprecated', `${name} is deprecated: new connections need a newer version`);
      return chosen;
    case 'preview':
      if (use === 'new' && !allowPreview) throw new AppError('preview_not_allowed', `${name} is a preview: send allowPreview: true to use it`);
      return chosen;
    case 'active':
      return chosen;
  }
}

/** A version means the same for ever: what it declares cannot be written to. */
export function immutable<A extends AnyAdapter>(adapter: A): A {
  for (const fields of [adapter.credentials, adapter.setup?.fields ?? {}]) for (const field of Object.values(Object.freeze(fields))) Object.freeze(field);
  for (const part of [adapter.setup, adapter.capabilities, adapter.facts, adapter.errors, adapter.auth]) if (part) Object.freeze(part);
  return Object.freeze(adapter);
}

/** The typed fields of a form, checked against their declaration: defaults filled in, every fault named. */
export function readFields(fields: Fields, input: Readonly<Record<string, unknown>>, at = ''): Record<string, string> {
  const errors: FieldError[] = Object.keys(input)
    .filter((name) => !Object.hasOwn(fields, name))
    .map((name) => ({ field: at + name, message: `property ${name} should not exist`, rule: 'unknown' }));
  const values: Record<string, string> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = input[name] === undefined || input[name] === null || input[name] === '' ? field.default : input[name];
    const fault = (message: string, rule: string) => errors.push({ field: at + name, message: `${field.label}: ${message}`, rule });
    if (given === undefined) {
      if (field.required) fault('is needed', 'required');
    } else if (typeof given !== 'string') fault('must be a text', 'invalid_type');
    else if (given.length > (field.maxLength ?? MAX_LENGTH)) fault(`has more than ${field.maxLength ?? MAX_LENGTH} characters`, 'too_big');
    else if (field.options && !field.options.some(({ value }) => value === given))
      fault(`must be one of ${field.options.map(({ value }) => value).join(', ')}`, 'invalid_value');
    else if (field.validation && !new RegExp(`^(?:${field.validation})$`, 'u').test(given.trim())) fault(field.help ?? 'has another form', 'invalid_format');
    else if (field.fault?.(given) !== undefined) fault(field.fault(given)!, 'invalid_format');
    else if (field.form === 'origin') {
      const origin = originOf(given);
      if (origin === undefined) fault('must be the address of a server, like https://social.example', 'invalid_format');
      else values[name] = origin;
    } else if (field.form === 'url') {
      if (!isAddress(given.trim())) fault('must be an address, like https://login.example/token', 'invalid_format');
      else values[name] = given.trim();
    } else values[name] = field.secret ? oneLine(given) : given.trim();
  }
  if (errors.length > 0) throw validationFailed(errors);
  return values;
}

/** A secret of one line without the line breaks that it was pasted with, which no header could carry; one of more lines, a file, as it is. */
function oneLine(secret: string): string {
  const [line, ...more] = secret.split(/[\r\n]+/).filter(Boolean);
  return line !== undefined && more.length === 0 ? line : secret;
}

/** `https://host` of what a person types for a server; undefined for what is none. */
function originOf(typed: string): string | undefined {
  const text = typed.trim();
  const host = text.replace(/^https?:\/\//i, '');
  if (/^([a-z][a-z0-9+.-]*:(?!\d)|[/\\])/i.test(host)) return undefined; // another scheme, whose name would be taken for the host
  const whole = host === text ? `https://${text}` : text;
  if (!URL.canParse(whole)) return undefined;
  const url = new URL(whole);
  return url.username || url.password || url.hostname === '' ? undefined : url.origin;
}

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hash === '';
}

/** Settings of a post as the adapter takes them; a wrong value of a known key is 400, unknown keys pass (T6). */
export function checkSettings(adapter: SocialAdapter, settings: unknown, at = 'settings'): void {
  const { errors } = judge(adapter.settings, settings, at.split('.'));
  if (errors) throw validationFailed(errors);
}
