// A process of the product for the benchmark `ai-budget`: texts by a provider that answers at once, a cent each.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { AppError, newId } from '../../../../src/platform/kernel/index.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { scriptedAi } from '../../../support/worlds/studio/scripted-ai.ts';
import { answering } from '../../kit/answering.ts';
import { raceFor } from '../../kit/grants.ts';

const { databaseUrl } = JSON.parse(process.argv[2]!) as { databaseUrl: string };
let commits = 0;
const onStatement = (text: string) => void (/^commit/i.test(text) && (commits += 1));
const sql = openDatabase({ url: databaseUrl, onStatement });
const acme = scriptedAi('acme');
const { context } = await testApp({ sql, adapters: [acme.adapter] });
const { budget, providerSettings, texts } = context;
const BY = { userId: null, impersonatorId: null, ip: null };

const taken = (error: unknown) => {
  if (error instanceof AppError && error.code === 'limit_exceeded') return false;
  throw error;
};
answering({
  async org({ cents }: { cents: number }) {
    const orgId = newId();
    await sql`insert into organizations (id, name) values (${orgId}, 'Bench')`;
    const setting = {
      domain: 'ai',
      providerId: 'acme',
      credentials: { apiKey: 'key' },
      options: { prices: '{"acme-1":{"perCall":0.01}}' },
    };
    await providerSettings.create(orgId, setting, BY);
    await budget.change(orgId, { monthlyCents: cents }, BY);
    return orgId;
  },
  async race({ orgId, callers, requests }: { orgId: string; callers: number; requests: number }) {
    acme.asked.length = 0;
    commits = 0;
    const asker = { orgId, userId: newId() };
    const write = () => texts.write(asker, { action: 'rewrite', content: 'A text' }).then(() => true, taken);
    return { ...(await raceFor(callers, requests, write)), commits };
  },
});
