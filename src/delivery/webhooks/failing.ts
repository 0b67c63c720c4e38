import type { Fragment, Sql } from '../../platform/db/index.ts';
import { announce } from '../../platform/outbox/index.ts';
import { FAILING_AT } from './rules.ts';

/** Announces webhooks whose failures in a row have just become as many (S171); `failed` are those that have failed. */
export const announceFailing = (sql: Sql, failed: Fragment): Fragment =>
  announce(sql, {
    'webhook.failing': {
      from: sql`${failed} and consecutive_failures = ${FAILING_AT}`,
      payload: {
        name: sql`name`,
        failures: sql`consecutive_failures`,
        lastStatus: sql`last_status`,
        lastError: sql`last_error`,
      },
    },
  });
