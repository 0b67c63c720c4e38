import { existsSync } from 'node:fs';
import { SETTINGS, type SettingName } from './settings.ts';

/** The variables of a process as they are; an empty one counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Value<Name extends SettingName> = ReturnType<(typeof SETTINGS)[Name]['parse']> | (typeof SETTINGS)[Name]['fallback'];
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

/** The environment of this process, with what a file `.env` in the working folder adds to it. The only place that reads it. */
export function environment(): Environment {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}

export const given = (source: Environment, name: SettingName): string | undefined => source[name]?.trim() || undefined;

/** Reads every setting. A value that does not fit becomes an issue, and its setting has the fallback. */
export function readEnv(source: Environment): { env: Env; issues: ConfigIssue[] } {
  const issues: ConfigIssue[] = [];
  const env = Object.entries(SETTINGS).map(([name, setting]) => {
    const value = given(source, name as SettingName);
    if (value === undefined) return [name, setting.fallback];
    try {
      return [name, setting.parse(value)];
    } catch (error) {
      const shown = setting.secret ? '' : ` ${JSON.stringify(value.slice(0, 80))}`;
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
