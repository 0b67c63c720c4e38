import { expect, test } from '@jest/globals';
import { isAddressBad } from './open-smtp.ts';

const rcpt = (response: string, command = 'RCPT TO') =>
  isAddressBad(Object.assign(new Error(response), { command, responseCode: Number(response.slice(0, 3)), response }));

test.each([
  ['550 5.1.1 No such user', true],
  ['550-5.1.1 The account does not exist', true],
  ['550 5.2.1 Mailbox disabled', true],
  ['550 no such user', true],
  ['553 Mailbox name not allowed', true],
  ['550 5.7.1 Policy', false],
  ['552 5.2.2 Mailbox full', false],
  ['550 5.1.8 Bad sender', false],
  ['554 5.7.1 <ann@example.com>: Relay access denied', false],
  ['550 relay not permitted', false],
  ['550 authentication required', false],
  ['450 4.1.1 Try again', false],
  ['554 no such user', false],
])('`%s` to a recipient says of the address that it takes no mail: %p', (response, isBad) => {
  expect(rcpt(response)).toBe(isBad);
  expect([rcpt(response, 'DATA'), rcpt(response, 'MAIL FROM')]).toEqual([false, false]);
});
