/** A text that stands in a file once, and what stands there instead. */
type Edit = readonly [file: string, from: string, to: string];
/** A fault put into a copy of the product. */
export interface Bug {
  /** Its number in the order of the life of a post, and what it does. */
  readonly name: string;
  readonly edits: readonly Edit[];
}

const POSTS = 'src/publishing/posts';
const RULES = `${POSTS}/rules.ts`;
const STATE = `${POSTS}/state.ts`;
const STORING = `${POSTS}/authoring/storing`;
const CLAIM = `${POSTS}/dispatch/claim.ts`;
const CLAIM_PIECES = `${POSTS}/dispatch/claim-pieces.ts`;
const SETTLE = `${POSTS}/dispatch/settle.ts`;
const RECOVER = `${POSTS}/dispatch/recover.ts`;
const FOLLOW_UPS = 'src/publishing/follow-ups';

/** Of the claim: the post is due. */
const DUE = 'and p.due_at <= now()\n            and p.publish_date <= now()';
const DAYS = '(following.at.getTime() - root.publishDate.getTime()) / 86_400_000';

const MADE: Readonly<Record<string, readonly Edit[]>> = {
  '01-no-due-check': [[CLAIM_PIECES, DUE, '']],
  '02-slot-not-looked-at': [
    [CLAIM, '(c.slot_incarnation is null or exists (${dueResend(sql)}\n          ))\n          and', ''],
    [CLAIM, 'where c.slot_incarnation is null\n', '\n'],
  ],
  '03-attempt-not-compared': [[SETTLE, 'and p.attempt = i.attempt\n', '\n']],
  '04-incarnation-not-compared': [[SETTLE, 'and p.incarnation = i.incarnation\n', '\n']],
  '05-slot-kept-after-failure': [
    [`${POSTS}/dispatch/settle-slots.ts`, "(where s.slot = 'free')", "(where s.slot = 'free' and s.state <> 'ERROR')"],
  ],
  '06-slot-freed-while-unconfirmed': [[`${POSTS}/settlements.ts`, "slot: asked ? 'keep' : 'hold',", "slot: 'free',"]],
  '07-heartbeat-not-asked-before-the-call': [
    [
      `${POSTS}/dispatch/work.ts`,
      'heartbeat.heartbeatAgeMs() <= HEARTBEAT_FRESH_MS &&\n      heartbeat.steadySince() <= work.heldSince &&\n',
      '\n',
    ],
  ],
  '08-takeover-without-recheck': [
    [RECOVER, 'where h.incarnation = c.slot_incarnation\n', 'where h.incarnation = c.slot_incarnation and false\n'],
  ],
  '10-clock-of-the-host-decides': [[CLAIM_PIECES, DUE, DUE.replaceAll('now()', '${new Date()}')]],
  '11-due-time-not-moved-by-an-edit': [
    [`${POSTS}/authoring/thread.ts`, 'next_due_at = least(c.next_due_at, (select due_at from waiting)),\n', '\n'],
  ],
  '12-early-reminder-not-set-again': [
    ['actors/channel/actor.ts', 'if (!remind) return;', 'if (!remind || dueAt.getTime() > 0) return;'],
  ],
  '13-horizon-stuck': [[RECOVER, 'if (coming.length === 0) return 0;', 'if (coming.length >= 0) return 0;']],
  '14-recurrence-by-24-hours': [
    [
      `${POSTS}/authoring/repeat.ts`,
      'publishDate: following.at,',
      `publishDate: new Date(root.publishDate.getTime() + Math.ceil(${DAYS}) * 86_400_000),`,
    ],
  ],
  '15-successor-twice': [
    [`${POSTS}/recurrence.ts`, 'idFrom(`', 'idFrom(`${Math.random()} '],
    [STATE, 'and ${sql(alias)}.repeated_at is null\n', '\n'],
  ],
  '16-series-dies-with-a-failure': [
    [
      STATE,
      "recurs(sql, alias)} and ${sql(alias)}.state in ('PUBLISHED', 'ERROR')",
      "recurs(sql, alias)} and ${sql(alias)}.state = 'PUBLISHED'",
    ],
  ],
  '17-resent-at-once': [
    [
      `${POSTS}/outcomes.ts`,
      'const delay = asked ? lookUpDelay(lookUps) : 0;',
      "if (!asked) return again('network', outcome.message, 0);\n      const delay = asked ? lookUpDelay(lookUps) : 0;",
    ],
  ],
  '18-absent-too-early': [
    [RULES, "'own-id' ? 0 : (timeoutMs ?? CALL_MS) + 10 * SECOND;", "'own-id' || timeoutMs ? 0 : CALL_MS;"],
  ],
  '19-handle-stored-after-the-call': [
    [
      `${POSTS}/dispatch/publish.ts`,
      'if (!(await saveHandle(sql, claimed, cleanJson(handle)))) throw',
      'if (!sql || !cleanJson(handle) || !saveHandle) throw',
    ],
  ],
  '20-retry-after-dropped': [
    [RULES, 'if (retryAfterMs === undefined) return usual;', 'if (retryAfterMs === undefined || usual) return usual;'],
  ],
  '21-failed-attempts-forgotten': [[SETTLE, 'p.attempts_failed + i.failed::int', 'p.attempts_failed']],
  '22-comment-without-a-row-before': [
    [`${FOLLOW_UPS}/plan.ts`, "->> 'firstComment' ~ '\\\\S'\n", "->> 'firstComment' ~ '\\\\S' and false\n"],
  ],
  '23-comment-sent-again-blindly': [
    [
      `${FOLLOW_UPS}/claim.ts`,
      "set state = case d.before when 'waiting' then 'sending' else 'unconfirmed' end,",
      "set state = 'sending',",
    ],
  ],
  '24-plug-counted-after-acting': [
    [
      `${FOLLOW_UPS}/looks-store.ts`,
      'and f.key = ${look.id}::text\n',
      "and f.key like ${look.id}::text || '%'\n          and f.state = 'done'\n",
    ],
    [
      `${FOLLOW_UPS}/looks-store.ts`,
      "'auto_plug', e.id::text,",
      "'auto_plug', e.id::text || ' ' || gen_random_uuid(),",
    ],
    [`${FOLLOW_UPS}/claim.ts`, 'k.id::text = f.key and', 'k.id::text = left(f.key, 36) and'],
  ],
  '25-lost-when-the-host-dies-after-the-result': [
    ['actors/host/scans.ts', 'deliver, goOn, follow }', 'deliver, goOn }'],
  ],
  '26-edit-after-the-claim': [
    [
      `${POSTS}/authoring/changing/edit-verdict.ts`,
      "when t.in_flight or (${isWhole} and r.in_flight) then 'in_flight'\n",
      '\n',
    ],
  ],
  '28-resume-in-a-burst': [
    [
      `${POSTS}/brake/resume.ts`,
      '* ${spacingSeconds}::float8 * interval',
      '* 0 * ${spacingSeconds}::float8 * interval',
    ],
  ],
  '29-consent-survives-an-edit': [
    [
      `${POSTS}/approval/consent-of-edit.ts`,
      "when ${queued} then ${asksWhenRoom(sql)}\n          else 'void' end",
      'when ${queued} then null\n          else null end',
    ],
  ],
  '30-brake-not-read-by-the-claim': [
    [CLAIM_PIECES, `${DUE}\n            and not \${braked(sql, labelsOf(sql))}`, DUE],
    [SETTLE, "when ${brakedNow(sql)} then 'paused'\n", '\n'],
  ],
  '31-epoch-ignored': [[`${STORING}/quotas.ts`, 'and q."entitlementVersion" = q.entitlement_version::text,\n', ',\n']],
  '32-reply-in-another-commit': [
    [`${STORING}/insert-statement.ts`, 'set status = q.status, reply = q.reply\n', 'set claim = q.claim\n'],
    [
      `${STORING}/group-commit.ts`,
      'reminders.moved(earlier, version);\n        return admitted;\n      },\n      { weigh',
      'reminders.moved(earlier, version);\n        for (const { orgId, create: { idempotency: k } } of admissions)\n          if (k) await database`update idempotency_keys set status = ${k.status}, reply = ${k.reply} where org_id = ${orgId} and key = ${k.key} and claim = ${k.claim}`;\n        return admitted;\n      },\n      { weigh',
    ],
  ],
  '33-fact-in-another-commit': [
    [
      `${POSTS}/dispatch/settle-facts.ts`,
      "of(sql`topic = 'post.published' and root_post_id is null`)",
      'of(sql`false`)',
    ],
    [
      `${POSTS}/dispatch/attempts.ts`,
      'const about = lookUpOf(settlement);\n',
      "if (held && state === 'PUBLISHED')\n    await deps.sql`insert into outbox (org_id, topic, entity_id) values (${orgId}, 'post.published', ${postId})`;\n  const about = lookUpOf(settlement);\n",
    ],
  ],
  '35-new-webhook-id-on-retry': [
    [
      'src/delivery/webhooks/dispatch/dispatcher.ts',
      'id: deliveryId, event',
      'id: number > 1 ? newId() : deliveryId, event',
    ],
  ],
  '36-cursor-ahead-of-its-writes': [
    [
      'src/platform/outbox/hear.ts',
      'await sql.begin(async (tx) => {\n    await moveCursor(tx, name, from, to);\n',
      'await moveCursor(sql, name, from, to);\n  await sql.begin(async (tx) => {\n',
    ],
  ],
};

/** Faults that the simulation is to find: `npm run sim -- --bugs`. */
export const BUGS: readonly Bug[] = Object.entries(MADE).map(([name, edits]) => ({ name, edits }));

/** Those of the 36 that are not made, or that nothing here can find, each with its reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  '09-reconciler-does-not-wait-after-its-own-gap':
    'what it would do too early is refused by the host that lives: no promise breaks, only work is done twice',
  '27-result-overwrites-a-cancel':
    'a post under way cannot be cancelled (26 takes that away), so there is nothing to overwrite',
  '34-number-taken-outside-the-lock':
    'only the listener numbers, and the move of its cursor, in the same transaction, keeps a second one out; two transactions do not meet within their statements here',
};
