import type { AuthType, Domain, Lifecycle } from '../kit/declare/adapter.ts';
import type { Field, Fields } from '../kit/declare/fields.ts';
import type { AnyAdapter } from './domains.ts';
import type { SocialAdapter } from '../social/_contract.ts';

/** A credential field, as the console shows it (S155). */
interface CredentialField {
  name: string;
  label: string;
  secret: boolean;
  required: boolean;
  help: string | null;
  default?: string;
  placeholder?: string;
}

/** A registered version of a provider, as the catalog shows it (PV6, S155). */
export interface CatalogEntry {
  domain: Domain;
  providerId: string;
  version: string;
  displayName: string;
  status: Lifecycle;
  verified: boolean;
  authType: AuthType;
  defaultDomain: string | null;
  setupNotes: string | null;
  credentialFields: CredentialField[];
  capabilities: { kind: 'direct' | 'hub' | 'action' | null; operations: string[]; [fact: string]: unknown };
  deprecatedAt: string | null;
  sunsetAt: string | null;
  description: string;
  website: string | null;
  mediaCategories: string[];
  featured: boolean;
  featuredSortOrder: number | null;
}

const entries = (fields: Fields): [string, Field][] => Object.entries(fields);

/**
 * The facts that an entry shows under names of their own in every domain; all others are shown among the capabilities.
 */
interface NamedFacts {
  kind?: 'direct' | 'hub' | 'action' | null;
  defaultDomain?: string | null;
  mediaCategories?: readonly string[];
  [fact: string]: unknown;
}

/** Presents an adapter as a catalog entry; `featuredSortOrder` comes from the featured rows. */
export function catalogEntryOf(
  adapter: AnyAdapter,
  status: Lifecycle,
  featuredSortOrder: number | null = null,
): CatalogEntry {
  const { kind = null, defaultDomain = null, mediaCategories = [], ...others }: NamedFacts = { ...adapter.facts };
  return {
    domain: adapter.domain,
    providerId: adapter.id,
    version: adapter.version,
    displayName: adapter.title,
    status,
    verified: false, // true only for an adapter that was tried with a live key (PV7)
    authType: adapter.authType,
    defaultDomain,
    setupNotes: adapter.setupNotes ?? null,
    credentialFields: entries(adapter.credentials).map(([name, field]) => ({
      name,
      label: field.label,
      secret: field.secret,
      required: field.required ?? false,
      help: field.help ?? null,
      ...(field.default !== undefined && { default: field.default }),
      ...(field.placeholder !== undefined && { placeholder: field.placeholder }),
    })),
    capabilities: { kind, operations: [...adapter.capabilities], ...others },
    deprecatedAt: adapter.deprecatedAt ?? null,
    sunsetAt: adapter.sunsetAt ?? null,
    description: adapter.description,
    website: adapter.website ?? null,
    mediaCategories: [...mediaCategories],
    featured: featuredSortOrder !== null,
    featuredSortOrder,
  };
}

/** Orders entries: featured ones first, then by name, then by version (S155). */
export const inOrder = (a: CatalogEntry, b: CatalogEntry): number =>
  (a.featuredSortOrder ?? Infinity) - (b.featuredSortOrder ?? Infinity) ||
  a.displayName.localeCompare(b.displayName, 'en') ||
  Number(a.version.slice(1)) - Number(b.version.slice(1));

/** A field of the form that connects a channel (S245). */
export interface CustomField {
  key: string;
  label: string;
  type: 'text' | 'password' | 'select';
  required: boolean;
  defaultValue?: string;
  validation?: string;
  options?: { value: string; label: string }[];
  help?: string;
}

/** Presents the form of an adapter that is connected by typed fields; empty for one that is connected by consent. */
export const customFieldsOf = ({ login, credentials }: Pick<SocialAdapter, 'login' | 'credentials'>): CustomField[] =>
  login.kind !== 'credentials'
    ? []
    : entries(credentials).map(([key, field]) => ({
        key,
        label: field.label,
        type: field.options ? 'select' : field.secret ? 'password' : 'text',
        required: field.required ?? false,
        ...(field.default !== undefined && { defaultValue: field.default }),
        ...(field.validation !== undefined && { validation: field.validation }),
        ...(field.options && { options: [...field.options] }),
        ...(field.help !== undefined && { help: field.help }),
      }));
