import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimKey } from '../../src/platform/db/index.ts';
import { newId, tenantKey } from '../../src/platform/kernel/index.ts';
import { channelActor } from '../../actors/channel/contract.ts';
import { openChecks, SETTLES_MS, Violation } from './checks.ts';
import { copyTemplate, type SimulatedDatabase } from './database.ts';
import { endSimulation, simulate } from './globals.ts';
import { type Host, startHost } from './host.ts';
import { Kernel, type Process, START } from './kernel.ts';
import { openNetworks, type Request, type Weather } from './network.ts';
import type { KnownOrg, Simulation, SimulationOptions } from './known.ts';
import { openPeople } from './people.ts';
import { saveChannel, seedOrgs, setLimit } from './orgs.ts';
import { Random } from '../support/random.ts';
import { openReceivers, type Receivers } from './receivers.ts';
import { drawSwarm, type Fault, type Swarm } from './swarm.ts';
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
    return await new World(options, kernel, database, folder).run();
  } finally {
    endSimulation();
    await database[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

class World {
  readonly #kernel: Kernel;
  readonly #database: SimulatedDatabase;
  readonly #folder: string;
  readonly #acts: number;
  readonly #faults: ReadonlySet<Fault>;
  readonly #random: Random;
  readonly #hosts: Host[] = [];
  /** The network of each channel. */
  readonly #providers = new Map<string, string>();
  readonly #most: number;
  readonly #seen: Record<string, number> = {};
  readonly #checks: ReturnType<typeof openChecks>;
  readonly #networks: ReturnType<typeof openNetworks>;
  readonly #swarm: Swarm;
  readonly #receivers: Receivers;
  #people!: ReturnType<typeof openPeople>;
  #calm = false;
  #starts = 0;
  #error: string | undefined;

  constructor(
    { seed, without = [], acts }: SimulationOptions,
    kernel: Kernel,
    database: SimulatedDatabase,
    folder: string,
  ) {
    this.#kernel = kernel;
    this.#database = database;
    this.#folder = folder;
    const swarm = drawSwarm(seed, without);
    this.#faults = swarm.faults;
    this.#swarm = swarm;
    this.#most = swarm.mostHosts;
    this.#acts = Math.min(swarm.acts, acts ?? Infinity);
    kernel.fifo = swarm.fifo;
    this.#random = new Random(seed, 'faults');
    this.#checks = openChecks({
      kernel,
      sql: database.sql,
      people: () => this.#people,
      networks: () => this.#networks,
      receivers: () => this.#receivers,
      incarnationOf: (process) => this.#hosts.find((one) => one.process === process)?.context?.incarnation,
      faults: () => this.#faults,
    });
    this.#receivers = openReceivers(
      () => this.#networks,
      (id) => this.#checks.changed(id),
    );
    const { weather } = swarm;
    const fair: Weather = { faulty: 0, kinds: [], latencyMs: 200 };
    this.#networks = openNetworks(
      kernel,
      new Random(seed, 'networks'),
      () => (this.#calm ? fair : this.#faults.has('answers') ? weather : { ...weather, faulty: 0 }),
      {
        ...this.#checks,
        asked: (request) => {
          this.#checks.asked(request);
          this.#inCall(request);
        },
      },
    );
  }

  async run(): Promise<Simulation> {
    const { seed } = this.#kernel;
    let violation: string | undefined;
    try {
      const orgs = await seedOrgs(this.#database.sql, seed, this.#providers, this.#swarm.withPlugs);
      this.#people = openPeople({
        kernel: this.#kernel,
        random: new Random(seed, 'people'),
        orgs,
        comments: this.#swarm.people.comments,
        host: () => {
          const up = this.#hosts.filter(({ context, process }) => context && !process.dead);
          return up.length > 0 ? this.#random.pick(up) : undefined;
        },
        planned: (times, spacingMs) => this.#checks.planned(times, spacingMs),
        logIn: (host, orgId, channelId) => this.#logIn(host, orgId, channelId),
        plan: (org) => this.#plan(org),
        underWay: () => this.#networks.underWay(),
        claimKey: async (host, key) => (await claimKey(host.context!.sql, key, Buffer.alloc(32))).kind === 'claimed',
      });
      this.#kernel.busy = () => this.#hosts.some(({ wires }) => wires.isBusy) || this.#isReading();
      await this.#live(orgs);
    } catch (error) {
      if (!(error instanceof Violation)) this.#kernel.note(`stopped: ${(error as Error).stack}`);
      violation = error instanceof Violation ? error.message : String(error);
    }
    for (const host of this.#hosts) if (!host.process.dead) host.kill();
    for (const { kind } of this.#networks.requests) this.#count(`sent ${kind}`);
    for (const _ of this.#receivers.got) this.#count('told by a webhook');
    return {
      seed,
      hash: this.#kernel.hash,
      steps: this.#kernel.steps,
      virtualMs: this.#kernel.now - START,
      faults: [...this.#faults],
      acted: this.#acts,
      violation,
      trace: this.#kernel.trace,
      seen: this.#seen,
    };
  }

  /** Files are read in real time, and only while a host opens. */
  #isReading(): boolean {
    return (
      this.#hosts.some(({ context, process, failed }) => !context && !process.dead && failed === undefined) &&
      process.getActiveResourcesInfo().some((name) => /^(FS|GetAddrInfo)/.test(name))
    );
  }

  async #live(orgs: readonly KnownOrg[]): Promise<void> {
    await this.#start();
    await this.#isUp();
    const rounds = this.#faults.has('outage') ? 2 : 1;
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await this.#outage();
      await this.#disorder(Math.ceil(this.#acts / rounds));
    }
    await this.#settle(orgs);
  }

  /** People act, and things break. */
  async #disorder(acts: number): Promise<void> {
    const kernel = this.#kernel;
    const random = this.#random;
    const within = random.pick([5_000, 40_000, 2 * MINUTE]);
    const { mix } = this.#swarm.people;
    for (let n = 0; n < acts; n++) {
      await this.#pass(random.below(random.pick([200, 3_000, 10_000])));
      const act = n < 3 ? 'create' : random.pick(mix);
      this.#count(act);
      await this.#people.act(act, within);
      if (this.#swarm.withPlugs && random.chance(0.5)) await this.#people.look();
      await this.#break();
    }
    await this.#pass(random.below(30_000));
    kernel.note('- the disorder ends');
  }
  /** A host is there: one that could not start is started again, as whoever supervises it does. */
  async #isUp(): Promise<void> {
    for (;;) {
      await this.#until(() => this.#hosts.some(({ context, failed, process }) => !process.dead && (context || failed)));
      if (this.#hosts.some(({ context, process }) => context && !process.dead)) return;
      await this.#replaceFailed();
    }
  }
  async #replaceFailed(): Promise<void> {
    for (const host of this.#hosts) if (host.failed !== undefined && !host.process.dead) host.kill();
    if (this.#hosts.every(({ process }) => process.dead)) await this.#start();
  }

  /** One thing breaks, maybe. */
  async #break(): Promise<void> {
    const random = this.#random;
    await this.#replaceFailed();
    const up = this.#hosts.filter(({ process }) => !process.dead);
    if (up.length < this.#most && random.chance(0.5)) await this.#start();
    if (this.#faults.has('crash') && up.length > 0 && random.chance(0.15)) this.#crash(random.pick(up));
    if (this.#faults.has('freeze') && up.length > 0 && random.chance(0.15)) {
      const { process } = random.pick(up);
      this.#freeze(process, random.pick([2_000, 8_000, 30_000, 70_000]));
    }
    if (this.#faults.has('drain') && up.length > 1 && random.chance(0.1)) {
      const host = random.pick(up);
      this.#count('drain');
      if (host.context && host.process.frozenUntil <= this.#kernel.now)
        await this.#kernel.run(host.process, () => void host.drain());
    }
    if (this.#faults.has('skew') && up.length > 0 && random.chance(0.2)) {
      const { process } = random.pick(up);
      process.skewMs = random.pick([0, 3_600_000, -3_600_000, 10_000, -90_000]);
      this.#count('skew');
      this.#kernel.note(`- the clock of ${process.name} jumps to ${process.skewMs}`);
    }
    if (this.#faults.has('reminders') && random.chance(0.2)) await this.#loseReminders();
    if (this.#hosts.every(({ process }) => process.dead)) await this.#start();
  }
  #freeze(process: Process, ms: number): void {
    process.frozenUntil = this.#kernel.now + ms;
    this.#count('freeze');
    this.#kernel.note(`- ${process.name} freezes for ${ms} ms`);
  }
  #crash(host: Host): void {
    this.#count('crash');
    this.#kernel.note(`- ${host.process.name} is killed`);
    host.kill();
  }
  /** The rows of reminders are gone, as after a scheduler has lost its data. */
  async #loseReminders(): Promise<void> {
    this.#count('reminders');
    this.#kernel.note('- reminders are lost');
    await this.#database.sql`delete from actor_reminders`;
  }
  /** All hosts are gone for a while. */
  async #outage(): Promise<void> {
    const random = this.#random;
    this.#count('outage');
    for (const host of this.#hosts) if (!host.process.dead) host.kill();
    const ms = random.pick([20_000, 3 * MINUTE, 45 * MINUTE, DAY + 5 * MINUTE, 3 * DAY]);
    this.#kernel.note(`- nobody is there for ${ms} ms`);
    while (await this.#kernel.step(this.#kernel.now + ms));
    await this.#start();
    await this.#isUp();
  }

  /** Nothing breaks any more: everything that was confirmed comes to its end by itself. */
  async #settle(orgs: readonly KnownOrg[]): Promise<void> {
    this.#calm = true;
    const kernel = this.#kernel;
    for (const { process } of this.#hosts) process.frozenUntil = Math.min(process.frozenUntil, kernel.now);
    await this.#replaceFailed();
    await this.#isUp();
    const host = () => this.#hosts.find(({ context, process }) => context && !process.dead)!;
    for (const org of orgs) {
      for (const channelId of org.channels) await this.#ask(host(), (by) => this.#revive(by, org.id, channelId));
    }
    while (this.#people.brakes.some(({ until }) => until === Infinity)) {
      await this.#people.resume(0);
      await this.#pass(500);
    }
    const from = kernel.now;
    for (;;) {
      await this.#pass(2_000);
      const why = await this.#checks.unsettled();
      if (why === undefined) break;
      // what waits for a look-up has the time that its network may need to show it
      if (kernel.now - from > SETTLES_MS + 2 * MINUTE) throw new Violation(`I11: after ${kernel.now - from} ms ${why}`);
    }
    await this.#checks.standing();
    await this.#checks.ended();
    if (this.#error !== undefined) throw new Violation(`an error that nobody foresaw: ${this.#error}`);
  }
  async #revive(host: Host, orgId: string, channelId: string): Promise<void> {
    await this.#logIn(host, orgId, channelId);
    await host.context!.actors(channelActor, tenantKey(orgId, channelId)).enable({});
  }
  #ask(host: Host, act: (host: Host) => Promise<unknown>): Promise<void> {
    let over = false;
    return this.#people
      .ask(
        'revive',
        () => act(host),
        () => void (over = true),
      )
      .then(() => this.#until(() => over));
  }

  /** Lets time pass. */
  async #pass(ms: number): Promise<void> {
    const end = this.#kernel.now + ms;
    while (this.#kernel.now < end && (await this.#kernel.step(end))) await this.#look();
  }
  async #until(comes: () => boolean): Promise<void> {
    const end = this.#kernel.now + 10 * MINUTE;
    while (!comes()) {
      if (!(await this.#kernel.step(end))) throw new Violation('nothing goes on any more');
      await this.#look();
    }
  }
  async #look(): Promise<void> {
    const { steps } = this.#kernel;
    if (steps > MOST_STEPS) throw new Violation(`no end after ${steps} steps`);
    if (steps % LOOK_EVERY === 0) await this.#checks.standing();
  }
  #count(what: string): void {
    this.#seen[what] = (this.#seen[what] ?? 0) + 1;
  }

  async #start(): Promise<void> {
    const random = this.#random;
    const host = startHost({
      kernel: this.#kernel,
      name: `h${++this.#starts}`,
      url: this.#database.url,
      folder: this.#folder,
      adapters: this.#networks.adapters,
      skewMs: this.#faults.has('skew') ? random.pick([0, 3_600_000, -60_000]) : 0,
      rate: this.#faults.has('skew') ? 1 + (random.next() - 0.5) / 50 : 1,
      cut: (process, label) => this.#cutFor(process, label),
      happened: (process, what) => this.#happened(process, what),
      stream: this.#receivers.stream,
      onError: (line) => void (this.#error ??= this.#faults.has('cut') ? undefined : line),
    });
    this.#hosts.push(host);
    this.#kernel.note(`- ${host.process.name} starts`);
    await this.#kernel.run(host.process, () => void host.open());
  }
  #cutFor(process: Process, label: string): Cut {
    const faults = this.#faults;
    const random = this.#random;
    if (this.#calm || label.startsWith('set ')) return 'none';
    if (process.awayUntil > this.#kernel.now) return 'before';
    // where the most depends on what this process does next
    const isSettle = label.includes(SETTLE);
    const isClaim = label.includes(CLAIM) || label === 'commit' || isSettle;
    if (faults.has('freeze') && random.chance(isClaim ? 0.12 : 0.002)) return 'stands';
    if (faults.has('crash') && random.chance(isClaim ? 0.015 : 0.002)) return 'dies';
    if (!faults.has('cut') || !random.chance(label === 'commit' ? 0.12 : isSettle ? 0.2 : 0.02)) return 'none';
    this.#count('cut');
    if (random.chance(0.3)) process.awayUntil = this.#kernel.now + random.below(8_000);
    return random.chance(0.5) ? 'before' : 'after';
  }
  /** While the network has what a host has sent. */
  #inCall({ process }: Request): void {
    if (this.#calm) return;
    if (this.#faults.has('people') && this.#random.chance(0.2))
      this.#kernel.after(this.#random.below(300), undefined, 'people act', () => this.#people.actAtOnce());
    if (this.#faults.has('freeze') && this.#random.chance(0.08))
      this.#freeze(process, this.#random.pick([8_000, 30_000]));
    else if (this.#faults.has('crash') && this.#random.chance(0.03))
      this.#kernel.after(1 + this.#random.below(500), undefined, 'dies in a call', () => {
        const host = this.#hosts.find((one) => one.process === process)!;
        if (!process.dead) this.#crash(host);
      });
  }
  /** Between a commit and what follows it. */
  #happened(process: Process, what: 'stands' | 'dies'): void {
    const host = this.#hosts.find((one) => one.process === process)!;
    if (what === 'dies') this.#crash(host);
    else this.#freeze(process, this.#random.pick([8_000, 14_000, 20_000, 30_000, 70_000]));
  }
  async #plan(org: KnownOrg): Promise<void> {
    await setLimit(this.#database.sql, org.id, org.most);
    await this.#checks.limited(org);
  }

  async #logIn({ context }: Host, orgId: string, channelId: string): Promise<void> {
    this.#networks.accept(channelId);
    await saveChannel(context!, { orgId, channelId, providerId: this.#providers.get(channelId)! });
  }
}
