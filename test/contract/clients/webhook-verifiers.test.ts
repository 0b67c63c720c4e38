import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installPeer } from '../../support/peers/peer-install.ts';
import { describePeer } from '../../support/peers/peers.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type Received, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import {
  addWebhook,
  announce,
  openRows,
  SIGNING_KEY,
  startHost,
  tls,
} from '../../support/worlds/publishing/webhooks.ts';

// The files that receivers copy, against one list of vectors and against what the product sends.

interface Delivery {
  secrets: readonly string[];
  deploymentSecret?: string;
  /** Seconds; absent: the clock of the verifier. */
  now?: number;
  headers: Readonly<Record<string, string>>;
  /** Base64. */
  body: string;
}
interface Vector extends Delivery {
  name: string;
  expected: string;
}
/** Answers `ok`, or why the delivery is refused. */
type Verify = (delivery: Delivery) => Promise<string>;

const FOLDER = fileURLToPath(new URL('../../../clients/webhooks/', import.meta.url));
const vectors = JSON.parse(readFileSync(`${FOLDER}vectors.json`, 'utf8')) as Vector[];

/** Runs a program on a body; answers its exit code and what it wrote. */
async function ran(command: string, words: string[], input: Uint8Array, env: NodeJS.ProcessEnv) {
  const child = spawn(command, words, { env: { PATH: process.env['PATH'], ...env } });
  let [written, complaint] = ['', ''];
  child.stdout.on('data', (text: Buffer) => void (written += text.toString()));
  child.stderr.on('data', (text: Buffer) => void (complaint += text.toString()));
  child.stdin.on('error', () => {}); // it may end before it has read all
  child.stdin.end(input);
  const code = await new Promise<number | null>((done, fail) => child.once('close', done).once('error', fail));
  return { code, written: written.trim(), complaint: complaint.trim() };
}

const inNode: Verify = async ({ secrets, deploymentSecret, now, headers, body }) => {
  const { verifyWebhook } = (await import(`${FOLDER}node/verify.mjs`)) as {
    verifyWebhook(delivery: object): { ok: boolean; reason?: string };
  };
  const { ok, reason } = verifyWebhook({
    body: Buffer.from(body, 'base64'),
    headers,
    ...(secrets.length > 0 && { secret: secrets }),
    deploymentSecret,
    now,
  });
  return ok ? 'ok' : reason!;
};

const DRIVER = `
import base64, json, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from verify_webhook import WebhookError, verify_webhook
d = json.load(sys.stdin)
try:
    verify_webhook(base64.b64decode(d["body"]), d["headers"], d["secrets"] or None, d.get("deploymentSecret"), d.get("now"))
    print("ok")
except WebhookError as error:
    print(error.reason)
`;
const inPython: Verify = async (delivery) => {
  const input = Buffer.from(JSON.stringify(delivery));
  const { code, written, complaint } = await ran('python3', ['-c', DRIVER, `${FOLDER}python`], input, {});
  if (code !== 0) throw new Error(complaint);
  return written;
};

const inShell: Verify = async ({ secrets, deploymentSecret, now, headers, body }) => {
  const { code, written, complaint } = await ran('sh', [`${FOLDER}shell/verify.sh`], Buffer.from(body, 'base64'), {
    WEBHOOK_SECRET: secrets.join(' '),
    ...(deploymentSecret !== undefined && { WEBHOOK_DEPLOYMENT_SECRET: deploymentSecret }),
    ...(now !== undefined && { WEBHOOK_NOW: String(now) }),
    ...Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [`HTTP_${name.toUpperCase().replaceAll('-', '_')}`, value]),
    ),
  });
  if (code !== 0 && code !== 1) throw new Error(`${code}: ${complaint}`);
  if (code === 0) expect(written).toBe(headers['webhook-id'] ?? '');
  return code === 0 ? 'ok' : complaint;
};

/** Deliveries of the product, as they arrived. */
const sent: { delivery: Received; secret: string | undefined; former: string | undefined }[] = [];
beforeAll(async () => {
  await using db = await testDatabase();
  await using receiver = await startReceiver({ tls });
  await using host = await startHost({ url: db.url });
  await host.starts();
  const rows = openRows(db.sql);
  const orgId = await rows.org();
  const channelId = await rows.channel(orgId);
  const url = `https://hook.test:${receiver.port}/hook`;
  const next = async () => {
    const count = receiver.ledger.length;
    const post = await rows.post(orgId, channelId, { content: '<p>Grüße 🐦 %s $(id) "quoted" \\ back</p>' });
    await announce(db.sql, orgId, 'post.published', [post]);
    await settles(() => expect(receiver.ledger.length).toBeGreaterThan(count));
    return receiver.ledger.at(-1)!;
  };
  const { id, secret } = await addWebhook(host.webhooks, orgId, url, { secret: true });
  sent.push({ delivery: await next(), secret, former: undefined });
  const body = { name: 'Hook', url, integrations: [], rotateSecret: true };
  const rotated = await host.webhooks.prepareChange(orgId, id, body);
  await host.webhooks.change(orgId, rotated.change);
  sent.push({ delivery: await next(), secret: rotated.secret, former: secret });
});
afterAll(() => void sent.splice(0));

const asVector = ({ headers, body }: Received, secret: string): Delivery => ({
  secrets: [secret],
  deploymentSecret: SIGNING_KEY,
  headers: Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  ),
  body: body.toString('base64'),
});

