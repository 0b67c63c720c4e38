import { describe, expect, test } from '@jest/globals';
import { prompt as askedPrompt } from '../../api/resources/files/job.handlers.ts';
import type { MediaAdapter, SourceFile } from '../../src/providers/registry/index.ts';
import { checkMediaRequest } from '../../src/providers/registry/index.ts';
import { adapters } from '../../src/providers/registry/registry.gen.ts';
import { listVideoOptions, type VideoOption, videoRequestOf } from '../../src/studio/media-jobs/options.ts';
import type { VideoValue } from '../../src/studio/media-jobs/video-values.ts';
import { resolveMedia } from '../../src/studio/models/resolve.ts';

// What is listed of a way to make a video is enough to ask for one, for every provider that makes some.

const VIDEOS = ['video', 'avatar', 'slideshow'] as const;
const makers = adapters.filter(
  (adapter): adapter is MediaAdapter =>
    adapter.domain === 'media' && VIDEOS.some((operation) => adapter.facts.operations.includes(operation)),
);

type Given = Record<string, unknown> & { sources: string[]; options?: Record<string, string> };
type Kind = SourceFile['kind'];
/** The room with one provider set up. */
function roomOf(adapter: MediaAdapter, values: Record<string, string> = {}) {
  const settings = {
    usable: async (owner: string | null) => (owner === null ? [] : [{ id: 's', adapter, name: '', values }]),
  };
  const deps = { settings, providers: { list: () => [adapter] } } as unknown as Parameters<typeof resolveMedia>[0];
  const models = { resolveMedia: resolveMedia.bind(undefined, deps) };
  return { ...deps, models } as unknown as Parameters<typeof videoRequestOf>[0];
}

const anyOf = ({ values, range }: VideoValue) => values?.[0] ?? range?.from ?? 'a/text';
function put(given: Given, value: VideoValue, what: unknown = anyOf(value)): void {
  const option = /^options\.(.*)/.exec(value.name)?.[1];
  if (option === undefined) given[value.name] = what;
  else given.options = { ...given.options, [option]: String(what) };
}
/** A body with what is listed as needed, and nothing else. Files are named by their kinds. */
function neededBy({ tools, anyOf: groups }: VideoOption): Given {
  const given: Given = { sources: [] };
  const named = (name: string) => tools.find((value) => value.name === name);
  for (const value of tools) if (value.required && value.name !== 'sources') put(given, value);
  for (const group of groups) {
    if (group.some((name) => named(name)?.required || given.sources.includes(name))) continue;
    const value = named(group[0]!);
    if (value) put(given, value);
    else given.sources.push(group[0]!);
  }
  const { kinds = [], min = 0 } = named('sources')?.files ?? {};
  while (given.sources.length < min) given.sources.push(kinds[0]!);
  return given;
}

/** Asks for it as `generate-video` does, and judges it as a job is. */
async function faultOf(adapter: MediaAdapter, { identifier }: VideoOption, customParams: Given): Promise<unknown> {
  const room = roomOf(adapter);
  try {
    const { operation, request, ...wanted } = await videoRequestOf(room, 'org', { type: identifier, customParams });
    const [first] = await room.models.resolveMedia('org', { ...wanted, operation });
    const sources = request.sources.map((kind) => ({ kind: kind as Kind, publicUrl: 'https://a.example' }));
    const asked = { ...request, sources, operation, model: first!.model };
    checkMediaRequest(adapter, asked as unknown as Parameters<typeof checkMediaRequest>[1]);
    return undefined;
  } catch (error) {
    const { message, extra } = error as Error & { extra?: { errors?: unknown } };
    return extra?.errors ?? message;
  }
}

describe.each(makers.map((adapter) => ({ id: adapter.id, adapter })))('$id', ({ adapter }) => {
  test('a body of what each of its ways lists as needed is taken [S151]', async () => {
    const ways = await listVideoOptions(roomOf(adapter), 'org');
    expect(ways.length).toBeGreaterThan(0);
    for (const way of ways)
      expect([way.identifier, await faultOf(adapter, way, neededBy(way))]).toEqual([way.identifier, undefined]);
  });

  test('each value that is listed is taken, and none that is needed can be left out [S151]', async () => {
    for (const way of await listVideoOptions(roomOf(adapter), 'org'))
      for (const value of way.tools) {
        const bodies = [...(value.values ?? []), ...Object.values(value.range ?? {})].map((what) => {
          const given = neededBy(way);
          if (value.name !== 'model') put(given, value, what); // other models take other values
          return given;
        });
        for (const given of bodies)
          expect([way.identifier, given, await faultOf(adapter, way, given)]).toEqual([
            way.identifier,
            given,
            undefined,
          ]);
        if (!value.required) continue;
        const without = neededBy(way);
        if (value.name === 'sources') without.sources = [];
        else if (value.name.startsWith('options.')) delete without.options;
        else delete without[value.name];
        expect([way.identifier, value.name, await faultOf(adapter, way, without)]).not.toEqual([
          way.identifier,
          value.name,
          undefined,
        ]);
      }
  });
});

test('the model that a setting names is the one whose values are listed [S151]', async () => {
  const fal = makers.find(({ id }) => id === 'fal')!;
  const [way] = await listVideoOptions(roomOf(fal, { videoModel: 'acme/clips/image-to-video' }), 'org');
  const seconds = way!.tools.find(({ name }) => name === 'seconds');
  expect([way!.identifier, way!.placement, seconds]).toMatchObject([
    'fal/video',
    'image-to-video',
    { required: true, range: { from: 3, to: 15 } },
  ]);
});

test('a hub without a known model for an operation asks for one by its name [S151]', async () => {
  for (const id of ['fal', 'replicate']) {
    const hub = makers.find((one) => one.id === id)!;
    const way = (await listVideoOptions(roomOf(hub), 'org')).find(({ identifier }) => identifier === `${id}/avatar`)!;
    expect(way.tools.find(({ name }) => name === 'model')).toMatchObject({ required: true });
    expect(await faultOf(hub, way, { sources: ['image'] })).toEqual([
      {
        field: 'model',
        message: expect.stringContaining(`name a model of ${hub.title} for avatar`),
        rule: 'unsupported',
      },
    ]);
  }
});

test('the endpoints take the longest prompt that any model takes', () => {
  const lengths = adapters.flatMap((adapter) => {
    if (adapter.domain !== 'media') return [];
    const { models, actions = {}, anyModel } = adapter;
    const taken = [...models.map(({ operations }) => operations), actions, anyModel?.operations ?? {}];
    return taken.flatMap((operations) => Object.values(operations).map(({ promptLength = 0 }) => promptLength));
  });
  expect(askedPrompt.safeParse('x'.repeat(Math.max(...lengths))).error).toBeUndefined();
  expect(askedPrompt.safeParse('x'.repeat(40_001)).success).toBe(false);
});
