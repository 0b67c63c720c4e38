import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CredentialError } from './exit.ts';

/** Where and as whom: kept by `login`. */
export interface Profile {
  url: string;
  key: string;
}
interface Kept {
  [name: string]: Profile;
}

/** Profiles in one file that its owner alone can read. */
export function openProfiles(folder: string) {
  const file = join(folder, 'profiles.json');

  async function read(): Promise<Kept> {
    const state = await stat(file).catch(() => undefined);
    if (!state) return {};
    if (process.platform !== 'win32' && (state.mode & 0o077) !== 0)
      throw new CredentialError(`Others can read ${file}: run chmod 600 on it, and replace the keys in it`);
    try {
      return JSON.parse(await readFile(file, 'utf8')) as Kept;
    } catch {
      throw new CredentialError(`${file} is not JSON: delete it and log in again`);
    }
  }
  async function write(profiles: Kept): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600 });
    await chmod(draft, 0o600); // a draft that was left over keeps its mode
    await rename(draft, file);
  }

  return {
    file,
    async find(name: string): Promise<Profile | undefined> {
      const profiles = await read();
      return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    },
    keep: async (name: string, profile: Profile) => write({ ...(await read()), [name]: profile }),
    /** Answers whether it was there. */
    async remove(name: string): Promise<boolean> {
      const { [name]: gone, ...rest } = await read();
      if (gone) await write(rest);
      return gone !== undefined;
    },
  };
}
export type Profiles = ReturnType<typeof openProfiles>;
