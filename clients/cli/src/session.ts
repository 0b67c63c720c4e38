import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { openRookery, type Rookery } from '../../typescript/src/index.ts';
import { CredentialError, UsageError } from './exit.ts';
import { openOutput, type Output } from './output.ts';
import { openProfiles, type Profiles } from './profiles.ts';

/** Where the program runs. */
export interface World {
  env: Readonly<Record<string, string | undefined>>;
  configFolder: string;
  stdin: Readable;
  out: (text: string) => void;
  err: (text: string) => void;
  /** Aborted when the user stops the program. */
  signal: AbortSignal;
}
interface Globals {
  json?: boolean;
  url?: string;
  profile?: string;
}

/** What commands work with. */
export interface Session {
  output: Output;
  env: World['env'];
  signal: AbortSignal;
  profiles: Profiles;
  profileName(): string;
  /** The address that was given: by option, environment or profile. */
  findUrl(): Promise<string | undefined>;
  /** A client with the key of the environment or of the profile. */
  client(): Promise<Rookery>;
  /** Without a credential, or with one that is not kept. */
  clientOf(url: string, key?: string): Rookery;
  readStdin(): Promise<Buffer>;
}

/** Shorter waits are not worth a word. */
const TOLD_MS = 1_000;

export function openSession(world: World, program: Command): Session {
  const globals = () => program.opts<Globals>();
  const output = openOutput(world, () => globals().json === true);
  const profiles = openProfiles(world.configFolder);
  const profileName = () => globals().profile ?? (world.env['ROOKERY_PROFILE'] || 'default');
  const urlOfEnvironment = () => world.env['ROOKERY_URL'] || undefined;
  /** A profile that is asked for is meant, whatever the environment says. */
  const isAsked = () => globals().profile !== undefined;

  function clientOf(url: string, key?: string): Rookery {
    originOf(url);
    if (key !== undefined) output.hide(key);
    // an error of a header would quote it
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
      throw new CredentialError('The key has characters that no key has');
    return openRookery({
      url,
      ...(key !== undefined && { credential: key }),
      onWait: (ms, why) => ms >= TOLD_MS && output.say(`waiting ${Math.ceil(ms / 1_000)} s: ${why.message}`),
    });
  }
  const session: Session = {
    output,
    env: world.env,
    signal: world.signal,
    profiles,
    profileName,
    clientOf,
    async findUrl() {
      const kept = (await profiles.find(profileName()))?.url;
      return globals().url ?? (isAsked() ? (kept ?? urlOfEnvironment()) : (urlOfEnvironment() ?? kept));
    },
    async client() {
      const key = isAsked() ? undefined : world.env['ROOKERY_API_KEY'] || undefined;
      const profile = key === undefined ? await profiles.find(profileName()) : undefined;
      const url = globals().url ?? (isAsked() ? undefined : urlOfEnvironment()) ?? profile?.url;
      if (key !== undefined && url === undefined) throw new UsageError('ROOKERY_API_KEY needs ROOKERY_URL or --url');
      if (key !== undefined) return clientOf(url!, key);
      if (!profile)
        throw new CredentialError(
          'Not logged in: run `rookery login --url <url>`, or set ROOKERY_URL and ROOKERY_API_KEY',
        );
      // a key is shown to the service that it is of, and to no other
      if (originOf(url!) !== originOf(profile.url))
        throw new CredentialError(`The profile ${profileName()} is of ${profile.url}, not of ${url}`);
      return clientOf(url!, profile.key);
    },
    async readStdin() {
      const chunks: Buffer[] = [];
      for await (const chunk of world.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
      return Buffer.concat(chunks);
    },
  };
  return session;
}

function originOf(url: string): string {
  try {
    if (/^https?:/.test(url)) return new URL(url).origin;
  } catch {
    // told below
  }
  throw new UsageError(`${url} is no address of http or https`);
}
