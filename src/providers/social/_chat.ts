import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { PictureRules, SentFile } from '../kit/declare/media.ts';
import type { Media } from './_contract.ts';

// What networks for messages have in common: files beside a text, and refusals that are told by a code.

/** The file of a post as it is sent: a picture within the rules, any other as it is. */
export async function sentFile(item: Media, rules: PictureRules): Promise<SentFile> {
  if (item.kind !== 'image') return item;
  const picture = await item.fit(rules);
  if (!picture) throw refused('rejected', `The picture cannot be made to fit: ${item.name}`);
  return picture;
}

/** Reads a code of a refusal as its failure; one that is not listed does not parse. */
export const failureIn = (codes: Readonly<Record<string, ProviderFailure>>): z.ZodType<ProviderFailure> =>
  z
    .union([z.string(), z.int()])
    .transform((code) => codes[code])
    .pipe(z.custom<ProviderFailure>((failure) => failure !== undefined));
