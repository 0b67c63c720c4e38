import { fileURLToPath } from 'node:url';
import type { LoadRequest } from '../request-load.ts';
import type { Figures } from './figures.ts';
import { cpuMs } from './processes.ts';
import type { World } from './world.ts';

/** A server that requests are sent to, and the processes whose time it takes. */
export interface Target {
  readonly url: string;
  readonly pids: readonly number[];
}
/** What came of sending requests as fast as they are answered. */
export interface Answers {
  readonly answered: number;
  readonly perSecond: number;
  /** Of each answer: the time of the processes, and the bytes. */
  readonly cpuMs: number;
  readonly bytes: number;
}
export interface RequestLoad {
  /** Sends the requests in turn, `callers` at a time, for so long. Rejects when one is refused. */
  closed(target: Target, requests: readonly LoadRequest[], ms: number): Promise<Answers>;
  /** The same at a fixed rate: `read_p50_ms` and so on. */
  open(target: Target, requests: readonly LoadRequest[], ms: number, perSecond: number): Promise<Figures>;
}

/** Requests from a process of their own. */
export function openRequestLoad(world: Pick<World, 'script'>, callers: number): RequestLoad {
  const child = world.script(fileURLToPath(new URL('../request-load.ts', import.meta.url)), {});
  return {
    async closed({ url, pids }, requests, ms) {
      const before = cpuMs(pids);
      const { answered, refused, bytes, took, failure } = (await child.ask({
        do: 'closed',
        url,
        requests,
        callers,
        ms,
      })) as {
        answered: number;
        refused: number;
        bytes: number;
        took: number;
        failure?: string;
      };
      if (refused > 0) throw new Error(`${url} refused ${refused} requests: ${failure}`);
      return {
        answered,
        perSecond: (answered * 1_000) / took,
        cpuMs: (cpuMs(pids) - before) / answered,
        bytes: bytes / answered,
      };
    },
    open: ({ url }, requests, ms, perSecond) =>
      child.ask({ do: 'open', url, requests, callers, ms, perSecond }) as Promise<Figures>,
  };
}
