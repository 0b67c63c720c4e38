// Imported before a program: it opens its context with the third parties of a test (context.ts). THIRD_PARTIES: their
// addresses.
import { registerHooks } from 'node:module';

const real = new URL('../../../../src/context.ts', import.meta.url).href;
const ours = new URL('./context.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, from, next) {
    const found = next(specifier, from);
    return found.url === real && from.parentURL !== ours ? { ...found, url: ours } : found;
  },
});
