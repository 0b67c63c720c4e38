export { type AuthType, type Domain, DOMAINS, type Lifecycle } from './kit/adapter.ts';
export type { Field, Fields } from './kit/fields.ts';
export { htmlToText, sameText, textLength } from './kit/text.ts';
export { type CatalogEntry, type CustomField, presentCatalogEntry, presentCustomFields } from './present.ts';
export { type AnyAdapter, type Resolve } from './rules.ts';
export { type ConnectOptions, openProviders, type Providers, type ProvidersOptions } from './service.ts';
export type { App, Handle, Limits, Login, Media, Post, Profile, Published, Social, SocialAdapter, Tokens } from './social/_contract.ts';
