import type { Context } from '../../src/context.ts';
import { type DesignPlan, wordsOfPlan } from '../../src/studio/designer/index.ts';
import type { Contents } from '../../src/studio/collaboration/index.ts';
import type { Source } from './source.ts';

const contentsOf = (plan: DesignPlan | null): Contents => ({
  content: '',
  settings: {},
  media: [],
  ...(plan && { plan: wordsOfPlan(plan) }),
});

/** The plan of a designer session: the titles and briefs of its steps, while it waits to be approved. */
export function designerSource({ designer }: Pick<Context, 'designer'>, orgId: string, id: string): Source {
  const key = { orgId, id };
  return {
    roots: ['plan'],
    async read() {
      const found = await designer.findSessionPlan(key);
      return (
        found && {
          contents: contentsOf(found.plan),
          version: `${found.state}:${found.plan?.hash ?? ''}`,
          closed: found.state === 'awaiting_plan' && found.plan ? null : 'not_awaiting_plan',
        }
      );
    },
    async prepare(wanted, _, now) {
      const planHash = now.version.slice(now.version.indexOf(':') + 1);
      const plan = await designer.judgeWords(key, { planHash, words: wanted.plan ?? {} });
      if (!plan) return { contents: now.contents, commit: async () => false };
      return { contents: contentsOf(plan), commit: () => designer.replacePlan(key, { planHash, plan }) };
    },
  };
}
