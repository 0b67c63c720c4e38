import type { Attributes, Span as OtelSpan } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from './logger.ts';
import { type CurrentSpan, currentSpan, runIn } from './current-span.ts';

/** What a span is opened with. Names have few values; addresses, texts and whatever is secret stay out of attributes. */
export interface SpanOptions {
  name: string;
  kind?: 'server' | 'client' | 'internal';
  attributes?: Readonly<Record<string, string | number | undefined>>;
  /** The span of whoever asked: the header `traceparent` (W3C Trace Context) of another process. */
  traceparent?: string | undefined;
  /** The span of whoever asked, taken by `current()`, where the work runs later. Default: that of the caller. */
  parent?: CurrentSpan | undefined;
}
/** A span while its work runs. */
export interface RunningSpan {
  set(attributes: Readonly<Record<string, string | number | undefined>>): void;
  /** It ends as an error, without a throw. */
  fail(message: string): void;
}
/** Runs work as a span; its failure is noted and thrown. */
export type RunSpan = <T>(options: SpanOptions, work: (span: RunningSpan) => Promise<T>) => Promise<T>;

/** Traces of one process: nothing where no endpoint is configured. */
export interface Tracing extends AsyncDisposable {
  readonly enabled: boolean;
  readonly span: RunSpan;
  /** The span of the caller, to be the parent of work that runs later. */
  current(): CurrentSpan | undefined;
  /** The header `traceparent` for a process of this service that is called now. */
  traceparent(): string | undefined;
}

/** For one batch with its repeats; a process that ends waits no longer. */
const SEND_MS = 3_000;

const SILENT: RunningSpan = { set() {}, fail() {} };
const OFF: Tracing = {
  enabled: false,
  span: (_, work) => work(SILENT),
  current: () => undefined,
  traceparent: () => undefined,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

export interface TracingOptions {
  /** Base address of an OTLP/HTTP collector, `OTEL_EXPORTER_OTLP_ENDPOINT`; undefined: off, and nothing is loaded. */
  endpoint: string | undefined;
  serviceName: string;
  /** This start of the process. */
  instance: string;
  log: Pick<Log, 'warn'>;
}

/** Opens the traces of a process. Spans leave in batches; a collector that is away costs spans, never a request. */
export async function openTracing({ endpoint, ...options }: TracingOptions): Promise<Tracing> {
  return endpoint === undefined ? OFF : openExport({ endpoint, ...options });
}

const defined = (attributes: SpanOptions['attributes'] = {}): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes;

async function openExport({
  endpoint,
  serviceName,
  instance,
  log,
}: TracingOptions & { endpoint: string }): Promise<Tracing> {
  const [api, { BatchSpanProcessor, TracerProvider }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const url = new URL('v1/traces', endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href;
  const exporter = telling(new OTLPTraceExporter({ url, timeoutMillis: SEND_MS }), log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.instance.id': instance }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('rookery');
  const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

  const remote = (header: string | undefined) => {
    const spanContext = header === undefined ? undefined : parseTraceparent(header);
    return spanContext && trace.setSpanContext(ROOT_CONTEXT, { ...spanContext, isRemote: true });
  };
  const running = (span: OtelSpan): RunningSpan => ({
    set: (attributes) => void span.setAttributes(defined(attributes)),
    fail: (message) => void span.setStatus({ code: SpanStatusCode.ERROR, message }),
  });
  return {
    enabled: true,
    async span({ name, kind = 'internal', attributes, traceparent, parent = currentSpan() }, work) {
      const above = remote(traceparent) ?? parent?.context ?? ROOT_CONTEXT;
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: defined(attributes) }, above);
      const { traceId, spanId } = span.spanContext();
      try {
        return await runIn({ context: trace.setSpan(above, span), traceId, spanId }, () => work(running(span)));
      } catch (error) {
        // its class alone: messages may quote what users wrote
        span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
    current: currentSpan,
    traceparent() {
      const span = currentSpan();
      if (!span) return undefined;
      const { traceFlags = 0 } = trace.getSpanContext(span.context) ?? {};
      return `00-${span.traceId}-${span.spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    },
    [Symbol.asyncDispose]: () => provider.shutdown().catch(() => undefined), // the log has the reason
  };
}

/** Says in the log when a collector stops taking spans: once until it takes some again. */
function telling(exporter: SpanExporter, log: Pick<Log, 'warn'>): SpanExporter {
  let away = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error && !away) log.warn({ err: result.error }, 'spans could not be sent to the collector');
        away = result.error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** Version 00 of W3C Trace Context; anything else begins a trace of its own. */
function parseTraceparent(header: string): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header) ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}
