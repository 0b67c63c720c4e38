import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_FOLDER_MODE } from '../../platform/config/index.ts';
import { HeldError, holdFile, isRunning, readHolder } from '../../platform/db/embedded/processes.ts';
import { StartError, systemClock } from '../../platform/kernel/index.ts';
export { StartError } from '../../platform/kernel/index.ts';

const FILE = 'running.json';

/**
 * The sign in a data folder that one process runs there, with its address for the demo and for whoever starts a second
 * one.
 */
export interface Running extends AsyncDisposable {
  tell(address: string): Promise<void>;
}

/** Takes the data folder for this process; a second start is told who has it. What a killed one left is taken over. */
export async function takeFolder(dataFolder: string): Promise<Running> {
  try {
    await mkdir(dataFolder, { recursive: true, mode: DATA_FOLDER_MODE });
    const hold = await holdFile(join(dataFolder, FILE), { since: systemClock.now().toISOString() });
    return {
      tell: (address) => hold.update({ since: systemClock.now().toISOString(), address }),
      [Symbol.asyncDispose]: () => hold[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (error instanceof HeldError) {
      const { pid, address, since } = error.holder;
      throw new StartError(
        `Rookery runs already with this data folder (${dataFolder}): process ${pid}${typeof address === 'string' ? ` at ${address}` : ', still starting'}${typeof since === 'string' ? `, since ${since}` : ''}.\n` +
          `Use that one, end it (kill ${pid}), or start a second one with a folder and a port of its own: DATA_FOLDER=.data-2 PORT=3001 npm start`,
        { cause: error },
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The data folder ${dataFolder} cannot be used (${reason}). Let DATA_FOLDER name a folder that this user can write.`,
      { cause: error },
    );
  }
}

/** Where the service of this data folder listens, or else the local cluster of it, if one runs. */
export async function runningAddress(dataFolder: string): Promise<string | undefined> {
  for (const folder of [dataFolder, join(dataFolder, 'cluster')]) {
    const holder = await readHolder(join(folder, FILE));
    if (holder && isRunning(holder) && typeof holder['address'] === 'string') return holder['address'];
  }
  return undefined;
}
