import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { localProviders } from '../../../test/support/worlds/providers.ts';
import { AppError } from '../kernel/index.ts';
import { adapters } from '../../providers/registry/registry.gen.ts';
import { keepOutOfLogs, redact, redactText } from './redact.ts';
import { openEvents } from './events.ts';
import { openLogs } from './logger.ts';
import { openMetrics } from './metrics.ts';

const CANARY = 'canary-4711-do-not-print';
function logged(level = 'debug', format: 'json' | 'plain' = 'json') {
  const lines: string[] = [];
  return { lines, log: openLogs({ level, format, write: (line) => lines.push(line) }).of('posts') };
}

describe('redaction of secrets in the log', () => {
  const providers = localProviders(); // which says what its adapters declare
  afterAll(async () => providers[Symbol.asyncDispose]());
  const fields = adapters.flatMap((adapter) => {
    const { credentials, setup, login } = adapter as unknown as {
      credentials?: Record<string, { secret: boolean }>;
      setup?: { fields: Record<string, { secret: boolean }> };
      login?: { fields?: Record<string, { secret: boolean }> };
    };
    return Object.entries({ ...credentials, ...setup?.fields, ...login?.fields })
      .filter(([, { secret }]) => secret)
      .map(([name]) => [`${adapter.domain}/${adapter.id}`, name] as const);
  });
  test('adapters declare secret fields, some of which are not secret by name', () =>
    expect(fields).toEqual(
      expect.arrayContaining([
        ['social/bluesky', 'password'],
        ['vpn/mullvad', 'accountNumber'],
      ]),
    ));
  test('a declared secret name is redacted from then on, as a whole name', () => {
    const detail = { pebbleStone: CANARY, Pebble_Stone: CANARY, pebbleStoneId: 'stays' };
    expect(JSON.stringify(redact(detail))).toContain(CANARY);
    keepOutOfLogs(['pebbleStone']);
    expect(redact(detail)).toEqual({ pebbleStone: '[redacted]', Pebble_Stone: '[redacted]', pebbleStoneId: 'stays' });
  });
  test.each(fields)('the secret field of %s is redacted: %s', (_, name) => {
    const { lines, log } = logged();
    log.info({ [name]: CANARY, deeper: { credentials: { [name]: CANARY }, list: [{ [name]: CANARY }] } }, 'a line');
    expect(lines.join()).not.toContain(CANARY);
  });

  test.each([
    'password',
    'Authorization',
    'cookie',
    'set-cookie',
    'auth',
    'x-csrf-token',
    'client_secret',
    'refreshToken',
    'access_token',
    'apiKey',
    'JWT_SECRET',
    'ENCRYPTION_KEY',
    'webhookSigningSecret',
    'privateKey',
    'DATABASE_URL',
    'X-Service-Signature',
  ])('the value of %s is redacted', (name) =>
    expect(JSON.stringify(redact({ headers: { [name]: CANARY } }))).not.toContain(CANARY),
  );

  test.each([
    ['pm_live_AbCd0123456789AbCd0123456789AbCd0123456789A'],
    ['pos_0123456789abcdef'],
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
    [`v2:${Buffer.alloc(40, 1).toString('base64')}`],
    ['Bearer abcdef123456'],
    ['https://user:hunter2@example.com/x'],
    ['https://a.example/cb?code=abcdef&x=1'],
    ['nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5'],
  ])('%s is redacted inside a text, a message, an error and its cause', (secret) => {
    const tail = secret.slice(-10);
    const { lines, log } = logged();
    const error = new Error(`failed with ${secret}`, { cause: new Error(secret) });
    log.error({ err: error, body: `x ${secret} y` }, `it was ${secret}`);
    expect(redactText(`before ${secret} after`)).toMatch(/^before .*after$/);
    if (!secret.includes('@example.com') && !secret.includes('&x=1')) expect(lines.join()).not.toContain(tail);
    expect(lines.join()).not.toMatch(/hunter2|abcdef/);
  });

  test('ids, codes, counts, booleans, message and stack of an error are kept', () => {
    const { lines, log } = logged();
    log.warn(
      {
        postId: 'p1',
        attempt: 2,
        hasPassword: true,
        idempotencyKey: 'k',
        status: 429,
        err: new AppError('busy', 'Too much at once', { retryAfterMs: 5 }),
      },
      'a line',
    );
    const line = JSON.parse(lines[0]!) as Record<string, unknown>;
    expect(line).toMatchObject({
      level: 'warn',
      room: 'posts',
      message: 'a line',
      postId: 'p1',
      attempt: 2,
      hasPassword: true,
      idempotencyKey: 'k',
      status: 429,
      err: { type: 'AppError', code: 'busy', message: 'Too much at once', extra: { retryAfterMs: 5 } },
    });
    expect((line['err'] as { stack: string }).stack).toContain('telemetry.test');
    expect(Date.parse(String(line['time']))).not.toBeNaN();
  });

  test('endless and circular values end', () => {
    const circle: Record<string, unknown> = { big: 10n, bytes: Buffer.alloc(5) };
    circle['self'] = circle;
    expect(JSON.stringify(redact(circle))).toContain('[deeper]');
  });
});

describe('log lines', () => {
  test('a line below the level is not written', () => {
    const { lines, log } = logged('warn');
    log.info({}, 'no');
    log.warn({}, 'yes');
    expect(lines).toHaveLength(1);
  });

  test('a pretty line begins with time, level and room, and says what failed', () => {
    const { lines, log } = logged('info', 'plain');
    log.warn(
      { slots: 3, name: 'x', err: new Error('gone', { cause: new Error('no route') }) },
      'slots could not be prolonged',
    );
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN  posts    slots could not be prolonged  slots=3  name=x\n {4}gone\n {4}because: no route\n$/,
    );
  });
});

