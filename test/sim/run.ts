import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId, tenantKey } from '../../src/platform/kernel/index.ts';
import { channelActor } from '../../actors/channel/contract.ts';
import { openChecks, SETTLES_MS, Violation } from './checks.ts';
import { copyTemplate, type SimulatedDatabase } from './database.ts';
import { endSimulation, simulate } from './globals.ts';
import { type Host, startHost } from './host.ts';
import { Kernel, type Process, START } from './kernel.ts';
import { type Networks, openNetworks, type Request, type Weather } from './network.ts';
import type { KnownOrg, Simulation, SimulationOptions } from './known.ts';
import { openPeople, type People } from './people.ts';
import { saveChannel, seedOrgs, setLimit } from './orgs.ts';
import { Random } from '../support/random.ts';
import { openReceivers, type Receivers } from './receivers.ts';
import { drawSwarm } from './swarm.ts';
import type { Cut } from './wire.ts';

/** Statements that claim posts, deliveries or follow-ups, and those that settle posts, which claim as well. */
const [CLAIM, SETTLE] = ['with asked', 'with input'];
const MINUTE = 60_000;
const DAY = 86_400_000;
/** Steps between two looks at what must always hold. */
const LOOK_EVERY = 40;
const MOST_STEPS = 60_000;

/** Runs one seed on a database of its own, from its first post until everything has its end. */
export async function runSeed(options: SimulationOptions): Promise<Simulation> {
  const { server, template, seed } = options;
  const name = `${template}_${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), 'rookery-sim-'));
  const database = await copyTemplate(server, template, name);
  const kernel = new Kernel(seed, START);
  simulate(kernel, newId);
  try {
    return await runWorld(options, kernel, database, folder);
  } finally {
    endSimulation();
    await database[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runWorld(
  { seed, without = [], acts: mostActs = Infinity }: SimulationOptions,
  kernel: Kernel,
  database: SimulatedDatabase,
  folder: string,
): Promise<Simulation> {
  const swarm = drawSwarm(seed, without);
  const { faults } = swarm;
  const acts = Math.min(swarm.acts, mostActs);
  const random = new Random(seed, 'faults');
  const hosts: Host[] = [];
  /** The network of each channel. */
  const providers = new Map<string, string>();
  const seen: Record<string, number> = {};
  let calm = false;
  let starts = 0;
  let unforeseen: string | undefined;
  let people: People;
  let networks: Networks;
  let receivers: Receivers;
  kernel.fifo = swarm.fifo;

  const count = (what: string) => void (seen[what] = (seen[what] ?? 0) + 1);
  const alive = () => hosts.filter(({ process }) => !process.dead);
  const answering = () => alive().filter(({ context }) => context);

  const checks = openChecks({
    kernel,
    sql: database.sql,
    people: () => people,
    networks: () => networks,
    receivers: () => receivers,
    incarnationOf: (process) => hosts.find((one) => one.process === process)?.context?.incarnation,
    faults,
  });
  const fair: Weather = { faulty: 0, kinds: [], latencyMs: 200 };
  networks = openNetworks(
    kernel,
    new Random(seed, 'networks'),
    () => (calm ? fair : faults.has('answers') ? swarm.weather : { ...swarm.weather, faulty: 0 }),
    {
      ...checks,
      asked(request) {
        checks.asked(request);
        breakCall(request);
      },
    },
  );
  receivers = openReceivers(() => networks, checks.changed);

  async function logIn({ context }: Host, orgId: string, channelId: string): Promise<void> {
    networks.accept(channelId);
    await saveChannel(context!, { orgId, channelId, providerId: providers.get(channelId)! });
  }

  async function live(): Promise<void> {
    const orgs = await seedOrgs(database.sql, seed, providers, swarm.withPlugs);
    people = openPeople({
      kernel,
      random: new Random(seed, 'people'),
      orgs,
      comments: swarm.people.comments,
      host: () => (answering().length > 0 ? random.pick(answering()) : undefined),
      planned: checks.planned,
      logIn,
      async plan(org) {
        await setLimit(database.sql, org.id, org.most);
        await checks.limited(org);
      },
      underWay: networks.underWay,
    });
    kernel.busy = () => hosts.some(({ wires }) => wires.isBusy) || isReading();
    await start();
    await isUp();
    const rounds = faults.has('outage') ? 2 : 1;
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await outage();
      await disorder(Math.ceil(acts / rounds));
    }
    await settle(orgs);
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
      const act = n < 3 ? 'create' : random.pick(swarm.people.mix);
      count(act);
      await people.act(act, within);
      if (swarm.withPlugs && random.chance(0.5)) await people.look();
      await breakSomething();
    }
    await pass(random.below(30_000));
    kernel.note('- the disorder ends');
  }
  /** A host is there: one that could not start, or died of it, is started again, as whoever supervises it does. */
  async function isUp(): Promise<void> {
    for (;;) {
      await until(() => alive().length === 0 || alive().some(({ context, failed }) => context || failed));
      if (answering().length > 0) return;
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
    // others are there to take over from one that stands still
    const most = swarm.inTurn && faults.has('freeze') ? Math.max(2, swarm.mostHosts) : swarm.mostHosts;
    if (up.length < most && random.chance(0.5)) await start();
    if (faults.has('crash') && up.length > 0 && random.chance(0.15)) crash(random.pick(up));
    if (faults.has('freeze') && up.length > 0 && random.chance(0.15))
      freeze(random.pick(up).process, random.pick([2_000, 8_000, 30_000, 70_000]));
    if (faults.has('drain') && up.length > 1 && random.chance(0.1)) {
      const host = random.pick(up);
      count('drain');
      if (host.context && host.process.frozenUntil <= kernel.now)
        await kernel.run(host.process, () => void host.drain());
    }
    if (faults.has('skew') && up.length > 0 && random.chance(0.2)) {
      const { process } = random.pick(up);
      process.skewMs = random.pick([0, 3_600_000, -3_600_000, 10_000, -90_000]);
      count('skew');
      kernel.note(`- the clock of ${process.name} jumps to ${process.skewMs}`);
    }
    if (faults.has('reminders') && random.chance(0.2)) await loseReminders();
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
    count('freeze');
    kernel.note(`- ${process.name} freezes for ${ms} ms`);
  }
  function crash(host: Host): void {
    count('crash');
    kernel.note(`- ${host.process.name} is killed`);
    host.kill();
  }
  /** The rows of reminders are gone, as after a scheduler has lost its data. */
  async function loseReminders(): Promise<void> {
    count('reminders');
    kernel.note('- reminders are lost');
    await database.sql`delete from actor_reminders`;
  }
  /** All hosts are gone for a while. */
  async function outage(): Promise<void> {
    count('outage');
    for (const host of alive()) host.kill();
    const ms = random.pick([20_000, 3 * MINUTE, 45 * MINUTE, DAY + 5 * MINUTE, 3 * DAY]);
    kernel.note(`- nobody is there for ${ms} ms`);
    while (await kernel.step(kernel.now + ms));
    await start();
    await isUp();
  }

  /** Nothing breaks any more: everything that was confirmed comes to its end by itself. */
  async function settle(orgs: readonly KnownOrg[]): Promise<void> {
    calm = true;
    for (const { process } of hosts) process.frozenUntil = Math.min(process.frozenUntil, kernel.now);
    await replaceFailed();
    await isUp();
    for (const { id, channels } of orgs) for (const channelId of channels) await revive(id, channelId);
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
    await checks.ended();
    if (unforeseen !== undefined) throw new Violation(`an error that nobody foresaw: ${unforeseen}`);
  }
  async function revive(orgId: string, channelId: string): Promise<void> {
    let over = false;
    await people.ask(
      'revive',
      async (host) => {
        await logIn(host, orgId, channelId);
        await host.context!.actors(channelActor, tenantKey(orgId, channelId)).enable({});
      },
      () => void (over = true),
    );
    await until(() => over);
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
    if (kernel.steps > MOST_STEPS) throw new Violation(`no end after ${kernel.steps} steps`);
    if (kernel.steps % LOOK_EVERY === 0) await checks.standing();
  }

  async function start(): Promise<void> {
    const host = startHost({
      kernel,
      name: `h${++starts}`,
      url: database.url,
      folder,
      adapters: networks.adapters,
      skewMs: faults.has('skew') ? random.pick([0, 3_600_000, -60_000]) : 0,
      rate: faults.has('skew') ? 1 + (random.next() - 0.5) / 50 : 1,
      cut: cutFor,
      happened(process, what) {
        if (what === 'dies') crash(hosts.find((one) => one.process === process)!);
        else freeze(process, random.pick([8_000, 14_000, 20_000, 30_000, 70_000]));
      },
      stream: receivers.stream,
      onError: (line) => void (unforeseen ??= faults.has('cut') ? undefined : line),
    });
    hosts.push(host);
    kernel.note(`- ${host.process.name} starts`);
    await kernel.run(host.process, () => void host.open());
  }
  /** What becomes of a statement, or of a commit: most often something where the most depends on what comes next. */
  function cutFor(process: Process, label: string): Cut {
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
    if (faults.has('people') && random.chance(0.2))
      kernel.after(random.below(300), undefined, 'people act', people.actAtOnce);
    if (faults.has('freeze') && random.chance(0.08)) freeze(process, random.pick([8_000, 30_000]));
    else if (faults.has('crash') && random.chance(0.03))
      kernel.after(1 + random.below(500), undefined, 'dies in a call', () => {
        if (!process.dead) crash(hosts.find((one) => one.process === process)!);
      });
  }

  let violation: string | undefined;
  try {
    await live();
  } catch (error) {
    if (!(error instanceof Violation)) kernel.note(`stopped: ${(error as Error).stack}`);
    violation = error instanceof Violation ? error.message : String(error);
  }
  for (const host of alive()) host.kill();
  for (const { kind } of networks.requests) count(`sent ${kind}`);
  for (const _ of receivers.got) count('told by a webhook');
  return {
    seed,
    hash: kernel.hash,
    steps: kernel.steps,
    virtualMs: kernel.now - START,
    faults: [...faults],
    acted: acts,
    violation,
    trace: kernel.trace,
    seen,
  };
}
