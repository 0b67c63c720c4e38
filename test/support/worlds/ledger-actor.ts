import { z } from 'zod';
import { actorContract, implementFor, method, nudge, reminder } from '../../../src/platform/actor-runtime/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';

/** An actor that writes what it did into a table, so that a test sees it from outside the process. */
export const ledger = actorContract('Ledger', {
  methods: {
    /** Writes a line; answers the incarnation that did. */
    note: method({ input: z.strictObject({ text: z.string() }), output: z.string() }),
    /** A turn of that length with a line at its begin and its end. */
    hold: method({ input: z.strictObject({ ms: z.number() }), output: z.string() }),
    /**
     * A turn of that length that counts in the state document at its end, and writes at its begin where that is to be
     * told; answers the count.
     */
    count: method({
      input: z.strictObject({ ms: z.number().default(0), told: z.boolean().default(false) }),
      output: z.number(),
    }),
    /** Work of that length beside the turn. */
    work: method({ input: z.strictObject({ ms: z.number() }) }),
  },
  reminders: { ring: reminder, poke: nudge },
});

export interface LedgerNeeds {
  sql: Database;
  incarnation: string;
}
export interface Line {
  actor: string;
  text: string;
  incarnation: string;
}

export const createLedger = async (sql: Database): Promise<void> =>
  void (await sql`
    create table probe_ledger (seq bigint generated always as identity,
      at timestamptz not null default clock_timestamp(), actor text not null, text text not null,
      incarnation text not null)`);
/** The lines of the actors whose ids begin so, in their order. */
export const readLedger = async (sql: Database, prefix = ''): Promise<Line[]> =>
  sql<Line[]>`select actor, text, incarnation from probe_ledger where starts_with(actor, ${prefix}) order by seq`;

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const write = ({ sql, incarnation }: LedgerNeeds, actor: string, text: string) =>
  sql`insert into probe_ledger (actor, text, incarnation) values (${actor}, ${text}, ${incarnation})`;

export const ledgerActor = implementFor<LedgerNeeds>()(ledger, {
  state: z.object({ count: z.number().default(0) }),
  methods: {
    async note({ text }, { id, ctx }) {
      await write(ctx, id, text);
      return ctx.incarnation;
    },
    async hold({ ms }, { id, ctx }) {
      await write(ctx, id, 'begin');
      await pause(ms);
      await write(ctx, id, 'end');
      return ctx.incarnation;
    },
    async count({ ms, told }, turn) {
      const next = turn.state.count + 1;
      if (told) await write(turn.ctx, turn.id, 'counting');
      await pause(ms);
      return (turn.state.count = next);
    },
    async work({ ms }, { id, ctx, beside }) {
      beside(async () => {
        await pause(ms);
        await write(ctx, id, 'worked');
      });
    },
  },
  reminders: {
    ring: async ({ id, ctx }, data) => void (await write(ctx, id, `ring ${JSON.stringify(data)}`)),
    poke: async ({ id, ctx }, data) => void (await write(ctx, id, `poke ${JSON.stringify(data)}`)),
  },
});