describe('log injection', () => {
  // at an hour that no clock shows
  const forged = 'x\n2026-01-01T00:00:00.000Z\r\n25:00:00.000 ERROR start     all is lost\u001b[2K\u202e\u2028';
  test.each(['json', 'plain'] as const)('foreign input in %s stays within its own entry', (format) => {
    const lines: string[] = [];
    const log = openLogs({ level: 'info', format, write: (line) => lines.push(line) }).of('http');
    log.info(
      { userAgent: forged, nested: { name: forged }, err: new Error(forged, { cause: new Error(forged) }) },
      'a request was refused',
    );
    log.error({ err: new Error(forged) }, 'a request failed');
    expect(lines).toHaveLength(2);
    for (const line of lines.join('').split(/[\n\r\u2028]/)) expect(line).not.toMatch(/^(2026|25:00)/);
    if (format === 'plain') expect(lines.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Bidi_Control}]/u);
  });
});

describe('metrics', () => {
  test('metrics are presented in Prometheus form, including collected ones', async () => {
    const metrics = openMetrics({ processMetrics: false });
    metrics.requests.inc({ method: 'get', route: '/posts/:id', status: '200' });
    let turns = 7;
    metrics.total('host_turns_total', 'Turns.', () => turns);
    metrics.gauge('hosts', 'Hosts.', async () => ({ alive: 2, silent: 1 }), 'state');
    turns = 9;
    const text = await metrics.text();
    expect(text).toContain('rookery_http_requests_total{method="get",route="/posts/:id",status="200"} 1');
    expect(text).toContain('rookery_host_turns_total 9');
    expect(text).toContain('rookery_hosts{state="silent"} 1');
    expect(await metrics.text()).toContain('rookery_host_turns_total 9');
  });

  test('the process reports itself, and how late its event loop was since the last time', async () => {
    const metrics = openMetrics();
    const lags = async () => [...(await metrics.text()).matchAll(/^rookery_nodejs_eventloop_lag_(.*) (.*)$/gm)];
    expect((await lags()).map(([, name]) => name)).toEqual(['mean_seconds', 'p99_seconds', 'max_seconds']);
    await sleep(250);
    const end = performance.now() + 400;
    while (performance.now() < end);
    await sleep(150);
    const [, p99, max] = await lags();
    expect(Number(p99![2])).toBeGreaterThan(0.25);
    expect(Number(max![2])).toBeGreaterThan(0.25);
    expect(await metrics.text()).toContain('rookery_process_resident_memory_bytes');
  });

  test('an event is a counter without ids and a line with them', async () => {
    const { lines, log } = logged();
    const metrics = openMetrics({ processMetrics: false });
    const events = openEvents(log, metrics);
    events.publishCalled({ provider: 'sandbox', latenessMs: 42, durationMs: 7 });
    const post = {
      orgId: 'org-1',
      channelId: 'channel-1',
      postId: 'post-1',
      provider: 'sandbox',
      attempt: 1,
      reason: null,
    };
    events.attemptSettled({ ...post, outcome: 'lost', asked: false, state: 'QUEUE', detail: 'unconfirmed' });
    events.attemptSettled({ ...post, outcome: 'published', asked: true, state: 'PUBLISHED', detail: null });
    events.channelNeedsLogin({ orgId: 'org-1', channelId: 'channel-1', reason: 'gone' });
    events.webhookAttempted({
      orgId: 'org-1',
      webhookId: 'hook-1',
      event: 'post.published',
      attempt: 1,
      status: 503,
      durationMs: 3,
      error: 'HTTP 503',
    });
    const text = await metrics.text();
    expect(text).toContain('rookery_publishes_total{provider="sandbox",outcome="lost"} 1');
    expect(text).toContain('rookery_look_ups_total{provider="sandbox",outcome="published"} 1');
    expect(text).toContain('rookery_publish_seconds_count{provider="sandbox"} 1');
    expect(text).toContain('rookery_events_total{event="channel.needs-login"} 1');
    expect(text).toContain('rookery_webhook_attempts_total{event="post.published",outcome="5xx"} 1');
    expect(text).toMatch(/rookery_post_lateness_seconds_bucket\{le="0.05"\} 1/);
    expect(text).not.toMatch(/org-1|post-1|channel-1|hook-1/);
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', event: 'post.attempted', postId: 'post-1', outcome: 'lost' },
      { level: 'debug', event: 'post.looked-up', postId: 'post-1', outcome: 'published' },
      { level: 'warn', event: 'channel.needs-login', channelId: 'channel-1' },
      { level: 'debug', event: 'webhook.attempted', topic: 'post.published', status: 503 },
    ]);
  });

  test('a collector that fails has no number, and the others are presented all the same', async () => {
    const metrics = openMetrics({ processMetrics: false });
    metrics.gauge('away', 'Away.', () => Promise.reject(new Error('away')));
    metrics.gauge(
      'broken',
      'Broken.',
      () => {
        throw new Error('broken');
      },
      'type',
    );
    metrics.gauge('there', 'There.', () => 3);
    const text = await metrics.text();
    expect(text).toContain('rookery_there 3');
    expect(text).not.toMatch(/^rookery_(away|broken)/m);
  });
});
