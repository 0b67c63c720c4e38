import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { fc } from '../../../support/properties.ts';
import { Client, type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { contentsTo } from '../../../support/worlds/mail/links.ts';

// Ann reads one mailbox. Eve does not, and types its address wherever one can be typed. Whatever both do, in whatever
// order: no password that Eve typed opens the account of that address, and no account of Eve's gets it.

const WORDS = {
  ann: 'typed by ann',
  eve: 'typed by eve',
  reset: 'typed at a reset',
  first: 'typed after the mail',
  own: 'of an account of eve',
};

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  const quiet = await testApp({ sql: db.sql });
  await quiet.signUp(); // the first: a super-admin
  eve = await quiet.signUp({ password: WORDS.own });
  await quiet[Symbol.asyncDispose]();
  app = await testApp({ sql: db.sql, env: WITH_MAIL });
  eve.client = Object.assign(app.client(), { cookies: eve.client.cookies }) as Client;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** What is to be true of the account of that address. */
interface Model {
  known: boolean;
  active: boolean;
  password: 'ann' | 'reset' | undefined;
  /** Ann has typed her password in her browser. */
  typed: boolean;
  /** Ann's browser is logged in. */
  session: boolean;
}
interface World {
  email: string;
  browser: Client;
  model: Model;
}

const register = (client: Client, email: string, who: 'ann' | 'eve') =>
  client.post('/auth/register', {
    provider: 'LOCAL',
    email,
    password: WORDS[who],
    company: `Company of ${who}`,
    name: who,
  });
const login = (email: string, password: string) =>
  app.client().post('/auth/login', { provider: 'LOCAL', email, password });
async function codes(email: string, template: 'activation' | 'password-reset' | 'email-change'): Promise<string[]> {
  const mails = await contentsTo(app.context, email);
  return mails.flatMap((content) => (content.template === template ? [content.data.url.split('/').at(-1)!] : []));
}

async function click({ email, browser, model }: World, which: 'oldest' | 'newest', client = browser): Promise<void> {
  const links = await codes(email, 'activation');
  const code = which === 'oldest' ? links[0] : links.at(-1);
  if (code === undefined) return;
  const { status, body } = await client.post('/auth/activate', { code });
  const opens = model.known && !model.active;
  const own = client === browser && model.typed;
  expect([status, body]).toEqual([
    200,
    !opens ? { can: false } : own ? { can: true } : { can: true, setPassword: true },
  ]);
  if (!opens) return;
  Object.assign(model, {
    active: true,
    password: own ? 'ann' : undefined,
    session: model.session || client === browser,
  });
}

const STEPS: Record<string, (world: World) => Promise<void>> = {
  async 'ann registers'({ email, browser, model }) {
    expect((await register(browser, email, 'ann')).body).toEqual({ activate: true });
    Object.assign(model, { known: true, typed: model.typed || !model.active });
  },
  async 'eve registers'({ email, model }) {
    expect((await register(app.client(), email, 'eve')).body).toEqual({ activate: true });
    model.known = true;
  },
  async 'eve asks for the mail again'({ email }) {
    expect((await app.client().post('/auth/resend-activation', { email })).status).toBe(200);
  },
  'ann clicks the oldest mail': (world) => click(world, 'oldest'),
  'ann clicks the newest mail': (world) => click(world, 'newest'),
  'ann clicks on another device': (world) => click(world, 'newest', app.client()),
  async 'eve gives her own account the address'({ email }) {
    expect((await eve.client.post('/user/change-email', { email, password: WORDS.own })).status).toBe(200);
  },
  async 'ann confirms the change'({ email, browser, model }) {
    const code = (await codes(email, 'email-change')).at(-1);
    if (code === undefined) return;
    const { status, body } = await browser.post('/auth/confirm-email', { code });
    expect([status, body]).toEqual(model.session ? [200, { can: false }] : [401, expect.anything()]);
  },
  async 'ann resets the password'({ email, browser, model }) {
    await browser.post('/auth/forgot', { email });
    const token = (await codes(email, 'password-reset')).at(-1);
    expect(token !== undefined).toBe(model.known);
    if (token === undefined) return;
    const { body } = await browser.post('/auth/forgot-return', {
      token,
      password: WORDS.reset,
      repeatPassword: WORDS.reset,
    });
    expect(body).toEqual({ reset: true });
    Object.assign(model, { active: true, password: 'reset', session: false });
  },
};
const NAMES = Object.keys(STEPS);
/** What a step needs to do anything at all. */
const NEEDS: Record<string, RegExp> = {
  'eve asks for the mail again': /registers/,
  'ann clicks the oldest mail': /registers/,
  'ann clicks the newest mail': /registers/,
  'ann clicks on another device': /registers/,
  'ann confirms the change': /eve gives/,
};

/** Every order of up to `length` different steps, but for those in which a step has nothing to act on. */
function ordersOf(length: number): string[][] {
  const grow = (order: string[]): string[][] =>
    NAMES.filter((name) => !order.includes(name) && (!NEEDS[name] || order.some((one) => NEEDS[name]!.test(one))))
      .map((name) => [...order, name])
      .flatMap((longer) => (longer.length < length ? [longer, ...grow(longer)] : [longer]));
  return grow([]);
}
/** Longer ones, with repeats; always the same. */
const LONG = fc.sample(fc.array(fc.constantFrom(...NAMES), { minLength: 5, maxLength: 9 }), { seed: 7, numRuns: 25 });

async function live(order: readonly string[]): Promise<void> {
  const email = `${randomUUID()}@example.com`;
  const model: Model = { known: false, active: false, password: undefined, typed: false, session: false };
  const world: World = { email, browser: app.client(), model };
  for (const name of order) await STEPS[name]!(world);

  expect((await login(email, WORDS.eve)).status).toBe(400);
  expect((await eve.client.get('/user/self')).body).toMatchObject({ id: eve.userId, email: eve.email });
  if (model.password) expect((await login(email, WORDS[model.password])).status).toBe(200);
  if (!model.session) return;
  const self = (await world.browser.get('/user/self')).body;
  expect(self).toMatchObject({ email, activated: true, hasPassword: model.password !== undefined });
  if (model.password) {
    expect(self).toMatchObject({ name: 'ann', orgName: 'Company of ann' });
    return;
  }
  const typed = { password: WORDS.first, repeatPassword: WORDS.first };
  expect((await world.browser.post('/user/change-password', typed)).body).toEqual({ success: true });
  expect((await login(email, WORDS.first)).status).toBe(200);
}

/** Four at a time; told with the order that failed. */
async function liveAll(orders: readonly (readonly string[])[]): Promise<void> {
  const left = orders.values();
  const work = async () => {
    for (const order of left)
      await live(order).catch((cause: unknown) => {
        throw new Error(order.join(', then '), { cause });
      });
  };
  await Promise.all(Array.from({ length: 4 }, work));
}

describe('two people with one mailbox', () => {
  const orders = ordersOf(3);
  test('the orders cover every action of both', () => {
    expect(orders.length).toBeGreaterThan(140);
    for (const name of NAMES) expect(orders.some((order) => order.includes(name))).toBe(true);
  });
  test(
    'no order of three steps opens the account by a password typed in another browser [S34]',
    () => liveAll(orders),
    600_000,
  );
  test('no longer order with repeated steps does so either [S34]', () => liveAll(LONG), 600_000);
});
