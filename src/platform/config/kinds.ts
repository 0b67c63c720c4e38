import { readFileSync, statSync } from 'node:fs';
import { isId } from '../kernel/index.ts';

/** One variable: how its text becomes a value, what it is without one, and what the reference says of it. */
export interface Setting<T> {
  readonly type: string;
  readonly fallback: T;
  readonly meaning: string;
  /** Told in the reference when it is not simply the fallback. */
  readonly otherwise?: string;
  /** Never printed. */
  readonly secret?: true;
  /** The work that uses it, where that is not here yet. */
  readonly later?: string;
  /** Networks whose app it belongs to: the reference tells where none of them is registered. */
  readonly networks?: readonly string[];
  /** Throws an Error that says what the text should be: "a whole number from 1 to 10". */
  parse(text: string): T;
}

interface More {
  otherwise?: string;
  later?: string;
}
type Optional<T, D> = D extends undefined ? T | undefined : T;
const should = (what: string): never => {
  throw new Error(what);
};

export const anyText = <const D extends string | undefined = undefined>(
  meaning: string,
  more: More & { fallback?: D } = {},
): Setting<Optional<string, D>> => ({
  type: 'text',
  ...more,
  fallback: more.fallback as Optional<string, D>,
  meaning,
  parse: (value) => value as Optional<string, D>,
});

export const secretText = (meaning: string, more: More = {}): Setting<string | undefined> => ({
  type: 'secret',
  secret: true,
  fallback: undefined,
  ...more,
  meaning,
  parse: (value) => value,
});

export function whole<D extends number | undefined>(
  fallback: D,
  meaning: string,
  { min = 0, max = 2 ** 31 - 1, ...more }: More & { min?: number; max?: number } = {},
): Setting<Optional<number, D>> {
  return {
    type: 'whole number',
    fallback: fallback as Optional<number, D>,
    ...more,
    meaning,
    parse(value): Optional<number, D> {
      const number = Number(value);
      return /^\d+$/.test(value) && number >= min && number <= max
        ? (number as Optional<number, D>)
        : should(`a whole number from ${min} to ${max}`);
    },
  };
}

export const decimal = (fallback: number, meaning: string, more: More = {}): Setting<number> => ({
  type: 'number',
  fallback,
  ...more,
  meaning,
  parse: (value) =>
    /^\d+(\.\d+)?$/.test(value) && Number(value) > 0
      ? Number(value)
      : should('a number greater than 0, with a point for decimals'),
});

/** True for true, 1, yes and on; false for false, 0, no and off. */
export const flag = <D extends boolean | undefined>(
  fallback: D,
  meaning: string,
  more: More = {},
): Setting<Optional<boolean, D>> => ({
  type: 'true or false',
  fallback: fallback as Optional<boolean, D>,
  ...more,
  meaning,
  parse: (value) =>
    (/^(true|1|yes|on)$/i.test(value)
      ? true
      : /^(false|0|no|off)$/i.test(value)
        ? false
        : should('true or false')) as Optional<boolean, D>,
});

export const oneOf = <const V extends string, D extends V | undefined>(
  values: readonly V[],
  fallback: D,
  meaning: string,
  more: More = {},
): Setting<Optional<V, D>> => ({
  type: values.join(' or '),
  fallback: fallback as Optional<V, D>,
  ...more,
  meaning,
  parse: (value) => (values.find((one) => one === value) ?? should(`one of ${values.join(', ')}`)) as Optional<V, D>,
});

/** An address with one of these schemes, kept without trailing slashes. */
export const address = (
  schemes: readonly string[],
  meaning: string,
  more: More & { secret?: true } = {},
): Setting<string | undefined> => ({
  type: 'URL',
  fallback: undefined,
  ...more,
  meaning,
  parse: (value) =>
    URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1))
      ? value.replace(/(?<!\/)\/+$/, '')
      : should(`an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`),
});

/** An address of the service that paths are put behind, and that everybody is told. */
export const base = (meaning: string, more: More = {}): Setting<string | undefined> => {
  const setting = address(['http', 'https'], meaning, more);
  const parse = (value: string) => {
    const text = setting.parse(value);
    const { username, password } = new URL(value);
    return username || password || /[?#]/.test(value)
      ? should('an address without a user, a query and a fragment: paths are put behind it')
      : text;
  };
  return { ...setting, parse };
};

/** Entries between commas; each must fit. */
export const list = (
  meaning: string,
  fits: (entry: string) => boolean,
  what: string,
  more: More = {},
): Setting<readonly string[] | undefined> => ({
  type: 'list with commas',
  fallback: undefined,
  ...more,
  meaning,
  parse(value) {
    const entries = value
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean);
    const odd = entries.find((entry) => !fits(entry));
    return odd === undefined ? entries : should(`${what}, with commas between them; "${odd}" is none`);
  },
});

const MOST_BYTES = 32 * 1024 * 1024;

/** The lines of a text file of at most 32 MiB, without the empty ones. */
export const linesOfFile = (meaning: string, more: More = {}): Setting<readonly string[] | undefined> => ({
  type: 'path of a file',
  fallback: undefined,
  ...more,
  meaning,
  parse(path) {
    const file = statSync(path, { throwIfNoEntry: false });
    if (!file?.isFile() || file.size > MOST_BYTES) return should('the path of a text file of at most 32 MiB');
    return readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean);
  },
});

const isHostPort = (entry: string): boolean => {
  const url = URL.parse(`tcp://${entry}`);
  return url !== null && url.hostname !== '' && url.port !== '' && url.host === entry.toLowerCase();
};
/** Tells whether an entry is a sidecar: of the operator or, after `<organization id>@`, of one organization. */
export const isSidecar = (entry: string): boolean => {
  const [place = '', orgId, ...rest] = entry.split('@').toReversed();
  return isHostPort(place) && (orgId === undefined || isId(orgId)) && rest.length === 0;
};
export const isOrigin = (entry: string): boolean =>
  URL.canParse(entry) &&
  /^https?:$/.test(new URL(entry).protocol) &&
  new URL(entry).origin === entry.replace(/\/$/, '');
export const isDomain = (entry: string): boolean =>
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(entry);
