import type { Fragment, Sql } from '../../platform/db/index.ts';

const isRotating = (sql: Sql, rotationHours: number): Fragment =>
  sql`secret_rotated_at > now() - ${rotationHours}::float8 * interval '1 hour'`;
/** The secrets of a webhook that were replaced and still sign, the newest first. */
export const previousSecrets = (sql: Sql, rotationHours: number): Fragment => sql`
  array_remove(array[
    case when ${isRotating(sql, rotationHours)} then previous_secret end,
    case when older_secret_until > now() then older_secret end
  ], null)`;

/**
 * Puts a new secret in the place of the one that signs. What a rotation before has replaced keeps the rest of its time:
 * whoever did not hear of that one rotates again, and receivers still have the secret before both. Of three within that
 * time the one in the middle goes.
 */
export const rotation = (sql: Sql, secret: string, rotationHours: number): Fragment => sql`,
      secret = ${secret}, previous_secret = secret, secret_rotated_at = now(),
      (older_secret, older_secret_until) = (
        select
          case when older_secret_until > now() then older_secret when is_rotating then previous_secret end,
          case
            when older_secret_until > now() then older_secret_until
            when is_rotating then secret_rotated_at + ${rotationHours}::float8 * interval '1 hour' end
        from (select ${isRotating(sql, rotationHours)} as is_rotating) r
      )`;
