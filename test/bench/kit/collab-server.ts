import { fileURLToPath } from 'node:url';
import type { Place } from '../studio/processes/collab-clients.ts';
import type { Child } from './child.ts';
import type { Figures } from './figures.ts';
import type { World } from './world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Updates of each document. */
export const PER_SECOND = 10;

/** Documents that are open, and how many have each open. */
export interface Shape {
  documents: number;
  /** With its writer. */
  readers: number;
}
interface Use {
  cpuMs: number;
  rssMib: number;
}
/** What serves documents: the first process knows their places, and others may stand beside it. */
export interface Served {
  processes: readonly [Child, ...Child[]];
  /** The address of the other process. */
  beside?: string;
}
/** Processes that serve documents, and the clients that write them there. */
export class Server {
  readonly #world: World;
  readonly #served: Served;
  readonly #clients: Child;

  constructor(world: World, served: Served, clients: Child) {
    [this.#world, this.#served, this.#clients] = [world, served, clients];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#served.processes.toReversed()) await one[Symbol.asyncDispose]();
  }

  /** Of all processes together. */
  async use(isCollected = false): Promise<Use> {
    const uses = await Promise.all(
      this.#served.processes.map((one) => one.ask({ do: 'use', isCollected }) as Promise<Use>),
    );
    const sum = (of: (use: Use) => number) => uses.reduce((total, use) => total + of(use), 0);
    return { cpuMs: sum(({ cpuMs }) => cpuMs), rssMib: sum(({ rssMib }) => rssMib) };
  }

  async with<T>(shape: Shape, work: (openedMs: number) => Promise<T>): Promise<T> {
    const { processes, beside } = this.#served;
    const places = (await processes[0].ask({ do: 'places', ...shape, beside })) as Place[][];
    const { ms } = (await this.#clients.ask({ do: 'open', places })) as { ms: number };
    try {
      return await work(ms);
    } finally {
      await this.#clients.ask({ do: 'close' });
    }
  }

  /** Writes into all documents that are open: deliveries to readers for a second of processor time, and how late. */
  async write(name: string, ms: number): Promise<Figures> {
    const [before, postgres] = [await this.use(), this.#world.postgresCpuMs()];
    const said = (await this.#clients.ask({ do: 'write', perSecond: PER_SECOND, ms })) as Record<string, number>;
    const cpuMs = (await this.use()).cpuMs - before.cpuMs;
    return {
      [`${name}_per_cpu_s`]: said['deliveries']! / (cpuMs / 1_000),
      [`${name}_p50_ms`]: said['p50']!,
      [`${name}_p99_ms`]: said['p99']!,
      [`${name}_cpu_ms`]: cpuMs,
      [`${name}_postgres_cpu_ms`]: this.#world.postgresCpuMs() - postgres,
    };
  }

  async reconnect(): Promise<Figures> {
    const { ms } = (await this.#clients.ask({ do: 'reopen' })) as { ms: number };
    return { reconnect_all_ms: ms };
  }

  /** Memory of a connection that nobody types on, with its part of the document; of a process that has just begun. */
  async idle(warm: Shape, shape: Shape): Promise<Figures> {
    await this.with(warm, async () => undefined); // what the first connections bring with them is not theirs
    const before = await this.use(true);
    return this.with(shape, async (openedMs) => {
      const { rssMib } = await this.use(true);
      const mib = Math.max(rssMib - before.rssMib, 0.1);
      return { idle_kb: (mib * 1_024) / (shape.documents * shape.readers), idle_mib: rssMib, open_ms: openedMs };
    });
  }
}

/** Two processes over Redis, each with every second reader of each document. */
export async function twoProcesses(world: World, settings: { databaseUrl: string }, redisUrl: string): Promise<Served> {
  const first = world.script(path('../studio/processes/collab-host.ts'), { ...settings, redisUrl });
  const { url: actorsUrl } = (await first.ask({ do: 'lend' })) as { url: string };
  const { databaseUrl } = settings;
  const second = world.script(path('../studio/processes/collab-beside.ts'), { databaseUrl, redisUrl, actorsUrl });
  const { url: beside } = (await second.ask({ do: 'address' })) as { url: string };
  return { processes: [first, second], beside };
}
