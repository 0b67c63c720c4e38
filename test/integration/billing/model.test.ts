// oxlint-disable max-lines -- a model, its commands and one product
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Payments } from '../../../src/billing/payments/index.ts';
import { type Tier, TIERS } from '../../../src/entitlements/index.ts';
import { disable, enable } from '../../../src/publishing/channels/transitions/disable.ts';
import { AppError, newId } from '../../../src/platform/kernel/index.ts';
import * as plain from '../../model/billing.ts';
import type { Counted, Model } from '../../model/billing.ts';
import { fc } from '../../support/properties.ts';
import type { Sql } from '../../../src/platform/db/index.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import type { PaymentProcessor } from '../../support/peers/payment-processor.ts';
import { isFull } from '../../support/processes/chaos.ts';
import { type OpenPayments, openPayments } from '../../support/worlds/payments.ts';
import { admit, newPost, type Publisher, startingWith } from '../../support/worlds/publishing/world.ts';

// Random lives of an org, command by command, against the model: plans, packs, payments, events in any order and more
// than once, time, and what is counted. `CHAOS_DEPTH=full` runs 100,000 commands, `MODEL_COMMANDS` as many as it says.

const COMMANDS = Number(process.env['MODEL_COMMANDS'] ?? (isFull ? 100_000 : 300));
const IN_A_LIFE = 50;
const BY = { userId: null, impersonatorId: null, ip: null };
const COUNTED: readonly Counted[] = ['channel', 'team_members', 'webhooks', 'posts_per_month', 'storage_gb'];
const GB = 1024 ** 3;

let db: TestDatabase;
let world: Publisher;
let processor: PaymentProcessor;
let payments: Payments;
let opened: OpenPayments;
let commands = 0;
beforeAll(async () => {
  opened = await openPayments();
  ({ db, world, processor, payments } = opened);
});
afterAll(() => opened[Symbol.asyncDispose]());

/** The org that lives, as the tests reach it. */
interface Life {
  orgId: string;
  /** Events that were told before are not its own. */
  from: number;
  heard: number;
  channels: string[];
  members: string[];
  /** Files that count, as the model has them. */
  files: string[];
  /** The subscriptions at the processor that run. */
  plan?: string | undefined;
  packs: Partial<Record<Counted, string>>;
}
async function born(): Promise<Life> {
  const [orgId, owner] = [newId(), newId()];
  await db.sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
  await member(orgId, owner, 'owner', 0);
  return {
    orgId,
    from: processor.told.length,
    heard: processor.told.length,
    channels: [],
    members: [owner],
    files: [],
    packs: {},
  };
}
async function member(orgId: string, id: string, role: string, n: number): Promise<void> {
  await db.sql`
    insert into users (id, email, provider_name, provider_id) values (${id}, ${`${id}@example.com`}, 'local', ${id})`;
  await db.sql`
    insert into memberships (org_id, user_id, role_key, created_at)
    values (${orgId}, ${id}, ${role}, ${new Date(1_700_000_000_000 + n * 1_000)})`;
}

const shuffled = <T>(list: readonly T[], seed: number): T[] => {
  const left = [...list];
  const result: T[] = [];
  for (let state = seed; left.length > 0;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    result.push(...left.splice(state % left.length, 1));
  }
  return result;
};
const send = ({ text }: { text: string }) => payments.receive(Buffer.from(text), processor.sign(text));
/** What was told and not delivered yet, each twice at once, in an order of its own; then what follows from it. */
async function deliver(life: Life, seed: number): Promise<void> {
  for (;;) {
    const waiting = processor.told.slice(life.heard);
    life.heard = processor.told.length;
    for (const event of shuffled(waiting, seed)) await Promise.all([send(event), send(event)]);
    await payments.sweep(100);
    if (life.heard === processor.told.length) return;
  }
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof AppError && error.status < 500) return error.code;
      throw error;
    },
  );
const payOn = (url: string, good: boolean) => processor.pay(url.split('/').at(-1)!, { good });

