import { z } from 'zod';
import { fieldError, type FieldError } from '../../src/platform/kernel/index.ts';

/** What the library of the protocol says of params that break the schema of their method. */
const Issues = z
  .string()
  .transform(parsed)
  .pipe(z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), code: z.string(), message: z.string() })));
const ISSUES = /^(?:Invalid \S+ request: )?(\[\s*\{[^]*\])$/;

/** The faults that an error text lists, by field; undefined of a text that is no such list, whatever it looks like. */
export const faultsOfParams = (text: string): FieldError[] | undefined =>
  Issues.safeParse(ISSUES.exec(text)?.[1]).data?.map(({ path, code, message }) =>
    fieldError(path.join('.'), message.replace(/^Invalid input: /, ''), code),
  );

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
