import { join } from 'node:path';
import { z } from 'zod';
import { environment, keptSecret, readConfig } from '../../platform/config/index.ts';
import { type Clock, systemClock } from '../../platform/kernel/index.ts';
import { call } from './call.ts';
import { Problem, reason, signIn, signOff } from './demo-account.ts';
import { type ReceivedDelivery, isServiceSigned, isSignedWith, openReceiver } from './receiver.ts';
import { runningAddress, StartError } from './running.ts';

const DUE_IN_MS = 5_000;
const PUBLISHED_WITHIN_MS = 30_000;
const DELIVERED_WITHIN_MS = 20_000;
const CHANNEL = 'demo-channel';

const Keys = z.array(z.object({ id: z.string(), prefix: z.string(), revokedAt: z.string().nullable() }));
const MadeKey = z.object({ plaintext: z.string(), prefix: z.string() });
const Catalog = z.array(z.object({ providerId: z.string() }));
const Channels = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    identifier: z.string(),
    disabled: z.boolean(),
    refreshNeeded: z.boolean(),
  }),
);
const Channel = z.object({ id: z.string(), name: z.string() });
const Webhook = z.object({ id: z.string(), secret: z.string() });
const Created = z.array(z.object({ postId: z.string() })).min(1);
const Post = z.object({
  state: z.string(),
  detail: z.string().nullish(),
  publishDate: z.string(),
  releaseURL: z.string().nullish(),
  error: z.string().nullish(),
});

/** Where the demo works and what it says. */
interface DemoOptions {
  base: string;
  dataFolder: string;
  /** Signs deliveries for the whole deployment; undefined: not known here. */
  serviceSecret: string | undefined;
  clock: Clock;
  say: (line: string) => void;
}

