import { AppError } from '../../platform/kernel/index.ts';
import type { NotificationsDeps } from './deps.ts';

const broken = () => new AppError('invalid_token', 'This link is not complete, or older than two years');

/** Whether the token of a mail is good; nothing is changed. */
export async function checkUnsubscribe({ tokens }: Pick<NotificationsDeps, 'tokens'>, token: string): Promise<void> {
  if (!(await tokens.verifyUnsubscribe(token))) throw broken();
}

/**
 * Takes somebody off what their mail was about: its categories, broadcasts too, or all digests. Without a login, and as
 * often as it is asked for (S181).
 */
export async function unsubscribe(
  { tokens, identity }: Pick<NotificationsDeps, 'tokens' | 'identity'>,
  token: string,
): Promise<void> {
  const claims = await tokens.verifyUnsubscribe(token);
  if (!claims) throw broken();
  const { sub, of } = claims;
  const off = of.filter((one) => one !== 'digest');
  await identity.updatePreferences(sub, {
    ...(off.length > 0 && {
      categories: Object.fromEntries(off.map((category) => [category, { email: false }])),
      unsubscribed: off,
    }),
    ...(of.includes('digest') && { digest: 'Never' as const }),
  });
}
