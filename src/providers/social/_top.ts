import { z } from 'zod';
import type { NewComment } from './_contract.ts';

const Top = z.string();
/** The comment at the top, to which answers to an answer belong: its id is kept with each of them. */
export const topOf = ({ parent }: Pick<NewComment, 'parent'>): string | undefined =>
  Top.safeParse(parent?.saved).data ?? parent?.id;
