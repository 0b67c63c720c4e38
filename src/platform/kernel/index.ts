export { type AddressRange, inRange, type IpAddress, isCidr, parseAddress, parseCidr } from './addresses.ts';
export { bind } from './bind.ts';
export { type Clock, systemClock } from './clock.ts';
export {
  encryptionKey,
  equalSecrets,
  hmacHex,
  openVault,
  randomBase62,
  randomBase64url,
  randomHex,
  sha256,
  sha256Hex,
  type Vault,
} from './crypto.ts';
export {
  AppError,
  asAppError,
  busy,
  draining,
  type ErrorCode,
  type FieldError,
  fieldError,
  invalidField,
  isBusy,
  limitExceeded,
  MOST_FAULTS,
  notFound,
  PROVIDER_FAILURES,
  ProviderError,
  type ProviderFailure,
  type ProviderReason,
  STATUS,
  unknownField,
  validationFailed,
} from './errors.ts';
export { idFrom, isId, newId, splitTenantKey, tenantKey } from './ids.ts';
export { type RowPage, pageOf } from './page.ts';
export { asksNothing, judge, parse } from './validation.ts';
export { StartError } from './start-error.ts';
export { instantOfUntil, localTimesAfter, parseRule, type RecurrenceRule } from './recurrence.ts';
export { clockChangeOf, instantOfLocal, instantsOfLocals, isTimezone, localTimeOf } from './zone.ts';
