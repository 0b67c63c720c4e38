import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { FIRST_OWNER } from '../../../src/delivery/email/rules.ts';
import { claimDueMail } from '../../../src/delivery/email/store.ts';
import { isUndeliverable, type MailContent } from '../../../src/delivery/email/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { mailServer, type MailServer } from '../../support/peers/mail-server.ts';
import { openSender, type SenderSetup, startSenderProcess } from '../../support/worlds/mail/world.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { freePort } from '../../support/wire/ports.ts';

const content = (url = 'https://app.example.com/auth/activate/a-secret-code'): MailContent => ({
  template: 'activation',
  data: { name: 'Ann', url },
});

const NOTICE: MailContent = {
  template: 'notification',
  data: {
    name: 'Ann',
    heading: 'News',
    groups: [{ orgName: 'Acme', lines: [{ title: 'News', content: 'There is some.', url: null }], more: 0 }],
    unsubscribeUrl: 'https://api.example.com/notifications/unsubscribe?token=t',
  },
};

await describePeer(
  'email',
  () => npmPeer('email'),
  ({ start }) => {
    let peer: Peer;
    let server: MailServer;
    let db: Awaited<ReturnType<typeof testDatabase>>;
    let setup: SenderSetup;
    let room: Awaited<ReturnType<typeof openSender>>;
    const senders: AsyncDisposable[] = [];
    let addresses = 0;
    const address = (name = 'ann') => `${name}-${(addresses += 1)}@example.com`;

    beforeAll(async () => {
      peer = await start();
      server = mailServer(peer);
      db = await testDatabase();
      setup = {
        url: db.url,
        port: await server.listen({ starttls: true, port: await freePort() }),
        cert: server.certificate.cert,
        leaseSeconds: 120,
      };
    });
    beforeEach(async () => {
      room = await openSender(setup);
    });
    afterEach(async () => {
      for (const sender of senders.splice(0)) await sender[Symbol.asyncDispose]();
      await room[Symbol.asyncDispose]();
      await db.sql`delete from emails`;
    });
    afterAll(async () => {
      await peer.stop();
      await db[Symbol.asyncDispose]();
    });

    const send = (from = room, leaseSeconds = 120) =>
      void senders.push(from.email.startSender({ leaseSeconds, restMs: 50 })!);
    const queue = (to: string, what = content()) => room.email.queue(db.sql, { to, orgId: null, content: what });
    const rowOf = async (to: string) => (await db.sql`select * from emails where to_address = ${to}`)[0]!;
    const isSilent = async (to: string) =>
      (await db.sql<{ is: boolean }[]>`select ${isUndeliverable(db.sql, db.sql`${to}::text`)} as is`)[0]!.is;
    const comes = (to: string, status: string) =>
      eventually(`the mail to ${to} is ${status}`, async () => (await rowOf(to))['status'] === status);

    test('a mail goes `queued`, then `sent`, arrives once, and its content is erased [EM1]', async () => {
      const to = address();
      await queue(to);
      expect(await rowOf(to)).toMatchObject({
        status: 'queued',
        template: 'activation',
        provider_id: 'smtp',
        provider_version: 'v1',
        attempts: 0,
        sent_at: null,
      });
      send();
      await comes(to, 'sent');
      const [mail, ...more] = await server.mails(to);
      expect(more).toEqual([]);
      const row = await rowOf(to);
      expect(row).toMatchObject({
        content: null,
        attempts: 1,
        next_attempt_at: null,
        last_error: null,
        sent_at: expect.any(Date),
      });
      expect(mail!.messageId).toBe(`<${row['provider_message_id']}>`);
      expect(mail!.text).toContain('https://app.example.com/auth/activate/a-secret-code');
      expect([mail!.subject, mail!.secure]).toEqual(['Activate your account at Rookery', true]);
    });

    test('no column holds the link of a waiting mail in clear text [X19]', async () => {
      await queue(address());
      const [row] = await db.sql<{ whole: string }[]>`select e::text as whole from emails e`;
      expect(row!.whole).toContain('v2:');
      expect(row!.whole).not.toContain('a-secret-code');
    });

    test('a mail is stored exactly when its transaction commits', async () => {
      const [kept, dropped] = [address(), address()];
      await db.sql.begin((tx) => room.email.queue(tx, { to: kept, orgId: null, content: content() }));
      await db.sql
        .begin(async (tx) => {
          await room.email.queue(tx, { to: dropped, orgId: null, content: content() });
          throw new Error('rolled back');
        })
        .catch(() => undefined);
      send();
      await comes(kept, 'sent');
      expect([(await server.mails(kept)).length, (await server.mails(dropped)).length, await rowOf(dropped)]).toEqual([
        1,
        0,
        undefined,
      ]);
    });

    test('three senders share a hundred mails, and each arrives once', async () => {
      await using second = await openSender(setup);
      await using third = await openSender(setup);
      const all = Array.from({ length: 100 }, () => address('many'));
      for (const to of all) await queue(to);
      for (const one of [room, second, third]) send(one);
      await eventually(
        'all are sent',
        async () => (await db.sql`select 1 from emails where status <> 'sent'`).length === 0,
      );
      const got = (await server.mails()).map(({ envelope }) => envelope.to[0]!).filter((to) => to.startsWith('many-'));
      expect(got.toSorted()).toEqual(all.toSorted());
      for (const sender of senders.splice(0)) await sender[Symbol.asyncDispose]();
    });

    test('notices of a broadcast wait behind a mail that somebody waits for, by an index', async () => {
      const [reset, notice] = [address('reset'), address('notice')];
      await db.sql`
        insert into emails (id, to_address, template, content, provider_id, provider_version, next_attempt_at)
        select gen_random_uuid(), ${notice}, 'notification', 'v2:x', 'smtp', 'v1', now() - interval '1 hour'
        from generate_series(1, 20000)`;
      await queue(reset);
      await db.sql`analyze emails`;
      db.statements.length = 0;
      const claimed = await claimDueMail(db.sql, { limit: 4, leaseSeconds: 120, after: FIRST_OWNER });
      expect(claimed.map(({ to }) => to).toSorted()).toEqual([notice, notice, notice, reset]);
      const [text] = db.statements.filter((one) => one.includes('waited_for'));
      const asked = text!.replace(/\$\d+(?=::uuid)/g, `'${FIRST_OWNER}'`).replace(/\$\d+/g, '4');
      const plan = JSON.stringify((await db.sql.unsafe(`explain (analyze, format json) ${asked}`))[0]!['QUERY PLAN']);
      expect(plan).not.toContain('"Seq Scan"');
      for (const [, rows] of plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":\s*(\d+)/g))
        expect(Number(rows)).toBeLessThanOrEqual(4);
    });

    test('notices of one organization hold up those of another by a few mails, however many there are', async () => {
      const notice = (orgId: string | null, to: string) => ({ to, orgId, content: NOTICE });
      const orgs = [newId(), newId(), newId()];
      for (const id of orgs) await db.sql`insert into organizations (id, name) values (${id}, 'Acme')`;
      for (const many of orgs.slice(0, 2))
        await room.email.queueAll(
          db.sql,
          Array.from({ length: 60 }, () => notice(many, address('many'))),
        );
      const few = [address('few'), address('few'), address('few')];
      await room.email.queueAll(db.sql, [notice(orgs[2]!, few[0]!), notice(orgs[2]!, few[1]!), notice(null, few[2]!)]);
      send();
      await eventually(
        'all are sent',
        async () => (await db.sql`select 1 from emails where status <> 'sent'`).length === 0,
      );
      const sent = (await db.sql<{ to: string }[]>`select to_address as "to" from emails order by sent_at`).map(
        ({ to }) => to,
      );
      for (const to of few) expect(sent.indexOf(to)).toBeLessThan(20); // a round is four mails, and four are under way
    });

    test('a temporary refusal is retried later, and the mail is sent', async () => {
      const to = address('busy-2');
      let before = new Date().getTime();
      await queue(to);
      send();
      for (const attempt of [1, 2]) {
        await eventually('it was tried', () => room.attempted().length >= attempt);
        const row = await rowOf(to);
        expect(row).toMatchObject({ status: 'queued', last_error: expect.stringContaining('451') });
        expect(row['next_attempt_at'].getTime() - before).toBeGreaterThan(3_000);
        before = new Date().getTime();
        await db.sql`
          update emails
          set next_attempt_at = now()
          where to_address = ${to} and attempts = ${attempt}`; // unless its time has come already
      }
      await comes(to, 'sent');
      expect(room.attempted().map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
        [1, 'retried'],
        [2, 'retried'],
        [3, 'sent'],
      ]);
      expect((await server.mails(to)).length).toBe(1);
    });

    test('a refused recipient is `bounced` at once, with the reason but without the link that the server quotes', async () => {
      const to = address('unknown');
      await queue(to);
      send();
      await comes(to, 'bounced');
      const row = await rowOf(to);
      expect(row).toMatchObject({ attempts: 1, content: null, next_attempt_at: null, sent_at: null });
      expect(row['last_error']).toMatch(/550 5\.1\.1 No mailbox .*, see …/);
    });

    test('a refused recipient silences its address until the server takes a later mail to it; refused content does not', async () => {
      const [unknown, refused] = [address('unknown'), address('content')];
      for (const to of [unknown, refused]) await queue(to);
      send();
      for (const to of [unknown, refused]) await comes(to, 'bounced');
      expect([await isSilent(unknown.toUpperCase()), await isSilent(refused)]).toEqual([true, false]);
      await db.sql`
        insert into emails (id, to_address, template, provider_id, provider_version, status, next_attempt_at, sent_at)
        values (${newId()}, ${unknown}, 'activation', 'smtp', 'v1', 'sent', null, now())`;
      expect(await isSilent(unknown)).toBe(false);
    });

    test('the last failed attempt ends the mail', async () => {
      const to = address('busy-9');
      await queue(to);
      await db.sql`update emails set attempts = 10`;
      send();
      await comes(to, 'bounced');
      expect(await rowOf(to)).toMatchObject({
        attempts: 11,
        content: null,
        last_error: expect.stringContaining('451'),
      });
    });

    test('mails wait while the server is away, and leave when it is back', async () => {
      const to = address();
      await server.close(setup.port);
      await queue(to);
      send();
      await eventually('it was tried', async () => room.attempted().length === 1);
      expect(await rowOf(to)).toMatchObject({ status: 'queued', last_error: expect.stringContaining('ECONNREFUSED') });
      await server.listen({ starttls: true, port: setup.port });
      await db.sql`update emails set next_attempt_at = now()`;
      await comes(to, 'sent');
    });

    test('a process killed between commit and sending loses no mail', async () => {
      const to = address();
      const killed = await startSenderProcess({ ...setup, port: 1, leaseSeconds: 1 }); // it can reach no server
      await queue(to);
      await eventually('it was taken', async () => (await rowOf(to))['attempts'] > 0);
      await killed.kill();
      await db.sql`update emails set next_attempt_at = now()`;
      send();
      await comes(to, 'sent');
      expect((await server.mails(to)).length).toBe(1);
    });

    test('a process killed while the server takes a mail leaves it to another, under the same Message-ID', async () => {
      const to = address('held');
      const killed = await startSenderProcess(setup);
      await queue(to);
      await eventually('the server has it', async () => (await server.held(to)).length === 1);
      await killed.kill();
      await server.release(to);
      await db.sql`update emails set next_attempt_at = now()`; // its lease is over
      send();
      await comes(to, 'sent');
      const mails = await server.mails(to);
      expect([1, 2]).toContain(mails.length); // at least once: the server may have kept what it was given
      expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(1);
      expect((await rowOf(to))['attempts']).toBe(2);
    });

    test('a sender whose lease is overtaken cannot overwrite the result of the next one', async () => {
      const to = address('held');
      await queue(to);
      send(room, 0.3); // it is taken again while it is under way
      await eventually('the server has it twice', async () => (await server.held(to)).length > 1);
      await server.release(to);
      await comes(to, 'sent');
      await eventually(
        'every attempt has ended',
        async () => room.attempted().length === (await rowOf(to))['attempts'],
      );
      expect(await rowOf(to)).toMatchObject({ status: 'sent', content: null, last_error: null });
    });

    test('log entries are deleted when they are older than their retention days [RT5]', async () => {
      const [old, young] = [address(), address()];
      await queue(old);
      await queue(young);
      await db.sql`update emails set created_at = now() - interval '91 days' where to_address = ${old}`;
      expect(await room.email.dropOld(100)).toBe(1);
      expect([await rowOf(old), (await rowOf(young))['status']]).toEqual([undefined, 'queued']);
    });

    test('what silences the address of a user stays with the log while they have it [RT5]', async () => {
      const [complained, bad, back, gone] = [address(), address(), address(), address()];
      for (const to of [complained, bad, back])
        await db.sql`
          insert into users (id, email, provider_name, provider_id, activated)
          values (${newId()}, ${to.toUpperCase()}, 'LOCAL', ${newId()}, true)`;
      const log = (to: string, status: string, days: number) => db.sql`
        insert into emails (id, to_address, template, provider_id, provider_version, status, next_attempt_at, sent_at,
          created_at, address_bad)
        select ${newId()}, ${to}, 'activation', 'smtp', 'v1', ${status}, null, at, at, ${status === 'bounced'}
        from (select now() - ${days}::int * interval '1 day' as at) t`;
      for (const to of [complained, gone]) await log(to, 'complained', 120);
      for (const to of [bad, back]) await log(to, 'bounced', 120);
      await log(back, 'delivered', 100);
      expect(await room.email.dropOld(100)).toBe(3);
      expect([await isSilent(complained), await isSilent(bad), await isSilent(back)]).toEqual([true, true, false]);
      await db.sql`delete from users`;
      expect(await room.email.dropOld(100)).toBe(2);
    });
  },
);
