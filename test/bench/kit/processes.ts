import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS = Number(execFileSync('getconf', ['CLK_TCK']).toString());

/** The fields of `/proc/<pid>/stat` after the name, or undefined when the process is gone. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** User and system time of these processes, in milliseconds. */
export const cpuMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const stat = statOf(pid);
    return sum + (stat ? ((Number(stat[11]) + Number(stat[12])) * 1_000) / TICKS : 0);
  }, 0);

/**
 * The processor time of a server with a process for each connection, in milliseconds: its processes, and those that
 * have ended.
 */
export function serverCpuMs(pid: number): number {
  const ended = statOf(pid);
  return (
    cpuMs([pid, ...childrenOf(pid).map((child) => child.pid)]) +
    (ended ? ((Number(ended[13]) + Number(ended[14])) * 1_000) / TICKS : 0)
  );
}

/** The greatest resident memory that a process has had, in MB. */
export function peakMb(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(line?.[1] ?? 0) / 1_024);
}

/** Processes that a process has started and that still run, with their command lines. */
function childrenOf(parent: number): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .flatMap((pid) => {
      if (Number(statOf(pid)?.[1]) !== parent) return [];
      return [{ pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }];
    });
}
export const ownChildren = () => childrenOf(process.pid);

const descendantsOf = (parent: number): number[] =>
  childrenOf(parent).flatMap(({ pid }) => [pid, ...descendantsOf(pid)]);

/** SIGKILL for all that this process has started, also what its children have, and for the groups that they lead. */
export function endDescendants(): void {
  for (const pid of descendantsOf(process.pid).flatMap((own) => [-own, own]))
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it has no group of its own, or is gone
    }
}
