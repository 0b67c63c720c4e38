import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { organizationActor } from '../../../../actors/organization/contract.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { buildTemplate, copyTemplate, type SimulatedDatabase } from '../../../sim/database.ts';
import { endSimulation, simulate } from '../../../sim/globals.ts';
import { type Host, startHost } from '../../../sim/host.ts';
import { Kernel, type Process } from '../../../sim/kernel.ts';
import type { World } from '../../../sim/known.ts';
import { openNetworks, providerOf, type Request } from '../../../sim/network.ts';
import { openReceivers, receiverOf } from '../../../sim/receivers.ts';
import { findHeld } from '../../../sim/standing.ts';
import type { Cut } from '../../../sim/wire.ts';
import { subscribe } from '../billing.ts';
import { newPost, seedOrg } from './world.ts';

// Hosts of the product, as users start them, over a real database in the virtual time of the simulation. One at a time
// is killed with what it holds, at an instant and in a phase of the other's timers that are given.

/** Who is killed: the one that sweeps, one beside it, or the only one, in whose place another is started later. */
export type Victim = 'beside' | 'sweeper' | 'alone';
/**
 * When: the claim is committed, and its answer not read; the request has left; the network has taken the post, and
 * answers; the answer is read, and nothing is written of it; the network has taken the first comment; the receiver of a
 * webhook has its delivery.
 */
export type Instant = 'claimed' | 'called' | 'taken' | 'answered' | 'commented' | 'delivered';
export interface Kill {
  victim: Victim;
  instant: Instant;
  /** Where the timers of whoever takes over stand: so long after a sweep the two were brought together. */
  phaseMs: number;
  /** For how long nobody is there, where the only host is killed. */
  downMs: number;
}
/** What became of it; times are since the kill, or since another host is up where there was none. */
export interface Takeover extends Kill {
  /** What it held. */
  held: string;
  /** Nothing that it held is claimed any more. */
  settledMs: number;
  /** Both posts are out: the one that it held, and the one behind that. */
  normalMs: number;
  /** How often the network has each of the two. */
  out: number[];
}

const LATENCY_MS = 5;
/** Until a host that has started takes part in everything. */
const STEADY_MS = 3_000;
const NEVER_MS = 120_000;

/** What a statement is about, where that is a moment to wait for. */
const MOMENTS = {
  heartbeat: /^insert into actor_hosts/,
  sweep: /^select \$1::text as name where/,
  claim: /^with asked \(org_id, channel_id\)/,
  settlement: /^with input/,
} as const;
type Moment = keyof typeof MOMENTS;

/** Makes each of these kills, one after the other. */
export async function killAll(kills: readonly Kill[]): Promise<Takeover[]> {
  await using ends = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-takeover-'));
  ends.defer(() => rmSync(folder, { recursive: true, force: true }));
  const template = ends.use(await buildTemplate(`rookery_takeover_${process.pid}`));
  const database = ends.use(await copyTemplate(template.name, `${template.name}_1`));
  await database.empty(); // its connection is open from before time is virtual
  ends.defer(endSimulation);
  const world = openWorld(database, folder);
  const done: Takeover[] = [];
  for (const kill of kills) done.push(await world.takeOver(kill));
  world.end();
  return done;
}

