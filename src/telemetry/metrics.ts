import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const PREFIX = 'rookery_';
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LATE = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600];

/** Read when the metrics are asked for: one number, or one for each value of the label. */
type Reader = () => number | Readonly<Record<string, number>> | Promise<number | Readonly<Record<string, number>>>;

/**
 * The numbers of one process, in Prometheus form at `/metrics`. Labels have few values: types, routes as declared, provider ids, outcomes;
 * never ids, addresses or texts.
 */
export interface Metrics {
  readonly turns: Counter<'type' | 'outcome'>;
  readonly turnSeconds: Histogram<'type'>;
  readonly calls: Counter<'type' | 'method' | 'outcome'>;
  readonly reminders: Counter<'type' | 'outcome'>;
  readonly publishes: Counter<'provider' | 'outcome'>;
  readonly publishSeconds: Histogram<'provider'>;
  readonly latenessSeconds: Histogram;
  readonly webhookAttempts: Counter<'event' | 'outcome'>;
  readonly requests: Counter<'method' | 'route' | 'status'>;
  readonly requestSeconds: Histogram<'method' | 'route'>;
  readonly events: Counter<'event'>;
  /** A number that stands somewhere else and goes up and down, for example connections or hosts by state. */
  gauge(name: string, help: string, read: Reader, label?: string): void;
  /** The same for one that only grows, for example what a host has counted. */
  total(name: string, help: string, read: Reader, label?: string): void;
  readonly contentType: string;
  text(): Promise<string>;
}

async function refresh(metric: Gauge | Counter, read: Reader, label: string): Promise<void> {
  const value = await read();
  const entries: [Record<string, string>, number][] = typeof value === 'number' ? [[{}, value]] : Object.entries(value).map(([name, number]) => [{ [label]: name }, number]);
  metric.reset();
  for (const [labels, number] of entries) if (metric instanceof Counter) metric.inc(labels, number); else metric.set(labels, number);
}

/** `processMetrics`: memory, event loop delay and the like of this process too. */
export function openMetrics({ processMetrics = true } = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (processMetrics) collectDefaultMetrics({ register: registry, prefix: PREFIX });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) => new Counter({ name: PREFIX + name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[], buckets = SHORT) => new Histogram({ name: PREFIX + name, help, labelNames, buckets, registers });

  return {
    turns: counter('turns_total', 'Turns of actors by type and outcome.', ['type', 'outcome']),
    turnSeconds: histogram('turn_seconds', 'Duration of turns.', ['type']),
    calls: counter('actor_calls_total', 'Calls to actors by type, method and outcome.', ['type', 'method', 'outcome']),
    reminders: counter('reminders_total', 'Reminders that fired, by type and outcome.', ['type', 'outcome']),
    publishes: counter('publishes_total', 'Attempts to publish by provider and outcome.', ['provider', 'outcome']),
    publishSeconds: histogram('publish_seconds', 'Duration of provider calls that publish.', ['provider']),
    latenessSeconds: histogram('post_lateness_seconds', 'From a post\'s date to its publishing.', [], LATE),
    webhookAttempts: counter('webhook_attempts_total', 'Attempts to deliver by event and outcome.', ['event', 'outcome']),
    requests: counter('http_requests_total', 'Requests by method, declared route and status.', ['method', 'route', 'status']),
    requestSeconds: histogram('http_request_seconds', 'Duration of requests by declared route.', ['method', 'route']),
    events: counter('events_total', 'Business events.', ['event']),
    gauge: (name, help, read, label = 'kind') =>
      void new Gauge({ name: PREFIX + name, help, labelNames: [label], registers, async collect() { await refresh(this, read, label); } }),
    total: (name, help, read, label = 'kind') =>
      void new Counter({ name: PREFIX + name, help, labelNames: [label], registers, async collect() { await refresh(this, read, label); } }),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
