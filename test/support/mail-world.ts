import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../src/db/index.ts';
import { openEmail } from '../../src/email/index.ts';
import { type Clock, encryptionKey, openVault } from '../../src/kernel/index.ts';
import { localProviders } from './providers.ts';
import { quietLog } from './quiet-log.ts';

const PROGRAM = fileURLToPath(new URL('./mail-process.ts', import.meta.url));
const MAIL_VAULT = openVault(encryptionKey('the key of the tests of mail'));

export interface SenderSetup {
  url: string;
  port: number;
  /** The certificate of the mail server. */
  cert: string;
  leaseSeconds: number;
}
export interface Attempted {
  emailId: string;
  attempt: number;
  outcome: 'sent' | 'retried' | 'bounced';
}

/** The room of mail on a database, sending to the mail server of a test. */
export function openSender({ url, port, cert }: SenderSetup, clock: Clock) {
  const sql = openDatabase({ url, connections: 4 });
  const providers = localProviders({ authorities: [cert] });
  const adapter = providers.resolve('email', 'smtp');
  const values = { host: '127.0.0.1', port: String(port), fromAddress: 'no-reply@rookery.example', fromName: 'Rookery' };
  const mailer = providers.mailer(adapter, providers.fields(adapter, values))!;
  const attempted: Attempted[] = [];
  const log = quietLog();
  const email = openEmail({
    sql,
    clock,
    vault: MAIL_VAULT,
    outlet: { providerId: adapter.id, providerVersion: adapter.version, mailer },
    site: { name: 'Rookery', url: 'https://app.example.com' },
    log,
    events: { mailAttempted: ({ emailId, attempt, outcome }) => void attempted.push({ emailId, attempt, outcome }), mailTold: () => undefined },
    retentionDays: 90,
  });
  return {
    sql,
    email,
    attempted,
    log,
    async [Symbol.asyncDispose]() {
      mailer.close();
      await providers[Symbol.asyncDispose]();
      await sql.end({ timeout: 1 });
    },
  };
}

/** The same in a process of its own, to be killed. */
export async function startSenderProcess(setup: SenderSetup): Promise<{ kill(): Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, JSON.stringify(setup)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.once('data', () => resolve());
    child.once('close', (code) => reject(new Error(`The sender ended with ${code}`)));
  });
  return {
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
