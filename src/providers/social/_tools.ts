import { z } from 'zod';
import type { Fields } from '../kit/declare/fields.ts';
import type { Connection, Tool } from './_spec.ts';

/** Declares a tool; its schema types its data. */
export const tool = <F extends Fields, D extends z.ZodType>(spec: Tool<F, D>): Tool<F> => spec as unknown as Tool<F>;

/** A tool that lists something, and needs nothing for it. */
export const listing = <F extends Fields>(
  description: string,
  call: (line: Connection<F>) => Promise<unknown>,
): Tool<F> => ({ description, data: z.object({}), call });

/** A tool that searches something by a word. */
export const searching = <F extends Fields>(
  description: string,
  call: (line: Connection<F> & { word: string }) => Promise<unknown>,
): Tool<F> =>
  tool({
    description,
    data: z.object({ word: z.string().min(1).max(100) }),
    call: (line) => call({ ...line, word: line.data.word }),
  });
