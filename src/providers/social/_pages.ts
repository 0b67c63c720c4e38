import type { Values } from '../kit/declare/fields.ts';
import type { Chosen, Tokens } from './_contract.ts';

// Pages of a person, of which one becomes the channel: the tokens keep it as a value under a name of the adapter's.

/** The page that was chosen; undefined before the choice. */
export const chosenPage = (values: object, name: string): string | undefined => (values as Values)[name];
/** Chooses a page by keeping its id. */
export const keepPage =
  (name: string) =>
  async ({ page, tokens }: { page: string; tokens: Tokens }): Promise<Chosen> => ({
    ...tokens,
    values: { ...tokens.values, [name]: page },
  });