/** The rows that count, one by one, in the order of `COUNTED`. */
async function recount(orgId: string): Promise<number[]> {
  const { month } = await world.billing.findEntitlement(db.sql, orgId);
  const [row] = await db.sql<{ counts: number[] }[]>`
    select array[
      (select count(*)
        from channels
        where org_id = ${orgId} and deleted_at is null and not disabled and not refresh_needed),
      (select count(*) from memberships where org_id = ${orgId} and not disabled),
      (select count(*) from webhooks where org_id = ${orgId} and deleted_at is null),
      (select count(*) from posts where org_id = ${orgId} and root_post_id is null and created_at >= ${month.start}),
      (select coalesce(sum(bytes), 0)
        from files
        where org_id = ${orgId} and deleted_at is null and source_url is null and not own_storage) / ${GB}
    ]::float8[] as counts`;
  return row!.counts;
}
async function agrees(model: Model, { orgId, channels, members }: Life): Promise<void> {
  const row = await payments.subscription(orgId);
  const { limits } = await world.billing.usage(orgId);
  const [org] = await db.sql<{ allowTrial: boolean; channels: string[]; members: string[]; posts: number | null }[]>`
    select o.allow_trial as "allowTrial",
      array(select id::text from channels where org_id = o.id and not disabled) as channels,
      array(select user_id::text from memberships where org_id = o.id and not disabled) as members
        from organizations o
        where id = ${orgId}`;
  const grace = (left: number | null) => (left === null ? 'none' : left > 0 ? 'runs' : 'over');
  const end = row?.gracePeriodEnd;
  model.allowTrial ??= org!.allowTrial;
  const seen = {
    plan: row
      ? {
          tier: row.tier,
          pending: row.pendingTier,
          paid: row.processorId !== null,
          lifetime: row.isLifetime,
          trial: row.isTrial,
          cancelling: row.cancelAt !== null,
          grace: grace(end ? Math.max(0, end.getTime() - new Date().getTime()) : null),
        }
      : null,
    allowTrial: org!.allowTrial,
    limits: COUNTED.map((of) => limits[of].effective),
    used: COUNTED.map((of) => limits[of].used),
    recounted: await recount(orgId),
    channels: channels.map((id) => org!.channels.includes(id)),
    members: members.map((id) => org!.members.includes(id)),
  };
  expect(seen).toEqual({
    plan: model.plan && { ...model.plan, grace: grace(model.plan.grace) },
    allowTrial: model.allowTrial,
    limits: COUNTED.map((of) => plain.limit(model, of)),
    used: COUNTED.map((of) => plain.used(model, of)),
    recounted: COUNTED.map((of) => plain.used(model, of)),
    channels: model.channels,
    members: model.members,
  });
}

interface Step {
  name: string;
  /** Whether it can be asked for; the model is not `behind` unless `atProcessor`. */
  can?(model: Model): boolean;
  /** It happens at the processor: until its events are delivered the org is behind. */
  atProcessor?: true;
  run(model: Model, life: Life): Promise<void>;
}
type Command = fc.AsyncCommand<Model, Life>;
const asCommand = ({ name, can, atProcessor, run }: Step, hold: boolean, seed: number): Command => ({
  check: (model) => (atProcessor || !model.behind) && (can?.(model) ?? true),
  async run(model, life) {
    commands += 1;
    processor.advance(seed % 20);
    await run(model, life);
    if (hold) model.behind ||= atProcessor ?? false; // what we asked for ourselves is known without its events
    else {
      await deliver(life, seed);
      model.behind = false;
    }
    if (!model.behind) await agrees(model, life);
  },
  toString: () => `${name}${hold ? ', held' : `, order ${seed}`}`,
});

const paid = ({ plan }: Model) => plan?.paid ?? false;
const tier = fc.constantFrom<Tier>(...TIERS);
const counted = fc.constantFrom<Counted>(...COUNTED);
const at = (model: Model, list: 'channels' | 'members', n: number) => n % Math.max(1, model[list].length);
const admitted = (work: (tx: Sql) => Promise<unknown>) => codeOf(db.sql.begin(work));
const granted = (room: boolean) => (room ? 'done' : 'limit_exceeded');

