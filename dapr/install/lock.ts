import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const BEAT_MS = 2_000;
const SILENT_MS = 15_000;

const isThere = (error: unknown) => (error as { code?: unknown }).code === 'EEXIST';
/** Both times are of the file system and of this machine; a holder touches its file every two seconds. */
const silentFor = async (file: string) => new Date().getTime() - (await stat(file)).mtimeMs;

/**
 * Waits until nobody else holds `file`, takes it, and gives it back on dispose. The file of a holder that was killed is
 * taken over. Two that take over at the same instant only do the work twice: results are put in place by rename.
 */
export async function holdLock(file: string, waiting: () => void): Promise<AsyncDisposable> {
  await mkdir(dirname(file), { recursive: true });
  for (let told = false; ;) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (!isThere(error)) throw error;
    }
    if ((await silentFor(file).catch(() => 0)) > SILENT_MS) await rm(file, { force: true });
    else {
      if (!told) waiting();
      told = true;
      await sleep(300);
    }
  }
  const beat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), BEAT_MS);
  beat.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await rm(file, { force: true });
    },
  };
}
