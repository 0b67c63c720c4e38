import type { Context } from '../../../../src/context.ts';
import { eventually } from '../../wire/eventually.ts';
import { mailsOf } from './mails.ts';

/** Writes what was asked for behind answers, and gives the mails to an address, oldest first. */
export async function contentsTo(context: Context, email: string) {
  await eventually(
    'what was asked for is written',
    async () => (await context.sql`select 1 from mail_requests`).length === 0,
  );
  return (await mailsOf(context, email)).map(({ content }) => content);
}

/** The link of the latest content of a template to an address. */
export async function linkTo(context: Context, email: string, template: string): Promise<string> {
  const content = (await contentsTo(context, email)).findLast((one) => one.template === template);
  if (!content || !('url' in content.data)) throw new Error(`No ${template} went to ${email}`);
  return content.data.url;
}

/** The code at the end of that link. */
export const codeTo = async (context: Context, email: string, template: string): Promise<string> =>
  (await linkTo(context, email, template)).split('/').at(-1)!;
