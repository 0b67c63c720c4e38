// Imported before a program: writes the name of each package that it loads, when it does so first, to LOADED_PACKAGES.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const known = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
    if (name !== undefined && !known.has(name)) {
      known.add(name);
      appendFileSync(process.env.LOADED_PACKAGES, `${name}\n`);
    }
    return next(url, context);
  },
});
