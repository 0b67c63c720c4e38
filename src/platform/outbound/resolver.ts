import { lookup, Resolver } from 'node:dns/promises';
import { openLimiter } from '../flow/index.ts';

/** Answers every address of a name; rejects when it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

const AT_A_TIME = 2; // of the threads that the whole process shares
/** The name servers know no such name, or there is none: only this machine may know it. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/**
 * Asks the name servers directly, without the process's few threads: a name that answers slowly holds up nobody else.
 * Names that only this machine knows (its hosts file, search domains) are asked of the system, two at a time.
 * `servers`: in the place of the machine's.
 */
export function systemResolver(servers?: readonly string[]): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  const limiter = openLimiter({ total: AT_A_TIME });

  async function askSystem(name: string): Promise<string[]> {
    using _ = await limiter.enter('');
    return (await lookup(name, { all: true, order: 'ipv4first' })).map(({ address }) => address);
  }

  return async (name) => {
    const bare = name.replace(/\.$/, '');
    if (!bare.includes('.') || bare.endsWith('.localhost')) return askSystem(name);
    const answers = await Promise.allSettled([resolver.resolve4(bare), resolver.resolve6(bare)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers)
      // the system would wait for the same servers
      if (answer.status === 'rejected' && !UNKNOWN.has(codeOf(answer.reason))) throw answer.reason;
    return askSystem(name);
  };
}

const codeOf = (error: unknown): string => String((Object(error) as { code?: unknown }).code);
