import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from '@opentelemetry/api';

/** The span that the running code belongs to, as libraries of OpenTelemetry know it. */
export interface CurrentSpan {
  readonly context: Context;
  readonly traceId: string;
  readonly spanId: string;
}
const current = new AsyncLocalStorage<CurrentSpan>();

/** The span that the caller runs in; undefined outside, and where tracing is off. */
export const currentSpan = (): CurrentSpan | undefined => current.getStore();
export const runIn = <T>(span: CurrentSpan, work: () => T): T => current.run(span, work);

/** The names of a span in the lines of the log, as OpenTelemetry writes them. */
export const spanInLog = (): { trace_id: string; span_id: string } | Record<string, never> => {
  const span = current.getStore();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
};
