import { openContext as open } from '../../../../src/context.ts';
import type { Addresses } from './start.ts';

// Stands in the place of `src/context.ts` in a program that preload.ts is imported before.

const addresses = JSON.parse(process.env['THIRD_PARTIES']!) as Addresses;

export const openContext: typeof open = (config, options) => open(config, { ...options, ...addresses });
