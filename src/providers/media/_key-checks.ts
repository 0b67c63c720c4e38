import { z } from 'zod';
import type { MediaLine } from './_contract.ts';
import { numberAt, reading, readingList, textAt } from './_job-answers.ts';
import type { Pointer } from './_job.ts';

// Checks of a key by a free call that needs it.

type Check = (line: MediaLine) => Promise<string>;

/** By the credits that an account has. */
export const creditsAt =
  (path: string, at: Pointer): Check =>
  async ({ http }) => {
    const left = await http.get(
      path,
      reading((body) => numberAt(body, at), at),
    );
    return `The key is accepted: ${left} credits are left`;
  };

/** By the name of its account. */
export const accountAt =
  (path: string, at: Pointer): Check =>
  async ({ http }) => {
    const name = await http.get(
      path,
      reading((body) => textAt(body, at), at),
    );
    return `The key of ${name} is accepted`;
  };

/** By a list of anything. */
export const listAt =
  (path: string, at: Pointer): Check =>
  async ({ http }) => {
    await http.get(path, readingList(at));
    return 'The key is accepted';
  };

/** By something that is not there, where no call proves a key: a wrong one is refused before. */
export const nothingAt =
  (path: string): Check =>
  async ({ http }) => {
    await http.find(path, z.unknown());
    return 'The key was not refused, but no call proves it';
  };