/** `npm run demo [-- http://host:port]`: answers the exit code. */
export async function demo(args: readonly string[], say: (line: string) => void): Promise<number> {
  const source = environment();
  // reads only: the service makes its own secret
  const { config } = readConfig({ ...source, JWT_SECRET: source['JWT_SECRET'] || 'x'.repeat(32) });
  const { dataFolder } = config.database;
  const local = await runningAddress(dataFolder);
  const base = args[0] ?? local ?? `http://127.0.0.1:${config.http.port || 3000}`;
  const given = source['WEBHOOK_SIGNING_SECRET']?.trim() || source['JWT_SECRET']?.trim();
  try {
    await runDemo({ base, dataFolder, serviceSecret: given || keptSecret(dataFolder), clock: systemClock, say });
    return 0;
  } catch (error) {
    say(
      `\n  FAILED  ${error instanceof StartError ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    return 1;
  }
}

/** A run of the demo against one service. */
interface Run {
  root: string;
  clock: Clock;
  serviceSecret: string | undefined;
  /** Says that a step is done. */
  step: (what: string, detail?: string) => void;
  /** Headers of the session of the demo, and of its API key. */
  session: Record<string, string>;
  api: Record<string, string>;
}

/** The main job against a running service, through its API only. Throws with the reason when a step does not hold. */
async function runDemo({ base, dataFolder, serviceSecret, clock, say }: DemoOptions): Promise<void> {
  const root = base.replace(/(?<!\/)\/+$/, '');
  const started = clock.monotonic();
  const step = (what: string, detail = '') =>
    say(
      `  ${((clock.monotonic() - started) / 1_000).toFixed(1).padStart(5)} s  ${what.padEnd(22)} ${detail}`.trimEnd(),
    );

  say(`\nRookery demo against ${root}\n`);
  await checkLive(root);

  const file = join(dataFolder, 'demo.json');
  const { email, token, made } = await signIn(root, file);
  step(made ? 'signed up' : 'logged in', `${email} (password in ${file})`);
  const session = { auth: token };
  await checkSandbox(root, session, () => (made ? signOff(root, file, session) : ''));

  const key = await ask(root, 'The API key', MadeKey, 'POST', '/user/api-keys', {
    headers: session,
    body: { name: 'demo' },
  });
  step('made an API key', `${key.prefix}…, shown once, used from here on`);
  try {
    const run = { root, clock, serviceSecret, step, session, api: { authorization: key.plaintext } };
    await publishAndHear(run, await channelOf(run));
  } finally {
    await revokeKey(root, session, key.prefix);
  }
  say(
    '\n  All of it worked. The post is in the ledger of the sandbox; the key and the webhook of the demo are gone again.\n',
  );
}

/** Calls the service, whose answer has to be of a form that a client can use. */
async function ask<S extends z.ZodType>(
  root: string,
  what: string,
  schema: S,
  method: string,
  path: string,
  options: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<z.output<S>> {
  const answer = await call(method, root + path, options);
  const read = answer.status < 300 ? schema.safeParse(answer.body) : undefined;
  if (read?.success) return read.data;
  throw new StartError(
    `${what}: ${method} ${path} answered ${answer.status}${read ? ' with a body that a client cannot use' : ''}: ${reason(answer)}`,
  );
}

async function checkLive(root: string): Promise<void> {
  const live = await call('GET', `${root}/health/live`, { timeoutMs: 5_000 }).catch((cause: Error) => cause);
  if (live instanceof Error || live.status !== 200)
    throw new StartError(
      `Nothing that can serve answers at ${root} (${live instanceof Error ? live.message || (live as NodeJS.ErrnoException).code : `status ${live.status}`}). Start the service first: npm start. Or name its address: npm run demo -- http://127.0.0.1:3000`,
    );
}

/** Refuses to go on without the network on which the demo publishes; `undo` takes back what was made, and tells of it. */
async function checkSandbox(
  root: string,
  headers: Record<string, string>,
  undo: () => Promise<string> | string,
): Promise<void> {
  const networks = await ask(root, 'The catalog', Catalog, 'GET', '/providers/catalog?domain=social', { headers });
  if (!networks.some(({ providerId }) => providerId === 'sandbox'))
    throw new StartError(
      `The network sandbox, on which the demo publishes, is off here, as it is in production: start the service with SANDBOX_ENABLED=true.${await undo()}`,
    );
}

/** The channel of an earlier run, or a new one. */
async function channelOf({ root, step, session, api }: Run): Promise<z.output<typeof Channel>> {
  const known = (await ask(root, 'The channels', Channels, 'GET', '/public/v1/integrations', { headers: api })).find(
    (one) => one.identifier === 'sandbox' && one.name === CHANNEL && !one.disabled && !one.refreshNeeded,
  );
  const channel =
    known ??
    (await ask(root, 'The sandbox channel', Channel, 'POST', '/integrations/social-connect/sandbox', {
      headers: session,
      body: { fields: { name: CHANNEL }, allowPreview: true },
    }));
  step(
    known ? 'found the channel' : 'connected a channel',
    `"${channel.name}" on the network sandbox, which publishes nowhere`,
  );
  return channel;
}

/** Publishes a post on time, and hears of it by a webhook whose signatures hold. */
async function publishAndHear(run: Run, channel: z.output<typeof Channel>): Promise<void> {
  const { root, step, session } = run;
  await using receiver = await openReceiver();
  const webhook = await addWebhook(root, session, receiver.url, channel.id);
  step('made a webhook', `to an own receiver at ${receiver.url}`);
  try {
    const postId = await schedule(run, channel);
    const delivery = await receiver.next('post.published', DELIVERED_WITHIN_MS);
    if (!delivery)
      throw new StartError(
        `No webhook came within ${DELIVERED_WITHIN_MS / 1_000} s. GET /webhooks/${webhook.id}/deliveries says why.`,
      );
    step(
      'webhook received',
      `post.published, ${delivery.body.length} bytes, webhook-id ${String(delivery.headers['webhook-id'])}`,
    );
    judge(delivery, postId, webhook.secret, run.serviceSecret, step);
  } finally {
    // its receiver ends with the demo
    await call('DELETE', `${root}/webhooks/${webhook.id}`, { headers: session }).catch(() => undefined);
  }
}

/** Schedules a post and waits until it is published; answers its id. */
async function schedule({ root, clock, step, api }: Run, channel: z.output<typeof Channel>): Promise<string> {
  const due = clock.in(DUE_IN_MS);
  const body = {
    type: 'schedule',
    date: due.toISOString(),
    shortLink: false,
    tags: [],
    posts: [
      {
        integration: { id: channel.id },
        value: [{ content: `<p>Hello from the demo at ${due.toISOString()}</p>`, image: [] }],
        settings: {},
      },
    ],
  };
  const [created] = await ask(root, 'The post', Created, 'POST', '/public/v1/posts', { headers: api, body });
  const { postId } = created!;
  step('scheduled a post', `${postId}, due at ${due.toISOString()}`);

  const post = await published(
    () => ask(root, 'The post', Post, 'GET', `/public/v1/posts/${postId}`, { headers: api }),
    due,
    clock,
    step,
  );
  step('published', post.releaseURL ?? 'without an address');
  return postId;
}

/** Revokes the key of this run; what fails is left, for the demo has its outcome. */
async function revokeKey(root: string, headers: Record<string, string>, made: string): Promise<void> {
  const keys = Keys.safeParse((await call('GET', `${root}/user/api-keys`, { headers }).catch(() => undefined))?.body);
  const own = keys.success
    ? keys.data.find(({ prefix, revokedAt }) => prefix === made && revokedAt === null)
    : undefined;
  if (own) await call('DELETE', `${root}/user/api-keys/${own.id}`, { headers }).catch(() => undefined);
}

async function addWebhook(
  root: string,
  headers: Record<string, string>,
  url: string,
  channelId: string,
): Promise<z.output<typeof Webhook>> {
  const answer = await call('POST', `${root}/webhooks`, {
    headers,
    body: { name: 'demo', url, integrations: [{ id: channelId }], secret: true },
  });
  const webhook = Webhook.safeParse(answer.body);
  if (answer.status < 300 && webhook.success) return webhook.data;
  const { code } = Problem.catch({}).parse(answer.body);
  if (code === 'blocked_url')
    throw new StartError(
      `The service may not call ${url}: start it with SSRF_ALLOWED_PRIVATE_CIDRS=127.0.0.1/32 for this demo (outside production that is so when it listens on loopback).`,
    );
  throw new StartError(`The webhook: POST /webhooks answered ${answer.status}: ${reason(answer)}`);
}

async function published(
  read: () => Promise<z.output<typeof Post>>,
  due: Date,
  clock: Clock,
  step: Run['step'],
): Promise<z.output<typeof Post>> {
  let told = '';
  for (;;) {
    const post = await read();
    if (post.state === 'PUBLISHED') return post;
    if (post.state === 'ERROR')
      throw new StartError(`The post was not published: ${post.error ?? post.detail ?? 'no reason given'}`);
    const left = due.getTime() - clock.now().getTime();
    if (left < -PUBLISHED_WITHIN_MS)
      throw new StartError(
        `The post was not published within ${PUBLISHED_WITHIN_MS / 1_000} s of its date; its state is ${post.state}, ${post.detail ?? 'no detail'}.`,
      );
    const now = left > 0 ? `due in ${Math.ceil(left / 1_000)} s` : (post.detail ?? 'due');
    if (now !== told) step('waiting', now);
    told = now;
    await clock.sleep(left > 1_200 ? 1_000 : 100);
  }
}

/** The content is about our post, and both signatures are what their secrets make of these very bytes. */
function judge(
  delivery: ReceivedDelivery,
  postId: string,
  secret: string,
  serviceSecret: string | undefined,
  step: Run['step'],
): void {
  const { data } = z
    .object({ data: z.object({ postId: z.string() }) })
    .parse(JSON.parse(delivery.body.toString('utf8')));
  if (data.postId !== postId)
    throw new StartError(`The webhook was about the post ${data.postId} and not about ${postId}`);
  if (!isSignedWith(delivery, secret))
    throw new StartError(
      'The header webhook-signature does not fit the bytes that were received and the secret of the webhook',
    );
  step('signature verified', 'webhook-signature, with the secret of this webhook');
  const changed = { ...delivery, body: Buffer.concat([delivery.body, Buffer.from(' ')]) };
  if (isSignedWith(changed, secret)) throw new StartError('A changed body has the same signature');
  if (!/^sha256=[0-9a-f]{64}$/.test(String(delivery.headers['x-service-signature'])))
    throw new StartError('The delivery has no header X-Service-Signature of the form sha256=<hex>');
  if (serviceSecret !== undefined && isServiceSigned(delivery, serviceSecret))
    step('signature verified', 'X-Service-Signature, with the secret of the deployment');
  else step('not checked', 'X-Service-Signature: the secret of this deployment is not known here');
}
