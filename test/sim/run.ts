import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../src/platform/kernel/index.ts';
import { Random } from '../support/random.ts';
import { openChecks, SETTLES_MS, Violation } from './checks.ts';
import { standsIn } from './coverage.ts';
import type { SimulatedDatabase } from './database.ts';
import { endSimulation, simulate } from './globals.ts';
import { startHost } from './host.ts';
import { Kernel, type Process, START } from './kernel.ts';
import type { Simulation, SimulationOptions, World } from './known.ts';
import { openNetworks, type Request, type Weather } from './network.ts';
import { seedOrgs } from './orgs.ts';
import { openPeople } from './people.ts';
import { openReceivers } from './receivers.ts';
import { drawSwarm, type Fault } from './swarm.ts';
import type { Cut } from './wire.ts';

/** Statements that claim posts, deliveries or follow-ups, and those that settle posts, which claim as well. */
const [CLAIM, SETTLE] = ['with asked', 'with input'];
const MINUTE = 60_000;
const DAY = 86_400_000;
/** Steps between two looks at what must always hold. */
const LOOK_EVERY = 40;
const FAIR: Weather = { faulty: 0, kinds: [], latencyMs: 200 };

/** Runs one seed on an empty database, from its first post until everything has its end. */
export async function runSeed(options: SimulationOptions, database: SimulatedDatabase): Promise<Simulation> {
  await using ends = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-sim-'));
  ends.defer(() => rmSync(folder, { recursive: true, force: true }));
  await database.empty();
  ends.defer(endSimulation);
  return await runWorld(options, database, folder);
}

