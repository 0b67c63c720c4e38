import { existsSync } from 'node:fs';
import { SETTINGS, type SettingName } from './settings.ts';

/** The variables of a process as they are; an empty one counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Value<Name extends SettingName> =
  | ReturnType<(typeof SETTINGS)[Name]['parse']>
  | (typeof SETTINGS)[Name]['fallback'];
/** Every setting with its type: what was given, else its fallback. */
export type Env = { readonly [Name in SettingName]: Value<Name> };

/** One fault of the configuration. `always`: the process cannot run with it, whatever the mode. */
export interface ConfigIssue {
  setting: string;
  level: 'fatal' | 'warning';
  message: string;
  remedy: string;
  always?: true;
}

/**
 * The environment of this process, with what a file `.env` in the working folder adds to it. The only place that reads
 * it.
 */
export function environment(): Environment {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}

export const given = (source: Environment, name: SettingName): string | undefined => source[name]?.trim() || undefined;

/** Shorter names are one edit away from too many variables of other programs. */
const SHORTEST = 6;

/** Tells whether one character too many, too few, another, or two that changed places turn one name into the other. */
function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const rest = (text: string, from: number) => text.slice(at + from);
  if (a.length > b.length) return rest(a, 1) === rest(b, 0);
  if (a.length < b.length) return rest(a, 0) === rest(b, 1);
  return rest(a, 1) === rest(b, 1) || (a[at] === b[at + 1] && a[at + 1] === b[at] && rest(a, 2) === rest(b, 2));
}

/** Variables whose names are nearly those of settings that are not set. Their values are not read. */
function misspelt(source: Environment): ConfigIssue[] {
  const unset = (Object.keys(SETTINGS) as SettingName[]).filter(
    (name) => name.length >= SHORTEST && given(source, name) === undefined,
  );
  return Object.keys(source).flatMap((name): ConfigIssue[] => {
    if (name in SETTINGS || !source[name]?.trim()) return [];
    const meant = unset.find((setting) => isOneEditAway(name, setting));
    if (meant === undefined) return [];
    return [
      {
        setting: name,
        level: 'warning',
        message: `is not a setting, ${meant} is`,
        remedy: `Rename it to ${meant}, or remove it.`,
      },
    ];
  });
}

/** Reads every setting. A value that does not fit becomes an issue, and its setting has the fallback. */
export function readEnv(source: Environment): { env: Env; issues: ConfigIssue[] } {
  const issues = misspelt(source);
  const env = Object.entries(SETTINGS).map(([name, setting]) => {
    const value = given(source, name as SettingName);
    if (value === undefined) return [name, setting.fallback];
    try {
      return [name, setting.parse(value)];
    } catch (error) {
      const holdsSecret = setting.secret || /\/\/[^/]*@/.test(value); // a password may stand in an address
      const shown = holdsSecret ? '' : ` ${JSON.stringify(value.slice(0, 80))}`;
      const usual = setting.otherwise ?? setting.fallback;
      issues.push({
        setting: name,
        level: name === 'TRUST_PROXY_HOPS' ? 'warning' : 'fatal', // the interface says what an invalid one means
        message: `does not hold what it should:${shown}`,
        remedy: `Set it to ${error instanceof Error ? error.message : String(error)}, or remove it${usual === undefined ? '' : ` (then: ${String(usual)})`}.`,
      });
      return [name, setting.fallback];
    }
  });
  return { env: Object.fromEntries(env) as Env, issues };
}
