import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const PREFIX = 'rookery_';
const READ_MS = 1_000;
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LATE = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

/** Read when the metrics are asked for: one number, or one for each value of the label. */
export type Reader = () =>
  | number
  | Readonly<Record<string, number>>
  | Promise<number | Readonly<Record<string, number>>>;

/**
 * The numbers of one process, in Prometheus form at `/metrics`. Labels have few values: types, routes as declared,
 * provider ids, outcomes; never ids, addresses or texts.
 */
export interface Metrics {
  readonly publishes: Counter<'provider' | 'outcome'>;
  readonly lookUps: Counter<'provider' | 'outcome'>;
  readonly publishSeconds: Histogram<'provider'>;
  readonly latenessSeconds: Histogram;
  readonly webhookAttempts: Counter<'event' | 'outcome'>;
  readonly requests: Counter<'method' | 'route' | 'status'>;
  readonly requestSeconds: Histogram<'method' | 'route'>;
  readonly events: Counter<'event'>;
  readonly found: Counter<'kind'>;
  /** A number that stands somewhere else and goes up and down, for example connections or hosts by state. */
  gauge(name: string, help: string, read: Reader, label?: string): void;
  /** The same for one that only grows, for example what a host has counted. */
  total(name: string, help: string, read: Reader, label?: string): void;
  readonly contentType: string;
  text(): Promise<string>;
}

/** A source that fails or takes too long has no number this time; the others are told all the same. */
async function refresh(metric: Gauge | Counter, read: Reader, label: string): Promise<void> {
  const given = new AbortController();
  const late = sleep(READ_MS, {}, { signal: given.signal, ref: false }).catch(() => ({}));
  const value = await Promise.race([(async () => read())().catch(() => ({})), late]);
  given.abort();
  const entries: [Record<string, string>, number][] =
    typeof value === 'number'
      ? [[{}, value]]
      : Object.entries(value).map(([name, number]) => [{ [label]: name }, number]);
  metric.reset();
  for (const [labels, number] of entries)
    if (metric instanceof Counter) metric.inc(labels, number);
    else metric.set(labels, number);
}

/** How often the event loop is asked how late it is: each time wakes a process that has nothing to do. */
const LAG_EVERY_MS = 100;
const NEVER_MS = 2 ** 31 - 1;
const LAG = 'nodejs_eventloop_lag';

/**
 * Memory, processor time and the like of this process. How late the event loop is stands in gauges of ours: those of
 * prom-client ask every 10 ms, which is most of what an idle process costs, and their numbers contain those 10 ms.
 */
function metricsOfProcess(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: PREFIX, eventLoopMonitoringPrecision: NEVER_MS });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith(PREFIX + LAG)) registry.removeSingleMetric(name);
  const delays = monitorEventLoopDelay({ resolution: LAG_EVERY_MS });
  delays.enable();
  const secondsOf = (nanoseconds: number) => Math.max(0, (nanoseconds || 0) / 1e9 - LAG_EVERY_MS / 1_000); // NaN: no look yet
  const lag = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `${PREFIX}${LAG}_${name}_seconds`,
      help,
      registers: [registry],
      collect() {
        this.set(secondsOf(read()));
      },
    });
  lag('mean', 'How late the event loop was on average, since the metrics were read before.', () => delays.mean);
  lag('p99', 'How late it was at most in 99 of 100 looks.', () => delays.percentile(99));
  lag('max', 'How late it was at most.', () => {
    const { max } = delays;
    delays.reset(); // this is the last one that is read
    return max;
  });
  return registry;
}
/** Once for each process, however many products are opened in it: nothing takes an observer of prom-client back. */
let ofProcess: Registry | undefined;

/** `processMetrics`: memory, event loop delay and the like of this process too. */
export function openMetrics({ processMetrics = true } = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (processMetrics) ofProcess ??= metricsOfProcess();
  const told = processMetrics ? [ofProcess!, registry] : [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[], buckets = SHORT) =>
    new Histogram({ name: PREFIX + name, help, labelNames, buckets, registers });

  return {
    publishes: counter('publishes_total', 'Attempts to publish by provider and outcome.', ['provider', 'outcome']),
    lookUps: counter(
      'look_ups_total',
      'Questions to a network after a lost answer, or while it works on a post, by provider and outcome.',
      ['provider', 'outcome'],
    ),
    publishSeconds: histogram('publish_seconds', 'Duration of provider calls that publish.', ['provider']),
    latenessSeconds: histogram(
      'post_lateness_seconds',
      'From the due time of an attempt to the call of its provider.',
      [],
      LATE,
    ),
    webhookAttempts: counter('webhook_attempts_total', 'Attempts to deliver by event and outcome.', [
      'event',
      'outcome',
    ]),
    requests: counter('http_requests_total', 'Requests by method, declared route and status.', [
      'method',
      'route',
      'status',
    ]),
    requestSeconds: histogram('http_request_seconds', 'Duration of requests by declared route.', ['method', 'route']),
    events: counter('events_total', 'Business events.', ['event']),
    found: counter('reconciler_found_total', 'What the reconciler found untouched, by kind.', ['kind']),
    gauge: (name, help, read, label = 'kind') =>
      void new Gauge({
        name: PREFIX + name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          await refresh(this, read, label);
        },
      }),
    total: (name, help, read, label = 'kind') =>
      void new Counter({
        name: PREFIX + name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          await refresh(this, read, label);
        },
      }),
    contentType: registry.contentType,
    text: () => Registry.merge(told).metrics(),
  };
}