async function runWorld(options: SimulationOptions, database: SimulatedDatabase, folder: string): Promise<Simulation> {
  const { seed, without, acts: mostActs = Infinity } = options;
  const kernel = new Kernel(seed);
  simulate(kernel, newId);
  const swarm = drawSwarm(seed, without);
  const { faults } = swarm;
  const acts = Math.min(swarm.acts, mostActs);
  const random = new Random(seed, 'faults');
  const seen: Record<string, number> = {};
  let calm = false;
  let unforeseen: string | undefined;
  kernel.fifo = swarm.fifo;

  const world = { kernel, swarm, sql: database.sql, hosts: [] } as unknown as World;
  const { hosts } = world;
  const checks = (world.checks = openChecks(world));
  const networks = (world.networks = openNetworks(world, () => (calm ? FAIR : swarm.weather), breakCall));
  const receivers = (world.receivers = openReceivers(world));
  const people = (world.people = openPeople(world, await seedOrgs(world)));

  const count = (what: string) => void (seen[what] = (seen[what] ?? 0) + 1);
  /** Something breaks. */
  const note = (fault: Fault, line: string) => {
    count(fault);
    kernel.note(`- ${line}`);
  };
  const alive = () => hosts.filter(({ process }) => !process.dead);
  const answering = () => hosts.filter(({ context }) => context);

  async function live(): Promise<void> {
    kernel.busy = isReading;
    await start();
    await isUp();
    const rounds = faults.has('outage') ? 2 : 1;
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await outage();
      await disorder(Math.ceil(acts / rounds));
    }
    await settle();
  }
  /** Files are read in real time, and only while a host opens. */
  const isReading = (): boolean =>
    alive().some(({ context, failed }) => !context && failed === undefined) &&
    process.getActiveResourcesInfo().some((name) => /^(FS|GetAddrInfo)/.test(name));

  /** People act, and things break. */
  async function disorder(times: number): Promise<void> {
    const within = random.pick([5_000, 40_000, 2 * MINUTE]);
    for (let n = 0; n < times; n++) {
      await pass(random.below(random.pick([200, 3_000, 10_000])));
      count(await people.act(within, n < 3 ? 'create' : undefined));
      if (swarm.withPlugs && random.chance(0.5)) await people.look();
      await breakSomething();
    }
    await pass(random.below(30_000));
    kernel.note('- the disorder ends');
  }
  /** A host is there: one that could not start, or died of it, is started again, as whoever supervises it does. */
  async function isUp(): Promise<void> {
    while (answering().length === 0) {
      await until(() => alive().length === 0 || alive().some(({ context, failed }) => context || failed));
      await replaceFailed();
    }
  }
  async function replaceFailed(): Promise<void> {
    for (const host of alive()) if (host.failed !== undefined) host.kill();
    if (alive().length === 0) await start();
  }

  /** One thing breaks, maybe. */
  async function breakSomething(): Promise<void> {
    await replaceFailed();
    const up = alive();
    const breaks = (fault: Fault, share: number) => faults.has(fault) && random.chance(share);
    // others are there to take over from one that stands still
    const most = swarm.inTurn && faults.has('freeze') ? Math.max(2, swarm.mostHosts) : swarm.mostHosts;
    if (up.length < most && random.chance(0.5)) await start();
    if (breaks('crash', 0.15)) crash(random.pick(up).process);
    if (breaks('freeze', 0.15)) freeze(random.pick(up).process, random.pick([2_000, 8_000, 30_000, 70_000]));
    if (up.length > 1 && breaks('drain', 0.1)) {
      const host = random.pick(up);
      count('drain');
      if (host.context && host.process.frozenUntil <= kernel.now)
        await kernel.run(host.process, () => void host.drain());
    }
    if (breaks('skew', 0.2)) {
      const { process } = random.pick(up);
      process.skewMs = random.pick([0, 3_600_000, -3_600_000, 10_000, -90_000]);
      note('skew', `the clock of ${process.name} jumps to ${process.skewMs}`);
    }
    if (breaks('reminders', 0.2)) {
      note('reminders', 'reminders are lost'); // as after a scheduler has lost its data
      await database.sql`delete from actor_reminders`;
    }
    if (alive().length === 0) await start();
  }
  /** Where hosts stand still in turn, another one is up, and goes on. */
  function mayFreeze(process: Process): boolean {
    const others = answering().filter((one) => one.process !== process);
    return !swarm.inTurn || (others.length > 0 && others.every((one) => one.process.frozenUntil <= kernel.now));
  }
  function freeze(process: Process, ms: number): void {
    if (!mayFreeze(process)) return;
    process.frozenUntil = kernel.now + ms;
    note('freeze', `${process.name} freezes for ${ms} ms`);
  }
  function crash(process: Process): void {
    if (process.dead) return;
    note('crash', `${process.name} is killed`);
    hosts.find((one) => one.process === process)!.kill();
  }
  /** All hosts are gone for a while. */
  async function outage(): Promise<void> {
    for (const host of alive()) host.kill();
    const ms = random.pick([20_000, 3 * MINUTE, 45 * MINUTE, DAY + 5 * MINUTE, 3 * DAY]);
    note('outage', `nobody is there for ${ms} ms`);
    while (await kernel.step(kernel.now + ms));
    await start();
    await isUp();
  }

  /** Nothing breaks any more: everything that was confirmed comes to its end by itself. */
  async function settle(): Promise<void> {
    calm = true;
    for (const { process } of hosts) process.frozenUntil = Math.min(process.frozenUntil, kernel.now);
    await until(() => !alive().some(({ context, upAt }) => context && upAt === Infinity)); // who drains is gone
    await replaceFailed();
    await isUp();
    for (const channel of people.orgs.flatMap(({ channels }) => channels)) {
      let over = false;
      await people.revive(channel, () => void (over = true));
      await until(() => over);
    }
    while (people.brakes.some(({ until: end }) => end === Infinity)) {
      await people.resume(0);
      await pass(500);
    }
    const from = kernel.now;
    for (;;) {
      await pass(2_000);
      const why = await checks.unsettled();
      if (why === undefined) break;
      // what waits for a look-up has the time that its network may need to show it
      if (kernel.now - from > SETTLES_MS + 2 * MINUTE) throw new Violation(`I11: after ${kernel.now - from} ms ${why}`);
    }
    await checks.standing();
    for (const _ of checks.followed()) count('host followed');
    await checks.ended();
    if (unforeseen !== undefined) throw new Violation(`an error that nobody foresaw: ${unforeseen}`);
  }

  /** Lets time pass. */
  async function pass(ms: number): Promise<void> {
    const end = kernel.now + ms;
    while (kernel.now < end && (await kernel.step(end))) await look();
  }
  async function until(comes: () => boolean): Promise<void> {
    const end = kernel.now + 10 * MINUTE;
    while (!comes()) {
      if (!(await kernel.step(end))) throw new Violation('nothing goes on any more');
      await look();
    }
  }
  async function look(): Promise<void> {
    if (kernel.steps % LOOK_EVERY === 0) await checks.standing();
  }

  async function start(): Promise<void> {
    const skews = faults.has('skew');
    const started: Process = {
      name: `h${hosts.length + 1}`,
      skewMs: skews ? random.pick([0, 3_600_000, -60_000]) : 0,
      rate: skews ? 1 + (random.next() - 0.5) / 50 : 1,
      dead: false,
      frozenUntil: -Infinity,
      awayUntil: -Infinity,
    };
    const host = startHost(world, started, {
      sessions: database.sessions,
      folder,
      cut,
      happened(process, what) {
        if (what === 'dies') crash(process);
        else freeze(process, random.pick([8_000, 14_000, 20_000, 30_000, 70_000]));
      },
      onError: (line) => void (unforeseen ??= faults.has('cut') ? undefined : line),
    });
    hosts.push(host);
    kernel.note(`- ${started.name} starts`);
    await kernel.run(started, () => void host.open());
  }
  /** What becomes of a statement, or of a commit: most often something where the most depends on what comes next. */
  function cut(process: Process, label: string): Cut {
    if (calm || label.startsWith('set ')) return 'none';
    if (process.awayUntil > kernel.now) return 'before';
    const isSettle = label.includes(SETTLE);
    const isClaim = label.includes(CLAIM) || isSettle;
    const isWrite = isClaim || label === 'commit';
    const standing = swarm.inTurn ? { share: 0.3, of: isClaim } : { share: 0.12, of: isWrite };
    if (faults.has('freeze') && random.chance(standing.of ? standing.share : 0.002) && mayFreeze(process))
      return 'stands';
    if (faults.has('crash') && random.chance(isWrite ? 0.015 : 0.002)) return 'dies';
    if (!faults.has('cut') || !random.chance(label === 'commit' ? 0.12 : isSettle ? 0.2 : 0.02)) return 'none';
    count('cut');
    if (random.chance(0.3)) process.awayUntil = kernel.now + random.below(8_000);
    return random.chance(0.5) ? 'before' : 'after';
  }
  /** While the network has what a host has sent. */
  function breakCall({ process }: Request): void {
    if (calm) return;
    if (faults.has('people') && random.chance(swarm.haste))
      kernel.after(random.below(300), undefined, 'people act', people.actAtOnce);
    if (faults.has('freeze') && random.chance(0.08)) freeze(process, random.pick([8_000, 30_000]));
    else if (faults.has('crash') && random.chance(0.03))
      kernel.after(1 + random.below(500), undefined, 'dies in a call', () => crash(process));
  }

  let violation: string | undefined;
  try {
    await live();
  } catch (error) {
    if (!(error instanceof Violation)) kernel.note(`stopped: ${(error as Error).stack}`);
    violation = (error as Error).message;
  }
  for (const host of alive()) host.kill();
  for (const { kind } of networks.requests) count(`sent ${kind}`);
  for (const answer of networks.answered) count(`answered ${answer}`);
  for (const _ of receivers.got) count('told by a webhook');
  for (const fault of ['answers', 'slow', 'people'] as const) if (faults.has(fault)) count(fault); // by seeds
  for (const { what, times } of await standsIn(database.sql)) seen[what] = times;
  const { hash, steps, trace } = kernel;
  const virtualMs = kernel.now - START;
  return { options, hash, steps, trace, virtualMs, faults: [...faults], acted: acts, violation, seen };
}