const steps: fc.Arbitrary<Step>[] = [
  fc.record({ wanted: tier, good: fc.boolean() }).map(({ wanted, good }) => ({
    name: `buy ${wanted} with a ${good ? 'good' : 'bad'} card`,
    can: (model) => !paid(model) && !model.plan?.lifetime && (good || model.allowTrial === true),
    async run(model, life) {
      const ordered = await payments.subscribe(
        life.orgId,
        { ...BY, userId: life.orgId },
        { tier: wanted, period: 'MONTHLY' },
      );
      if (!('url' in ordered)) throw new Error('no page');
      const { id } = payOn(ordered.url, good);
      model.behind = true;
      if (!good) return;
      life.plan = id;
      plain.begin(model, wanted);
      model.cardWorks = true;
    },
  })),
  tier.map((wanted) => ({
    name: `order ${wanted}`,
    can: paid,
    async run(model, { orgId }) {
      const outcome = plain.order(model, wanted);
      const seen = await payments.subscribe(orgId, { ...BY, userId: orgId }, { tier: wanted, period: 'MONTHLY' }).then(
        (ordered) => ('portal' in ordered ? 'portal' : 'changed'),
        (error: AppError) => error.code,
      );
      expect(seen).toBe(outcome);
    },
  })),
  fc.constant({
    name: 'a period ends',
    atProcessor: true as const,
    can: (model: Model) => paid(model) && !(model.behind && model.plan!.grace !== null),
    async run(model: Model, life: Life) {
      processor.renew(life.plan!);
      plain.renew(model);
    },
  }),
  fc.boolean().map((works) => ({
    name: `the card ${works ? 'works' : 'does not work'}`,
    can: paid,
    async run(model, life) {
      processor.setCard(life.plan!, works);
      model.cardWorks = works;
    },
  })),
  fc.constant({
    name: 'what is owed is collected',
    atProcessor: true as const,
    can: (model: Model) => paid(model) && model.plan!.grace !== null && !model.behind,
    async run(model: Model, life: Life) {
      processor.setCard(life.plan!, true);
      processor.collect(life.plan!);
      model.cardWorks = true;
      plain.pay(model);
      plain.startPending(model);
    },
  }),
  fc.constant({
    name: 'it ends at the processor',
    atProcessor: true as const,
    can: (model: Model) => paid(model) && !(model.behind && model.tookOver),
    async run(model: Model, life: Life) {
      processor.end(life.plan!);
      plain.end(model);
      if (model.behind) model.allowTrial = null;
    },
  }),
  fc.boolean().map((undo) => ({
    name: undo ? 'go on after all' : 'cancel',
    can: paid,
    async run(model, { orgId }) {
      await payments.cancel(orgId, BY, { feedback: '', undo });
      model.plan!.cancelling = !undo;
    },
  })),
  fc.constant({
    name: 'cancel now',
    async run(model: Model, { orgId }: Life) {
      expect(await codeOf(payments.cancelNow(orgId, BY))).toBe(paid(model) ? 'done' : 'conflict');
      if (paid(model)) plain.end(model);
    },
  }),
  fc.constant({
    name: 'finish the trial',
    async run(model: Model, { orgId }: Life) {
      const inTrial = paid(model) && model.plan!.trial;
      expect(await codeOf(payments.finishTrial(orgId, BY))).toBe(inTrial ? 'done' : 'conflict');
      if (!inTrial) return;
      const { cancelling } = model.plan!;
      model.plan!.cancelling = false;
      plain.renew(model);
      if (model.plan) model.plan.cancelling = cancelling;
    },
  }),
  fc.integer({ min: 1, max: 8 }).map((days) => ({
    name: `${days} days pass`,
    async run(model, { orgId }) {
      await db.sql`
        update subscriptions
        set grace_period_end = grace_period_end - ${days}::float8 * interval '1 day',
          grace_due_at = grace_due_at - ${days}::float8 * interval '1 day'
        where org_id = ${orgId}`;
      for (let n = 0; n < 3; n++) await payments.sweep(100);
      plain.passDays(model, days);
    },
  })),
  fc.constant({
    name: 'a month passes',
    async run(model: Model, { orgId }: Life) {
      const days = 31;
      for (const table of ['organizations', 'subscriptions', 'posts'])
        await db.sql`
          update ${db.sql(table)}
          set created_at = created_at - ${days}::float8 * interval '1 day'
          where ${table === 'organizations' ? db.sql`id` : db.sql`org_id`} = ${orgId}`;
      model.posts = 0;
      model.postsOfOrg = 0;
    },
  }),
  fc.constant({
    name: 'connect a channel',
    can: (model: Model) => model.channels.length < 40,
    async run(model: Model, life: Life) {
      const id = newId();
      const result = await admitted(async (tx) => {
        await world.billing.admit(tx, life.orgId, 'channel');
        await tx`
          insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, created_at)
          values (${id}, ${life.orgId}, 'fake', 'v1', ${id}, 'Channel', 'v2:none',
            ${new Date(1_700_000_000_000 + model.channels.length * 1_000)})`;
      });
      expect(result).toBe(granted(plain.hasRoom(model, 'channel')));
      if (result !== 'done') return;
      life.channels.push(id);
      model.channels.push(true);
    },
  }),
  fc.nat(40).map((n) => ({
    name: `switch channel ${n}`,
    can: (model) => model.channels.length > 0,
    async run(model, life) {
      const which = at(model, 'channels', n);
      const id = life.channels[which]!;
      if (model.channels[which]) {
        await disable(db.sql, life.orgId, id);
        model.channels[which] = false;
        return;
      }
      const room = plain.hasRoom(model, 'channel');
      expect(await codeOf(enable(db.sql, startingWith(world.billing), life.orgId, id))).toBe(granted(room));
      model.channels[which] = room;
    },
  })),
  fc.constant({
    name: 'a member joins',
    can: (model: Model) => model.members.length < 40,
    async run(model: Model, life: Life) {
      const id = newId();
      await db.sql`
        insert into users (id, email, provider_name, provider_id)
        values (${id}, ${`${id}@example.com`}, 'local', ${id})`;
      const result = await admitted(async (tx) => {
        await world.billing.admit(tx, life.orgId, 'team_members');
        await tx`
          insert into memberships (org_id, user_id, role_key, created_at)
          values (${life.orgId}, ${id}, 'editor', ${new Date(1_700_000_000_000 + model.members.length * 1_000)})`;
      });
      expect(result).toBe(granted(plain.hasRoom(model, 'team_members')));
      if (result !== 'done') return;
      life.members.push(id);
      model.members.push(true);
    },
  }),
  fc.nat(40).map((n) => ({
    name: `switch member ${n}`,
    can: (model) => model.members.length > 1,
    async run(model, life) {
      const which = 1 + (n % (model.members.length - 1)); // not the owner
      const had = model.members[which]!;
      const room = had || plain.hasRoom(model, 'team_members');
      const result = await admitted(async (tx) => {
        if (!had) await world.billing.admit(tx, life.orgId, 'team_members');
        await tx`
          update memberships set disabled = ${had} where org_id = ${life.orgId} and user_id = ${life.members[which]!}`;
      });
      expect(result).toBe(granted(room));
      if (room) model.members[which] = !had;
    },
  })),
  fc.constant({
    name: 'a webhook is made',
    async run(model: Model, { orgId }: Life) {
      const result = await admitted(async (tx) => {
        await world.billing.admit(tx, orgId, 'webhooks');
        await tx`
          insert into webhooks (id, org_id, name, url) values (${newId()}, ${orgId}, 'Hook', 'https://example.com/')`;
      });
      expect(result).toBe(granted(plain.hasRoom(model, 'webhooks')));
      if (result === 'done') model.webhooks += 1;
    },
  }),
  fc.nat(40).map((n) => ({
    name: `a webhook is deleted (${n})`,
    can: (model) => model.webhooks > 0,
    async run(model, { orgId }) {
      await db.sql`
        update webhooks set deleted_at = now()
        where id = (select id
        from webhooks
        where org_id = ${orgId} and deleted_at is null
        order by id
        offset ${n % model.webhooks} limit 1)`;
      model.webhooks -= 1;
    },
  })),
  fc.record({ gb: fc.integer({ min: 1, max: 20 }), own: fc.boolean() }).map(({ gb, own }) => ({
    name: `a file of ${gb} GB${own ? ' in its own storage' : ''}`,
    async run(model, life) {
      const file = {
        org_id: life.orgId,
        name: 'x',
        original_name: 'x',
        kind: 'video',
        mime: 'video/mp4',
        bytes: gb * GB,
        own_storage: own,
      };
      const id = newId();
      const result = await admitted(async (tx) => {
        if (!own) await world.billing.admit(tx, life.orgId, 'storage_gb', gb * GB);
        await tx`insert into files ${tx({ ...file, id, storage_key: id })}`;
      });
      expect(result).toBe(granted(own || plain.hasRoom(model, 'storage_gb', gb)));
      if (own || result !== 'done') return;
      life.files.push(id);
      model.files.push(gb);
    },
  })),
  fc.nat(40).map((n) => ({
    name: `file ${n} is deleted`,
    can: (model) => model.files.length > 0,
    async run(model, life) {
      const which = n % model.files.length;
      await db.sql`update files set deleted_at = now() where id = ${life.files[which]!}`;
      life.files.splice(which, 1);
      model.files.splice(which, 1);
    },
  })),
  fc.integer({ min: 1, max: 60 }).map((many) => ({
    name: `${many} posts`,
    can: (model) => model.channels.includes(true),
    async run(model, life) {
      const channel = life.channels[model.channels.indexOf(true)]!;
      const create = Array.from({ length: many }, () => newPost(channel, { state: 'DRAFT' }));
      const room = plain.hasRoom(model, 'posts_per_month', many);
      expect(await codeOf(admit(world, life.orgId, create))).toBe(granted(room));
      if (!room) return;
      model.posts += many;
      model.postsOfOrg += many;
    },
  })),
  fc.record({ of: counted, packs: fc.integer({ min: 1, max: 4 }) }).map(({ of, packs }) => ({
    name: `${packs} packs of ${of}`,
    can: (model) => model.plan !== null,
    async run(model, life) {
      const had = (model.packs[of] ?? 0) > 0;
      const work = payments.setAddon(life.orgId, { ...BY, userId: life.orgId }, of, packs);
      if (model.plan!.lifetime) return void expect(await codeOf(work)).toBe('lifetime_no_addons');
      const answer = await work;
      if (model.plan!.grace !== null) return void expect(answer).toEqual({ url: expect.stringContaining('/portal/') });
      expect('url' in answer).toBe(!had);
      if ('url' in answer) {
        life.packs[of] = payOn(answer.url, true).id;
        model.behind = true;
      }
      plain.setPacks(model, of, packs);
    },
  })),
  counted.map((of) => ({
    name: `packs of ${of} end`,
    can: (model) => (model.packs[of] ?? 0) > 0,
    async run(model, life) {
      await payments.removeAddon(life.orgId, BY, of);
      await deliver(life, 1);
      processor.renew(life.packs[of]!);
      await deliver(life, 1);
      plain.setPacks(model, of, 0);
    },
  })),
  fc.record({ of: counted, value: fc.option(fc.integer({ min: 0, max: 12 })) }).map(({ of, value }) => ({
    name: `${of} is overridden with ${value}`,
    async run(model, { orgId }) {
      await world.billing.overrideLimits(orgId, BY, { [of]: value });
      if (value === null) delete model.overrides[of];
      else model.overrides[of] = value;
    },
  })),
  fc.constant({
    name: 'a code for life',
    async run(model: Model, { orgId }: Life) {
      const [code] = await payments.mintCodes(BY, 1);
      expect(await codeOf(payments.redeem(orgId, BY, code!))).toBe(model.plan?.lifetime ? 'invalid_request' : 'done');
      if (!model.plan?.lifetime) plain.giveForLife(model);
      expect(await codeOf(payments.redeem(orgId, BY, code!))).toBe('invalid_request');
    },
  }),
  tier.map((wanted) => ({
    name: `an operator gives ${wanted}`,
    async run(model, { orgId }) {
      expect(await codeOf(db.sql.begin((tx) => payments.grant(tx, orgId, BY, wanted)))).toBe(
        paid(model) ? 'conflict' : 'done',
      );
      if (!paid(model)) plain.grant(model, wanted);
    },
  })),
  fc.nat().map((seed) => ({
    name: `events of long ago again, order ${seed}`,
    async run(_, life) {
      for (const event of shuffled(processor.told.slice(life.from, life.heard), seed).slice(0, 6))
        expect(await send(event)).toEqual({ ok: true, ignored: true });
    },
  })),
];

const lives = fc.commands(
  steps.map((step) => fc.tuple(step, fc.boolean(), fc.nat()).map(([one, hold, seed]) => asCommand(one, hold, seed))),
  { size: 'max', maxCommands: IN_A_LIFE },
);

async function live(script: Iterable<Command>): Promise<void> {
  const life = await born();
  await fc.asyncModelRun(() => ({ model: plain.newModel(), real: life }), script);
  await deliver(life, 1);
}

test('the model and the service agree after every command of random lives [BI5, BI14, BI23, BI28, BI51, LM9, LM10, LM12, LM13, LM14, LM16, LM19, S78]', async () => {
  const until = commands + COMMANDS;
  while (commands < until) await fc.assert(fc.asyncProperty(lives, live), { numRuns: 1, endOnFailure: false });
  expect(commands).toBeGreaterThanOrEqual(COMMANDS);
  process.stderr.write(`${commands} commands of the billing model\n`);
}, 86_400_000);
