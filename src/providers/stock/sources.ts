import type { ContentPackAdapter } from '../contentpack/_contract.ts';
import { giphy } from './giphy.ts';
import { openverse } from './openverse.ts';
import { pexels } from './pexels.ts';
import { pixabay } from './pixabay.ts';
import { unsplash } from './unsplash.ts';

/** The free sources, in the order in which they are preferred. They are no providers of the catalog: their keys are the operator's. */
export const stockSources: readonly ContentPackAdapter[] = [unsplash, pexels, pixabay, giphy, openverse];
