export { type AuthType, type Domain, DOMAINS, type Lifecycle } from './kit/adapter.ts';
export type { Field, Fields } from './kit/fields.ts';
export { htmlToText, sameText, textLength } from './kit/text.ts';
export { type CatalogEntry, type CustomField, presentCatalogEntry, presentCustomFields, presentLedger } from './present.ts';
export { generateRegistry, REGISTRY_FILE } from './generate.ts';
export { type AnyAdapter, checkSettings, type Resolve } from './rules.ts';
export { type ConnectOptions, openProviders, type Providers, type ProvidersOptions } from './service.ts';
export type { App, Handle, Limits, Login, Media, Post, Profile, Published, Social, SocialAdapter, Tokens } from './social/_contract.ts';
export { dropOldLedger, type LedgerRow, sandboxLedger } from './store.ts';
