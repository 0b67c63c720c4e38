import { listener } from '../../platform/outbox/index.ts';

/** Wakes what waits for a new login of a channel; the scan of the reconciler finds it then. */
export const followUpsListener = listener({
  name: 'follow-ups',
  topics: ['channel.connected'],
  hear: (sql, facts) => sql`
    update post_follow_ups f
    set due_at = now()
    from unnest(
      ${facts.map(({ orgId }) => orgId)}::uuid[],
      ${facts.map(({ entityId }) => entityId)}::uuid[]
    ) as t (org_id, channel_id)
    where f.org_id = t.org_id
      and f.channel_id = t.channel_id
      and f.state = 'waiting'
      and f.login_until is not null`,
});
