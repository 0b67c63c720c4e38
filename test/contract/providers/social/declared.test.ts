import { expect, test } from '@jest/globals';
import { localProviders } from '../../../support/worlds/providers.ts';

const networks = localProviders().list('social');
const plugs = networks.flatMap((network) => (network.plugs ?? []).map((plug) => ({ network, plug })));

test('an identifier of a plug is unique over all networks [PL2]', () => {
  const identifiers = plugs.map(({ plug }) => plug.identifier);
  expect([...new Set(identifiers)]).toEqual(identifiers);
});

test('each network that a plug acts through has the method that it calls', () => {
  const without = plugs.flatMap(({ network, plug }) =>
    (plug.kind === 'post' ? plug.pickIntegration : [network.id])
      .filter((id) => !networks.find((one) => one.id === id)?.[plug.act])
      .map((id) => `${plug.identifier}: ${id}`),
  );
  expect(without).toEqual([]);
});

test('the pattern of each field of a plug is one repeated class of characters', () => {
  for (const { plug } of plugs)
    for (const { validation = '' } of plug.fields)
      expect(validation).toMatch(/^\^(\\d|\[[^\]]+\])(\{\d+,\d*\}|[+*])\$$/);
});

// the fields of the facts page that speak of an audit, a review, an approval or a plan
test.each([
  ['facebook', /Meta has reviewed/],
  ['gmb', /grants access .* on request/],
  ['hashnode', /the paid plan Pro/],
  ['instagram', /Meta has reviewed/],
  ['instagram-standalone', /Meta has reviewed/],
  ['linkedin', /LinkedIn reviews/],
  ['linkedin-page', /LinkedIn reviews/],
  ['mewe', /apps that it has reviewed/],
  ['moltbook', /until its owner answers/],
  ['pinterest', /grants standard access/],
  ['reddit', /approves each app/],
  ['threads', /Meta has reviewed/],
  ['tiktok', /TikTok has audited/],
  ['vk', /verified businesses/],
  ['wrapcast', /credits of its plan/],
  ['x', /charges the app/],
  ['youtube', /Google has audited/],
])('the notes of %s say what somebody must grant, pay or do first', (id, words) =>
  expect(networks.find((one) => one.id === id)!.setupNotes).toMatch(words),
);
