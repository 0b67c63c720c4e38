import type { z } from 'zod';
import type { Adapter } from '../kit/declare/adapter.ts';
import type { Field, Fields } from '../kit/declare/fields.ts';
import type { Limits, Threads } from './_bounds.ts';
import { connected, type Social } from './_channel.ts';
import type { Login } from './_login.ts';
import type { Connection, OnceClass, SocialLine, SocialSpec } from './_spec.ts';
export type { App, Tokens } from '../kit/protocols/oauth.ts';
export type * from './_bounds.ts';
export type { Social } from './_channel.ts';
export type * from './_login.ts';
export type { AutoPlug, Plug, PlugField, PostPlug } from './_plugs.ts';
export type * from './_spec.ts';
export type * from './_values.ts';

/** A field of the app, as the catalog shows it. */
interface AppField {
  name: string;
  label: string;
  secret: boolean;
  required: boolean;
}
export interface SocialFacts {
  login: Login['kind'];
  /** Fields of an app of its own, which an organization may set; absent where there is none. */
  app?: readonly AppField[];
  once: OnceClass;
  threads: Threads;
  limits: Limits;
}

export type SocialAdapter<F extends Fields = Fields, S extends z.ZodType = z.ZodType> = SocialSpec<F, S> &
  Adapter<'social', SocialFacts, SocialLine<F>, F> & { connect(connection: Connection<F>): Social };

const OPTIONAL = [
  'prepare',
  'poll',
  'find',
  'remove',
  'comment',
  'repost',
  'metrics',
  'channelMetrics',
  'comments',
  'hide',
  'publicProfile',
  'mentions',
  'tools',
  'pages',
  'plugs',
  'channelLimits',
] as const;
const appFieldOf = ([name, { label, secret, required = false }]: [string, Field]): AppField => ({
  name,
  label,
  secret,
  required,
});

/** Declares a social network. */
export const social = <const F extends Fields, S extends z.ZodType>(spec: SocialSpec<F, S>): SocialAdapter => {
  const adapter: SocialAdapter<F, S> = {
    ...spec,
    domain: 'social',
    facts: {
      login: spec.login.kind,
      once: spec.once,
      limits: spec.limits,
      threads: spec.threads,
      ...(spec.app && { app: Object.entries(spec.app).map(appFieldOf) }),
    },
    ...(spec.app && {
      setup: { fields: spec.app, owners: ['org'] as const, ...(spec.appOneOf && { oneOf: spec.appOneOf }) },
    }),
    capabilities: [
      'publish',
      ...OPTIONAL.filter((name) => spec[name as keyof typeof spec]),
      ...(spec.comment?.replies ? ['reply'] : []),
    ],
    connect: (connection) => connected(spec, connection),
  };
  return adapter as unknown as SocialAdapter; // the registry checks values against the fields, `settled` the settings
};
