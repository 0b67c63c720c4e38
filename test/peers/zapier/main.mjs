// Judges and runs the definition of an app as Zapier does. A line of JSON on standard input is a request, a line on
// standard output its answer.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(import.meta.url);
const { createAppTester } = require('zapier-platform-core');
const { validateAppDefinition } = require('zapier-platform-schema');
const { default: app } = await import(process.argv[2]);
const run = createAppTester(app);

/** Functions have no place in JSON; the schema wants to see that something is there. */
const shown = JSON.parse(JSON.stringify(app, (_, value) => (typeof value === 'function' ? { source: 'return 1' } : value)));
const methodOf = (path) => path.split('.').reduce((at, name) => at[name], app);

for await (const line of createInterface({ input: process.stdin })) {
  const { path, bundle } = JSON.parse(line);
  const answer =
    path === 'validate'
      ? { results: validateAppDefinition(shown).errors.map(({ stack }) => stack) }
      : await run(methodOf(path), bundle).then(
          (results) => ({ results }),
          (error) => ({ error: error.message, name: error.name }),
        );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