function openWorld({ sessions, sql }: SimulatedDatabase, folder: string) {
  const kernel = new Kernel(1);
  kernel.fifo = true;
  kernel.busy = () => isReading();
  simulate(kernel, newId);
  const hosts: Host[] = [];
  const seen = new Map<Process, Record<Moment, number>>();
  /** What is to happen next, and when it happened. */
  let wanted: { instant: Instant; process: Process | undefined; at: number | undefined } | undefined;

  /** Kills whoever has come to the instant that is wanted. */
  function comes(instant: Instant, process: Process): boolean {
    if (wanted?.instant !== instant || wanted.at !== undefined || (wanted.process ?? process) !== process) return false;
    wanted.at = kernel.now;
    hosts.find((host) => host.process === process)!.kill();
    return true;
  }
  function cut(process: Process, label: string): Cut {
    for (const [moment, text] of Object.entries(MOMENTS))
      if (text.test(label)) seen.get(process)![moment as Moment] += 1;
    if (wanted?.instant === 'claimed' && MOMENTS.claim.test(label)) return 'dies';
    return MOMENTS.settlement.test(label) && comes('answered', process) ? 'before' : 'none';
  }
  const world = { kernel, sql, hosts } as unknown as World;
  world.checks = {
    asked() {},
    async received() {},
    changed() {},
    taken: ({ kind, process }: Request) => void comes(kind === 'post' ? 'taken' : 'commented', process),
  } as unknown as World['checks'];
  const networks = (world.networks = openNetworks(
    world,
    () => ({ faulty: 0, kinds: [], latencyMs: LATENCY_MS }),
    ({ process }) => void comes('called', process),
  ));
  const { got, stream } = openReceivers(world);
  world.receivers = {
    got,
    stream(...call) {
      const { current } = kernel;
      kernel.after(1, undefined, 'the receiver has it', () => comes('delivered', current!));
      return stream(...call);
    },
  };

  async function start(): Promise<Host> {
    const started: Process = {
      name: `h${hosts.length + 1}`,
      skewMs: 0,
      rate: 1,
      dead: false,
      frozenUntil: -Infinity,
      awayUntil: -Infinity,
    };
    const host = startHost(world, started, {
      sessions,
      folder,
      cut,
      happened: (process) => void comes('claimed', process),
      onError(line) {
        throw new Error(line);
      },
    });
    hosts.push(host);
    seen.set(started, { heartbeat: 0, sweep: 0, claim: 0, settlement: 0 });
    await kernel.run(started, () => void host.open());
    await until('it is up', () => host.context !== undefined || host.failed !== undefined);
    if (host.failed !== undefined) throw host.failed;
    return host;
  }
  /** Files are read in real time, and only while a host opens. */
  const isReading = (): boolean =>
    hosts.some(({ context, process: { dead } }) => !context && !dead) &&
    process.getActiveResourcesInfo().some((name) => /^(FS|GetAddrInfo)/.test(name));

  async function pass(ms: number): Promise<void> {
    const end = kernel.now + ms;
    while (kernel.now < end && (await kernel.step(end)));
  }
  async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const end = kernel.now + NEVER_MS;
    while (!(await holds()))
      if (!(await kernel.step(end))) throw new Error(`Never: ${what}\n${kernel.trace.slice(-100).join('\n')}`);
  }
  async function next(moment: Moment, { process }: Host): Promise<void> {
    const before = seen.get(process)![moment];
    await until(`the ${moment} of ${process.name}`, () => seen.get(process)![moment] > before);
  }

  /**
   * A channel with two posts that are due at once, the first one with a comment. Its network knows no repeat, where it
   * has the first one: else it is waited for longer than here.
   */
  async function seed(instant: Instant) {
    const { orgId, userId, channelId } = await seedOrg(sql);
    const provider = providerOf(instant === 'claimed' ? 'key' : 'read-back');
    await sql`update channels set provider_id = ${provider} where id = ${channelId}`;
    await subscribe(sql, orgId, { tier: 'AGENCY' });
    const webhookId = newId();
    await sql`
      insert into webhooks (id, org_id, name, url, events)
      values (${webhookId}, ${orgId}, 'Hook', ${receiverOf(webhookId)}, '{post.published}')`;
    const posts = [newPost(channelId, { settings: { firstComment: 'First' } }), newPost(channelId)];
    return {
      posts,
      admit: ({ context }: Host) => context!.actors(organizationActor, orgId).admit({ posts, createdBy: userId }),
    };
  }

  async function takeOver(kill: Kill): Promise<Takeover> {
    const { victim, instant, phaseMs, downMs } = kill;
    kernel.steps = 0; // each kill is a run of its own
    const old = hosts.find(({ process }) => !process.dead) ?? (await start());
    const { posts, admit } = await seed(instant);
    await next('sweep', old);
    await pass(phaseMs);
    const young = victim === 'alone' ? undefined : await start();
    await pass(STEADY_MS);
    const dying = victim === 'beside' ? young! : old;
    await next(victim === 'beside' ? 'heartbeat' : 'sweep', dying);
    if (victim === 'alone') await pass(phaseMs);

    wanted = { instant, process: instant === 'delivered' ? undefined : dying.process, at: undefined };
    await kernel.run(dying.process, () => void admit(dying));
    await until(instant, () => wanted?.at !== undefined);
    let from = wanted.at!;
    wanted = undefined;
    const { incarnation } = hosts.find(({ process, diedAt }) => process.dead && diedAt === from)!;
    const held = await findHeld(sql, [incarnation]);
    if (held === undefined) throw new Error('Nothing was held');
    if (victim === 'alone') {
      await pass(downMs);
      from = (await start()).upAt;
    }

    await until('it is settled', async () => (await findHeld(sql, [incarnation])) === undefined);
    const settledMs = kernel.now - from;
    const ids = posts.map(({ id }) => id);
    await until('both are out', async () => {
      const left = await sql`select from posts where id = any(${ids}::uuid[]) and state <> 'PUBLISHED'`;
      return left.length === 0;
    });
    const out = ids.map((id) => networks.findAll('post', id).length);
    return { ...kill, held, settledMs, normalMs: kernel.now - from, out };
  }
  return { takeOver, end: () => hosts.forEach((host) => host.kill()) };
}
