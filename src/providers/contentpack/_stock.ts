import type { ContentPackAdapter } from './_contract.ts';
import { giphy } from './_stock-giphy.ts';
import { openverse } from './_stock-openverse.ts';
import { pexels } from './_stock-pexels.ts';
import { pixabay } from './_stock-pixabay.ts';
import { unsplash } from './_stock-unsplash.ts';

/** The free sources, in order of preference. The catalog does not list them: their keys are the operator's. */
export const stockSources: readonly ContentPackAdapter[] = [unsplash, pexels, pixabay, giphy, openverse];
