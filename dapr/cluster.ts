import { environment } from '../src/platform/config/index.ts';
import { startLocalCluster } from './local-cluster.ts';

const started = performance.now();
const say = (line: string) =>
  void process.stdout.write(`[${String(Math.round((performance.now() - started) / 1000)).padStart(3)}s] ${line}\n`);

const stop = new AbortController();
const asked = new Promise<string>((done) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      stop.abort(new Error(`${signal}: ended before it served`));
      done(signal);
    });
});

try {
  await using cluster = await startLocalCluster({ environment: environment(), say, signal: stop.signal });
  process.stdout.write(`${await cluster.describe()}\n`);
  const why = await Promise.race([
    asked,
    cluster.failed.then((reason) => {
      process.exitCode = 1;
      return reason;
    }),
  ]);
  say(`${why}: ending apps, then sidecars, then scheduler and placement …`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
say('ended');
process.exit();
