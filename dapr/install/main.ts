import { environment } from '../../src/platform/config/index.ts';
import { DAPR_VERSION, installDapr } from './index.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => stop.abort(new Error('interrupted; nothing half done was left behind')));

const started = performance.now();
const say = (line: string) =>
  void process.stdout.write(`[${String(Math.round((performance.now() - started) / 1000)).padStart(4)}s] ${line}\n`);
try {
  const { from, programs } = await installDapr({
    environment: environment(),
    say,
    signal: stop.signal,
    ...(process.argv.includes('--build') && { ways: ['build'] as const }), // leaves the release archives out
  });
  say(`Dapr ${DAPR_VERSION} from ${from}`);
  for (const file of Object.values(programs)) process.stdout.write(`        ${file}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
