import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { noEngine } from '../app.ts';
import { openPublishing } from '../publishing/world.ts';
import { mailEventsOf } from '../quiet-log.ts';

const PROGRAM = fileURLToPath(new URL('../../processes/scripts/mail-process.ts', import.meta.url));

export interface SenderSetup {
  url: string;
  port: number;
  /** The certificate of the mail server. */
  cert: string;
  leaseSeconds: number;
}

/** The product on a database, sending to the mail server of a test once its sender is started. */
export async function openSender({ url, port, cert }: SenderSetup) {
  const env = {
    FRONTEND_URL: 'https://app.example.com',
    EMAIL_PROVIDER: 'smtp',
    EMAIL_SMTP_HOST: '127.0.0.1',
    EMAIL_SMTP_PORT: String(port),
    EMAIL_FROM_ADDRESS: 'no-reply@rookery.example',
    EMAIL_FROM_NAME: 'Rookery',
  };
  // Several of these share a database, which the embedded engine holds alone; sending asks no actor.
  const context = await openPublishing({ url, env, engine: noEngine, wire: { authorities: [cert] }, connections: 4 });
  return {
    ...context,
    /** The attempts that have ended, in order. */
    attempted: () =>
      mailEventsOf(context.log).flatMap(({ attempt, outcome }) =>
        outcome === undefined ? [] : [{ attempt, outcome }],
      ),
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
