export { type Events, openEvents } from './events.ts';
export { bearsToken, startMetricsListener } from './listener.ts';
export { type Log, type Logs, openLogs } from './logger.ts';
export { type Metrics, openMetrics, type Reader } from './metrics.ts';
export { openTracing, type RunSpan, type Tracing } from './tracing.ts';
export { keepOutOfLogs, redact, redactText } from './redact.ts';
