import { draining, invalidField } from '../../kernel/index.ts';
import { checkReminder } from '../address.ts';
import type { Address, Reminder, ReminderCounts } from '../engine.ts';
import type { SidecarLink } from './link.ts';

/** How long one count of the reminders serves everybody who asks. */
const COUNT_MS = 10_000;

/** Sets reminders of actors whose types this process hosts. */
export async function setReminders(link: SidecarLink, list: readonly Reminder[]): Promise<void> {
  for (const { name, due, ...to } of list) {
    checkReminder(to, name);
    if (Number.isNaN(due.getTime())) throw invalidField('due', 'must be a date', 'invalid');
  }
  if (link.left) throw draining();
  const foreign = list.find(({ type }) => !link.hosted?.types.includes(type));
  if (foreign)
    throw new Error(
      `Reminders of ${foreign.type} can only be set by a process that hosts it: ` +
        'call a method of the actor, and let it set the reminder',
    );
  link.counted = undefined;
  await link.reminders.register(list);
}

export async function forgetReminder(link: SidecarLink, to: Address, name: string): Promise<void> {
  checkReminder(to, name);
  link.counted = undefined;
  await link.reminders.unregister(to, name);
}

/**
 * The scheduler has no count: it lists every reminder. One list serves everybody who asks within ten seconds, unless
 * this process changed it.
 */
export async function countScheduled(link: SidecarLink): Promise<ReminderCounts | undefined> {
  const { hosted, reminders } = link;
  const { clock, log } = link.options;
  if (!hosted) return undefined;
  if (!link.counted || clock.monotonic() - link.counted.at > COUNT_MS) {
    const answer = reminders.count(hosted.types).catch((error: unknown) => {
      log.warn({ err: error }, 'reminders could not be counted');
      return undefined;
    });
    link.counted = { at: clock.monotonic(), answer };
  }
  return link.counted.answer;
}
