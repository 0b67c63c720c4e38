/** A fault put into a copy of the product, as text that stands in a file once and what stands there instead. */
export interface Bug {
  /** Its number in the order of the life of a post, and what it does. */
  readonly name: string;
  readonly edits: readonly { file: string; from: string; to: string }[];
}
const DISPATCH = 'src/publishing/posts/dispatch';
const bug = (name: string, file: string, from: string, to: string): Bug => ({ name, edits: [{ file, from, to }] });

/** Faults that the simulation is to find: `npm run sim -- --bugs`. */
export const BUGS: readonly Bug[] = [
  bug(
    '01-no-due-check',
    `${DISPATCH}/claim.ts`,
    '            and p.due_at <= now()\n            and p.publish_date <= now()\n            and not ${braked(sql, labelsOf(sql))}\n          order by p.publish_date, p.seq\n          limit 1\n          for no key update`',
    '            and not ${braked(sql, labelsOf(sql))}\n          order by p.publish_date, p.seq\n          limit 1\n          for no key update`',
  ),
  {
    name: '02-slot-not-looked-at',
    edits: [
      {
        file: `${DISPATCH}/claim.ts`,
        from: '          (c.slot_incarnation is null or exists (${dueResend(sql)}\n          ))\n          and not c.disabled',
        to: '          not c.disabled',
      },
      {
        file: `${DISPATCH}/claim.ts`,
        from: '          ) q\n          where c.slot_incarnation is null\n',
        to: '          ) q\n',
      },
    ],
  },
  bug('03-attempt-not-compared', `${DISPATCH}/settle.ts`, '          and p.attempt = i.attempt\n', ''),
  bug('04-incarnation-not-compared', `${DISPATCH}/settle.ts`, '          and p.incarnation = i.incarnation\n', ''),
  bug(
    '05-slot-kept-after-failure',
    `${DISPATCH}/settle.ts`,
    "filter (where s.slot = 'free') as freed",
    "filter (where s.slot = 'free' and s.state <> 'ERROR') as freed",
  ),
  bug(
    '06-slot-freed-while-unconfirmed',
    'src/publishing/posts/rules.ts',
    "slot: asked ? 'keep' : 'hold',",
    "slot: 'free',",
  ),
  bug(
    '07-heartbeat-not-asked-before-the-call',
    `${DISPATCH}/work.ts`,
    '      heartbeat.heartbeatAgeMs() <= HEARTBEAT_FRESH_MS &&\n      heartbeat.steadySince() <= work.heldSince &&\n',
    '',
  ),
  bug(
    '08-takeover-without-recheck',
    `${DISPATCH}/recover.ts`,
    '            where h.incarnation = c.slot_incarnation\n',
    '            where h.incarnation = c.slot_incarnation and false\n',
  ),
  bug(
    '10-clock-of-the-host-decides',
    `${DISPATCH}/claim.ts`,
    '            and p.due_at <= now()\n            and p.publish_date <= now()\n            and not ${braked(sql, labelsOf(sql))}\n          order by p.publish_date, p.seq\n          limit 1\n          for no key update`',
    '            and p.due_at <= ${new Date()}\n            and p.publish_date <= ${new Date()}\n            and not ${braked(sql, labelsOf(sql))}\n          order by p.publish_date, p.seq\n          limit 1\n          for no key update`',
  ),
  bug(
    '11-due-time-not-moved-by-an-edit',
    'src/publishing/posts/authoring/thread.ts',
    '      next_due_at = least(c.next_due_at, (select due_at from waiting)),\n',
    '',
  ),
  bug(
    '12-early-reminder-not-set-again',
    'actors/channel/actor.ts',
    '  if (!remind) return;',
    '  if (!remind || dueAt.getTime() > 0) return;',
  ),
  bug(
    '13-horizon-stuck',
    `${DISPATCH}/recover.ts`,
    '  if (coming.length === 0) return 0;\n',
    '  if (coming.length >= 0) return 0;\n',
  ),
  bug(
    '14-recurrence-by-24-hours',
    'src/publishing/posts/authoring/repeat.ts',
    '    publishDate: following.at,',
    '    publishDate: new Date(root.publishDate.getTime() + Math.ceil((following.at.getTime() - root.publishDate.getTime()) / 86_400_000) * 86_400_000),',
  ),
  {
    name: '15-successor-twice',
    edits: [
      { file: 'src/publishing/posts/recurrence.ts', from: 'idFrom(`', to: 'idFrom(`${Math.random()} ' },
      { file: 'src/publishing/posts/state.ts', from: '      and ${sql(alias)}.repeated_at is null\n', to: '' },
    ],
  },
  bug(
    '16-series-dies-with-a-failure',
    'src/publishing/posts/state.ts',
    "sql`(${recurs(sql, alias)} and ${sql(alias)}.state in ('PUBLISHED', 'ERROR'))`",
    "sql`(${recurs(sql, alias)} and ${sql(alias)}.state = 'PUBLISHED')`",
  ),
  bug(
    '17-resent-at-once',
    'src/publishing/posts/rules.ts',
    '      const delay = asked ? lookUpDelay(lookUps) : 0;\n',
    "      if (!asked) return again('network', outcome.message, 0);\n      const delay = asked ? lookUpDelay(lookUps) : 0;\n",
  ),
  bug(
    '18-absent-too-early',
    'src/publishing/posts/rules.ts',
    "return once === 'key' || once === 'own-id' ? 0 : (timeoutMs ?? CALL_MS) + 10 * SECOND;",
    "return once === 'key' || once === 'own-id' || timeoutMs ? 0 : CALL_MS;",
  ),
  bug(
    '19-handle-stored-after-the-call',
    `${DISPATCH}/publish.ts`,
    '      if (!(await saveHandle(sql, claimed, cleanJson(handle)))) throw',
    '      if (!sql || !cleanJson(handle) || !saveHandle) throw',
  ),
  bug(
    '20-retry-after-dropped',
    'src/publishing/posts/rules.ts',
    '  if (retryAfterMs === undefined) return usual;',
    '  if (retryAfterMs === undefined || usual) return usual;',
  ),
  bug(
    '21-failed-attempts-forgotten',
    `${DISPATCH}/settle.ts`,
    'attempts_failed = p.attempts_failed + i.failed::int,',
    'attempts_failed = p.attempts_failed,',
  ),
  bug(
    '22-comment-without-a-row-before',
    'src/publishing/follow-ups/plan.ts',
    "        and r.settings ->> 'firstComment' ~ '\\\\S'\n",
    "        and r.settings ->> 'firstComment' ~ '\\\\S' and false\n",
  ),
  bug(
    '23-comment-sent-again-blindly',
    'src/publishing/follow-ups/claim.ts',
    "set state = case d.before when 'waiting' then 'sending' else 'unconfirmed' end,",
    "set state = 'sending',",
  ),
  {
    name: '24-plug-counted-after-acting',
    edits: [
      {
        file: 'src/publishing/follow-ups/looks-store.ts',
        from: '          and f.key = ${look.id}::text\n',
        to: "          and f.key like ${look.id}::text || '%'\n          and f.state = 'done'\n",
      },
      {
        file: 'src/publishing/follow-ups/looks-store.ts',
        from: "select e.org_id, p.id, 'auto_plug', e.id::text,",
        to: "select e.org_id, p.id, 'auto_plug', e.id::text || ' ' || gen_random_uuid(),",
      },
      {
        file: 'src/publishing/follow-ups/claim.ts',
        from: 'k.id::text = f.key and',
        to: 'k.id::text = left(f.key, 36) and',
      },
    ],
  },
  bug(
    '25-lost-when-the-host-dies-after-the-result',
    'actors/host/reconciler.ts',
    'deliver, goOn, follow])',
    'deliver, goOn])',
  ),
  bug(
    '26-edit-after-the-claim',
    'src/publishing/posts/authoring/edit.ts',
    "        when t.in_flight or (${isWhole} and r.in_flight) then 'in_flight'\n",
    '',
  ),
  bug(
    '28-resume-in-a-burst',
    'src/publishing/posts/brake/resume.ts',
    '          * ${spacingSeconds}::float8 * interval',
    '          * 0 * ${spacingSeconds}::float8 * interval',
  ),
  bug(
    '29-consent-survives-an-edit',
    'src/publishing/posts/approval/consent-of-edit.ts',
    "          when ${queued} then ${asksWhenRoom(sql)}\n          else 'void' end",
    '          when ${queued} then null\n          else null end',
  ),
  {
    name: '30-brake-not-read-by-the-claim',
    edits: [
      {
        file: `${DISPATCH}/claim.ts`,
        from: '            and not ${braked(sql, labelsOf(sql))}\n          order by p.publish_date, p.seq\n          limit 1\n          for no key update`',
        to: '          order by p.publish_date, p.seq\n          limit 1\n          for no key update`',
      },
      { file: `${DISPATCH}/settle.ts`, from: "            when ${brakedNow(sql)} then 'paused'\n", to: '' },
    ],
  },
  bug(
    '31-epoch-ignored',
    'src/publishing/posts/authoring/quotas.ts',
    '          and q."entitlementVersion" = q.entitlement_version::text,\n',
    ',\n',
  ),
  {
    name: '32-reply-in-another-commit',
    edits: [
      {
        file: 'src/publishing/posts/authoring/insert.ts',
        from: 'update idempotency_keys k\n      set status = q.status, reply = q.reply\n',
        to: 'update idempotency_keys k\n      set claim = q.claim\n',
      },
      {
        file: 'src/publishing/posts/authoring/insert.ts',
        from: '        reminders.moved(earlier, version);\n        return admitted;\n      },\n      { weigh',
        to: '        reminders.moved(earlier, version);\n        for (const { orgId, create: { idempotency: k } } of admissions)\n          if (k) await database`update idempotency_keys set status = ${k.status}, reply = ${k.reply} where org_id = ${orgId} and key = ${k.key} and claim = ${k.claim}`;\n        return admitted;\n      },\n      { weigh',
      },
    ],
  },
  {
    name: '33-fact-in-another-commit',
    edits: [
      {
        file: `${DISPATCH}/settle.ts`,
        from: "of(sql`topic = 'post.published' and root_post_id is null`)",
        to: 'of(sql`false`)',
      },
      {
        file: `${DISPATCH}/attempts.ts`,
        from: '  const about = lookUpOf(settlement);\n',
        to: "  if (held && state === 'PUBLISHED')\n    await deps.sql`insert into outbox (org_id, topic, entity_id) values (${orgId}, 'post.published', ${postId})`;\n  const about = lookUpOf(settlement);\n",
      },
    ],
  },
  bug(
    '35-new-webhook-id-on-retry',
    'src/delivery/webhooks/dispatcher.ts',
    '{ url, id: deliveryId, event',
    '{ url, id: number > 1 ? newId() : deliveryId, event',
  ),
  bug(
    '36-cursor-ahead-of-its-writes',
    'src/platform/outbox/listeners.ts',
    '  await sql.begin(async (tx) => {\n    await moveCursor(tx, name, from, to);\n',
    '  await moveCursor(sql, name, from, to);\n  await sql.begin(async (tx) => {\n',
  ),
];

/** Those of the 36 that are not made, or that nothing here can find, each with its reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  '09-reconciler-does-not-wait-after-its-own-gap':
    'what it would do too early is refused by the host that lives: no promise breaks, only work is done twice',
  '27-result-overwrites-a-cancel':
    'a post under way cannot be cancelled (26 takes that away), so there is nothing to overwrite',
  '34-number-taken-outside-the-lock':
    'only the listener numbers, and the move of its cursor, in the same transaction, keeps a second one out; two transactions do not meet within their statements here',
};
