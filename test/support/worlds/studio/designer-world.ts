import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../../src/platform/kernel/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { type ChatQuestion, type ChatReply, isChatReply, startChatServer, textsOf } from '../../peers/chat-server.ts';
import type { TestDatabase } from '../../wire/database.ts';
import { eventually } from '../../wire/eventually.ts';
import type { SignedUp, testApp } from '../app.ts';
import { designerApp } from './designer-app.ts';
import { setProvider } from './media-jobs.ts';
import { startMaker } from './media-maker.ts';
import { type AgentName, type AgentQuestion, agentQuestionOf, type AgentReply, willing } from './scripted-agents.ts';

/** A step as a planner writes it; the rest is the usual. */
export const step = (id: string, kind: string, more: object = {}) => ({
  id,
  kind,
  title: `The ${kind}`,
  brief: `Make ${id}`,
  channelIds: [] as string[],
  size: null as string | null,
  dependsOn: [] as string[],
  ...more,
});

/** What a model was told, or an answer of the API. */
export type Told = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- judged by each test

type Said = (told: Told) => object | ChatReply | Promise<object | ChatReply>;

interface Options {
  db: TestDatabase;
  clock?: Clock;
  env?: Record<string, string>;
}

/** The product with a model on the wire that a test writes the answers of, and a maker of pictures and videos. */
export async function designerWorld({ db, clock, env = {} }: Options) {
  await using opened = new AsyncDisposableStack();
  const maker = opened.use(await startMaker(['maker']));
  const chat = opened.use(await startChatServer());
  const folder = await mkdtemp(join(tmpdir(), 'rookery-designer-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const { sql } = db;
  const servers = { ...maker.servers, 'ai/openai': chat.url };
  const open = (more: Partial<Parameters<typeof testApp>[0]> = {}) =>
    designerApp({ sql, folder, servers, env, ...(clock && { clock }), ...more });
  const app = opened.use(await open());
  const end = opened.move();

  const script = {
    /** What the planner answers, by what it was told. */
    plan: (() => ({ message: 'A plan', steps: [] })) as Said,
    /** What the writer answers. */
    copy: ((told) => ({
      texts: told['channels'].map(({ id }: Told) => ({ channelId: id, content: `Text for ${told['brief']}` })),
    })) as Said,
    /** What the agents of a content pipeline answer. */
    agents: { ...willing } as Record<AgentName, AgentReply>,
    plans: [] as Told[],
    copies: [] as Told[],
    asked: [] as AgentQuestion[],
  };
  const usual = { ...script };
  const saidTo = (question: ChatQuestion): ReturnType<Said> => {
    const agent = agentQuestionOf(question);
    if (agent) {
      script.asked.push(agent);
      return script.agents[agent.agent](agent) as ReturnType<Said>;
    }
    const [first, second] = textsOf(question);
    const told = JSON.parse(second!.split('\n')[1]!) as Told; // between the lines of its fence
    const isPlan = first!.startsWith('You plan material');
    (isPlan ? script.plans : script.copies).push(told);
    return (isPlan ? script.plan : script.copy)(told);
  };
  chat.before = async (question) => {
    const said = await saidTo(question);
    return isChatReply(said) ? said : { content: JSON.stringify(said) };
  };

  const workers: AsyncDisposable[] = [];
  return {
    app,
    open,
    folder,
    servers,
    maker,
    chat,
    script,
    /** Works on runs and media jobs, until the test ends. */
    work(process = app) {
      workers.push(process.context.runs.start(), process.context.mediaJobs.start());
    },
    /** The usual answers, and nobody works. */
    async rest() {
      Object.assign(script, usual, { agents: { ...willing }, plans: [], copies: [], asked: [] });
      maker.release();
      for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
      chat.charged.length = 0;
    },
    /** A person with a model, a maker and a channel. */
    async person({ prices }: { prices?: object } = {}): Promise<SignedUp & { channel: string }> {
      const person = await app.signUp();
      const made = await person.client.post('/providers/settings', {
        domain: 'ai',
        providerId: 'openai',
        credentials: { apiKey: 'sk-of-them' },
        ...(prices && { options: { prices: JSON.stringify(prices) } }),
      });
      if (made.status !== 201) throw new Error(made.text);
      await setProvider(person, 'maker');
      const channel = newId();
      await sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${channel}, ${person.orgId}, 'mastodon', 'v1', ${channel}, 'A channel',
          ${sealCredentials(app.context.vault, { account: channel, values: {}, grantedAt: new Date() })})`;
      return { ...person, channel };
    },
    /** Begins a session and answers its id. */
    async begin({ client }: SignedUp, body: object = {}): Promise<string> {
      const made = await client.post('/ai/designer/sessions', { prompt: 'A launch week', ...body });
      if (made.status !== 201) throw Object.assign(new Error(made.text), { answer: made });
      return made.body.id as string;
    },
    see: async ({ client }: SignedUp, id: string) => (await client.get(`/ai/designer/sessions/${id}`)).body,
    /** Waits until a session is in a state; answers it. */
    async comes({ client }: SignedUp, id: string, state: string) {
      let body: Told = {};
      try {
        await eventually(`session ${id} is ${state}`, async () => {
          body = (await client.get(`/ai/designer/sessions/${id}`)).body;
          return body['state'] === state;
        });
      } catch (error) {
        throw new Error(`${String(error)}: ${JSON.stringify(body)}`, { cause: error });
      }
      return body;
    },
    act: ({ client }: SignedUp, id: string, act: string, body: object = {}) =>
      client.post(`/ai/designer/sessions/${id}/${act}`, body),
    /** The kinds of the ledger of an organization with how often each is there, and marked. */
    ledger: async ({ orgId }: SignedUp) =>
      (
        await sql<{ kind: string; marked: boolean; n: number }[]>`
          select kind, marked, count(*)::int as n
          from ai_ledger
          where org_id = ${orgId}
          group by kind, marked
          order by kind, marked`
      ).map(({ kind, marked, n }) => `${n} ${kind}${marked ? ' marked' : ''}`),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type DesignerWorld = Awaited<ReturnType<typeof designerWorld>>;
