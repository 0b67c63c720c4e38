import { asCallerError } from '../db/index.ts';
import { newId } from '../kernel/index.ts';

/**
 * Does something that is noted before it is done, and its outcome after it: an act whose outcome is not there was cut
 * off, and may have had its effect. Nothing is done that cannot be noted. `unnoted` hears why the outcome could not be
 * noted of what was done: its result is answered, and it reads as cut off.
 */
export async function noteAround<T>(
  note: (detail: Readonly<Record<string, string>>) => PromiseLike<unknown>,
  work: () => Promise<T>,
  unnoted: (error: unknown) => void,
): Promise<T> {
  const act = newId();
  await note({ act });
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await note({ ends: act, outcome: 'refused', code: asCallerError(error).code });
    throw error;
  }
  try {
    await note({ ends: act, outcome: 'done' });
  } catch (error) {
    unnoted(error);
  }
  return result;
}
