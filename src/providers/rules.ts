import { AppError, invalidField, type FieldError, validationFailed } from '../kernel/index.ts';
import { type Adapter, type Domain, DOMAINS, type Lifecycle } from './kit/adapter.ts';
import type { Fields } from './kit/fields.ts';
import type { SocialAdapter } from './social/_contract.ts';

/** Which adapter a domain has. A new domain adds its line. */
export interface AdapterOf {
  social: SocialAdapter;
}
export type AnyAdapter = AdapterOf[keyof AdapterOf];

/** `new` writes a row; `pinned` uses or edits a row that holds this version already. */
export interface Resolve {
  version?: string | undefined;
  use?: 'new' | 'pinned';
  allowPreview?: boolean | undefined;
}

export const lifecycleOf = (adapter: Pick<Adapter<unknown>, 'status'>): Lifecycle => adapter.status ?? 'active';
const newest = <A extends AnyAdapter>(adapters: readonly A[]) => adapters.toSorted((a, b) => Number(b.version.slice(1)) - Number(a.version.slice(1)))[0];

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
): A {
  const versions = registered.filter((adapter) => adapter.domain === domain && adapter.id === id);
  if (versions.length === 0) throw new AppError('unknown_version', `Unknown provider ${domain}/${id}`);
  const chosen =
    version === undefined
      ? (newest(versions.filter((one) => lifecycleOf(one) === 'active')) ?? newest(versions.filter((one) => lifecycleOf(one) === 'preview')))
      : versions.find((one) => one.version === version);
  if (!chosen)
    throw new AppError('unknown_version', version === undefined ? `No version of ${domain}/${id} is active` : `Unknown version ${version} of ${domain}/${id}`);
  const name = `${domain}/${id}@${chosen.version}`;
  switch (lifecycleOf(chosen)) {
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

/** The typed fields of a form, checked against their declaration: defaults filled in, every fault named. */
export function readFields(fields: Fields, input: Readonly<Record<string, unknown>>, at = ''): Record<string, string> {
  const errors: FieldError[] = Object.keys(input)
    .filter((name) => !(name in fields))
    .map((name) => ({ field: at + name, message: `property ${name} should not exist`, rule: 'unknown' }));
  const values: Record<string, string> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = input[name] === undefined || input[name] === null || input[name] === '' ? field.default : input[name];
    const fault = (message: string, rule: string) => errors.push({ field: at + name, message: `${field.label}: ${message}`, rule });
    if (given === undefined) {
      if (field.required) fault('is needed', 'required');
    } else if (typeof given !== 'string') fault('must be a text', 'invalid_type');
    else if (field.options && !field.options.some(({ value }) => value === given))
      fault(`must be one of ${field.options.map(({ value }) => value).join(', ')}`, 'invalid_value');
    else if (field.validation && !new RegExp(`^(?:${field.validation})$`, 'u').test(given.trim())) fault(field.help ?? 'has another form', 'invalid_format');
    else if (field.form === 'origin') {
      const origin = originOf(given);
      if (origin === undefined) fault('must be the address of a server, like https://social.example', 'invalid_format');
      else values[name] = origin;
    } else values[name] = field.secret ? given : given.trim();
  }
  if (errors.length > 0) throw validationFailed(errors);
  return values;
}

/** `https://host` of what a person types for a server; undefined for what is none. */
function originOf(typed: string): string | undefined {
  const text = typed.trim();
  const whole = /^https?:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(whole)) return undefined;
  const url = new URL(whole);
  return url.username || url.password || url.hostname === '' ? undefined : url.origin;
}

/** Settings of a post as the adapter takes them; a wrong value of a known key is 400, unknown keys pass (clients.md 4.3). */
export function checkSettings(adapter: SocialAdapter, settings: unknown, at = 'settings'): void {
  const result = adapter.settings.safeParse(settings);
  const issue = result.error?.issues[0];
  if (issue) throw invalidField([at, ...issue.path].join('.'), `${[at, ...issue.path].join('.')}: ${issue.message}`, issue.code);
}