/** What each verifier must do. */
function cases(verify: Verify): void {
  test.each(vectors.map(({ name, ...vector }): [string, Omit<Vector, 'name'>] => [name, vector]))(
    'judges %s as the list says',
    async (_, vector) => {
      expect(await verify(vector)).toBe(vector.expected);
    },
  );

  test('takes no delivery by an empty secret, with which anybody signs', async () => {
    const body = Buffer.from('{}');
    const signature = `sha256=${createHmac('sha256', '').update(body).digest('hex')}`;
    const headers = { 'x-service-signature': signature };
    const forged = { secrets: [], deploymentSecret: '', headers, body: body.toString('base64') };
    await expect(verify(forged)).rejects.toThrow(/SECRET to verify with|a secret to verify with/);
  });

  test('takes deliveries of the product, before and after a rotation, and refuses them when changed [WH25, WH26]', async () => {
    const [first, second] = sent as [(typeof sent)[0], (typeof sent)[0]];
    expect(String(second.delivery.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(await verify(asVector(first.delivery, first.secret!))).toBe('ok');
    for (const secret of [second.secret!, second.former!])
      expect(await verify(asVector(second.delivery, secret))).toBe('ok');
    const changed = { ...first.delivery, body: Buffer.concat([first.delivery.body, Buffer.from(' ')]) };
    expect(await verify(asVector(changed, first.secret!))).toBe('wrong_signature');
    expect(await verify(asVector(first.delivery, second.secret!))).toBe('wrong_signature');
    const seconds = Number(first.delivery.headers['webhook-timestamp']);
    const late = { ...asVector(first.delivery, first.secret!), now: seconds + 301 };
    expect(await verify(late)).toBe('outside_tolerance');
  });
}

const found = (command: string, word: string) => async () => {
  await promisify(execFile)(command, [word]).catch(() =>
    Promise.reject(new Error(`${command} is not on this machine`)),
  );
  return { start: () => Promise.reject(new Error('it is no server')) };
};
describe('the verifier for Node', () => cases(inNode));
await describePeer('python3, for the verifier in Python', found('python3', '--version'), () => cases(inPython));
await describePeer('openssl, for the verifier for shells', found('openssl', 'version'), () => {
  cases(inShell);

  test('computes the same signatures as the list', async () => {
    const own = vectors.filter(({ expected, secrets }) => expected === 'ok' && secrets.length === 1);
    for (const { secrets, headers, body } of own) {
      const key = Buffer.from(secrets[0]!.slice('whsec_'.length), 'base64').toString('hex');
      const { stdout } = await promisify(execFile)('sh', [
        '-c',
        '{ printf %s "$1"; printf %s "$2" | openssl base64 -d -A; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$3" -binary | openssl base64 -A',
        'sh',
        `${headers['webhook-id']}.${headers['webhook-timestamp']}.`,
        body,
        key,
      ]);
      expect(headers['webhook-signature']!.split(' ')).toContain(`v1,${stdout}`);
    }
    expect(own.length).toBeGreaterThan(8);
  });
});

let folder = '';
const judge = async () => {
  folder = await installPeer('webhooks');
  return { start: () => Promise.reject(new Error('it is no server')) };
};
await describePeer('standardwebhooks', judge, () => {
  interface Asked {
    secret: string;
    body: string;
    id?: string;
    seconds?: number;
    headers?: object;
  }
  const theirs = async (asked: Asked[]): Promise<unknown[]> => {
    const input = Buffer.from(JSON.stringify(asked));
    const { code, written, complaint } = await ran(process.execPath, [`${folder}/judge.mjs`], input, {});
    if (code !== 0) throw new Error(complaint);
    return JSON.parse(written) as unknown[];
  };
  const textOf = ({ body }: Delivery) => Buffer.from(body, 'base64').toString();

  test('signs as the list says, where a body is text', async () => {
    const ofText = vectors.filter(
      (vector) =>
        vector.expected === 'ok' &&
        vector.secrets.length === 1 &&
        !vector.headers['webhook-timestamp']!.startsWith('0') &&
        Buffer.from(textOf(vector)).toString('base64') === vector.body,
    );
    const signed = await theirs(
      ofText.map((vector) => ({
        secret: vector.secrets[0]!,
        id: vector.headers['webhook-id']!,
        seconds: Number(vector.headers['webhook-timestamp']),
        body: textOf(vector),
      })),
    );
    for (const [n, { headers }] of ofText.entries())
      expect(headers['webhook-signature']!.split(' ')).toContain(signed[n]);
    expect(ofText.length).toBeGreaterThan(6);
  });

  test('takes deliveries of the product and refuses one that was changed, and we take what it signs [WH25]', async () => {
    const deliveries = sent.map(({ delivery, secret }) => ({
      secret: secret!,
      headers: delivery.headers,
      body: delivery.body.toString(),
    }));
    const [first, second, changed] = await theirs([
      ...deliveries,
      { ...deliveries[0]!, body: `${deliveries[0]!.body} ` },
    ]);
    expect([first, second]).toEqual([{ event: 'post.published' }, { event: 'post.published' }]);
    expect(changed).toEqual({ error: expect.stringMatching(/signature/) });

    const secret = `whsec_${createHmac('sha256', 'x').update('y').digest('base64')}`;
    const now = 1_788_256_801;
    const [signature] = await theirs([{ secret, id: 'msg_1', seconds: now, body: '{"ä":1}' }]);
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': `${now}`, 'webhook-signature': String(signature) };
    const body = Buffer.from('{"ä":1}').toString('base64');
    expect(await inNode({ secrets: [secret], now, headers, body })).toBe('ok');
  });
});
