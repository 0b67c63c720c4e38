import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newId } from '../../../../src/platform/kernel/index.ts';
import type { Address, Reminder } from '../../../../src/platform/actor-runtime/index.ts';
import type { ChildSetup, Command, HostSaid } from '../actor-host.ts';

const PROGRAM = fileURLToPath(new URL('../actor-host.ts', import.meta.url));
type Unnumbered<C> = C extends unknown ? Omit<C, 'id'> : never;

/** A host in a process of its own. */
export interface HostProcess extends AsyncDisposable {
  readonly pid: number;
  readonly incarnation: string;
  invoke(to: Address, method: string, input: unknown): Promise<unknown>;
  remind(reminders: readonly Reminder[]): Promise<void>;
  heartbeatAgeMs(): Promise<number>;
  signal(name: NodeJS.Signals): void;
  /** Ends with the exit code, or null after a signal. */
  readonly exited: Promise<number | null>;
}

/** Starts one and waits until it hosts; rejects with its own words when it refuses. */
export async function startHostProcess(given: Omit<ChildSetup, 'incarnation'>): Promise<HostProcess> {
  const setup: ChildSetup = { ...given, incarnation: newId() };
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, JSON.stringify(setup)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  let ids = 0;

  await new Promise<void>((resolve, reject) => {
    void exited.then((code) => reject(new Error(`The host ended with ${code}`)));
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const said = JSON.parse(line) as HostSaid;
      if ('event' in said) {
        if (said.event === 'ready') resolve();
        if (said.event === 'refused') reject(new Error(said.message));
        return;
      }
      const call = waiting.get(said.reply);
      waiting.delete(said.reply);
      if (said.error) call?.reject(Object.assign(new Error(said.error.message), said.error));
      else call?.resolve(said.value);
    });
  });
  child.once('close', () => {
    // after the last line it said
    for (const { reject } of waiting.values()) reject(new Error('The host ended'));
  });

  const send = (command: Unnumbered<Command>) =>
    new Promise<unknown>((resolve, reject) => {
      const id = ++ids;
      waiting.set(id, { resolve, reject });
      child.stdin!.write(`${JSON.stringify({ ...command, id })}\n`);
    });
  return {
    pid: child.pid!,
    incarnation: setup.incarnation,
    exited,
    invoke: (to, method, input) => send({ do: 'invoke', to, method, input }),
    remind: async (reminders) =>
      void (await send({ do: 'remind', reminders: reminders.map((one) => ({ ...one, due: one.due.toISOString() })) })),
    heartbeatAgeMs: async () => Number(await send({ do: 'heartbeatAge' })),
    signal: (name) => void child.kill(name),
    async [Symbol.asyncDispose]() {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
