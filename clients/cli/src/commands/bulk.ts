import type { Command } from 'commander';
import { dataOf, type Schemas } from '../../../typescript/src/index.ts';
import { rowsOf } from '../bulk-file.ts';
import { RefusedError, wordsOfFault } from '../exit.ts';
import { IDEMPOTENCY_KEY, keyed, readText } from '../input.ts';
import type { Column } from '../output.ts';
import type { Session } from '../session.ts';

interface PlanOptions {
  format?: string;
  apply?: boolean;
  dryRun?: boolean;
  idempotencyKey?: string;
}

type Rows = Schemas['Plan']['rows'] | Schemas['Applied']['rows'];
const columns: readonly Column<Rows[number]>[] = [
  ['ROW', ({ index }) => index + 1],
  ['VALID', ({ valid }) => (valid ? 'yes' : 'no')],
  ['POST', ({ postId }) => postId],
  ['FAULTS', ({ errors }) => errors.map(wordsOfFault).join('; ')],
  ['WARNINGS', (row) => ('warnings' in row ? row.warnings.map(({ message }) => message).join('; ') : '')],
];

export function addBulk(program: Command, session: Session): void {
  const bulk = program.command('bulk').description('Create up to 500 posts from a file.');
  bulk
    .command('plan')
    .description('Judge each row of a file. With --apply the valid ones are created at once.')
    .argument('<file>', 'CSV with the columns channel, text, date, media, type, settings; or JSON lines; - reads stdin')
    .option('--format <format>', 'csv or jsonl; by the name of the file unless given')
    .option('--apply', 'create the valid rows')
    .option('--dry-run', 'only judge, also beside --apply')
    .option(...IDEMPOTENCY_KEY)
    .action(async (file: string, options: PlanOptions) => {
      const items = rowsOf(await readText(session, file), options.format ?? (file.endsWith('.csv') ? 'csv' : 'jsonl'));
      const { api } = await session.client();
      const apply = options.apply === true && options.dryRun !== true;
      const params = keyed(options.idempotencyKey);
      const plan = await dataOf(api.POST('/public/v1/posts/bulk', { body: { items, apply }, params }));
      session.output.say(
        apply ? `Plan ${plan.planId} is applied` : `Apply it within an hour: bulk apply ${plan.planId}`,
      );
      showRows(session, plan);
    });
  bulk
    .command('apply')
    .description('Create the valid rows of a plan, each once.')
    .argument('<plan>', 'id of the plan')
    .action(async (planId: string) => {
      const { api } = await session.client();
      const applied = await dataOf(api.POST('/public/v1/posts/bulk/{planId}/apply', { params: { path: { planId } } }));
      session.output.say(`${applied.created} created`);
      showRows(session, applied);
    });
  bulk
    .command('undo')
    .description('Delete what a plan created, within ten minutes; what is out or was edited stays.')
    .argument('<plan>', 'id of the plan')
    .action(async (planId: string) => {
      const { api } = await session.client();
      const undone = await dataOf(api.POST('/public/v1/posts/bulk/{planId}/undo', { params: { path: { planId } } }));
      session.output.one(undone, [
        ['deleted', ({ deleted }) => deleted],
        ['kept', ({ kept }) => kept.map(({ postId, reason }) => `${postId} (${reason})`).join(', ')],
      ]);
    });
}

function showRows({ output }: Session, plan: { rows: Rows }): void {
  output.many(plan, plan.rows, columns);
  const wrong = plan.rows.filter(({ valid }) => !valid).length;
  if (wrong > 0) throw new RefusedError(`${wrong} of ${plan.rows.length} rows are refused`);
}
