import type { RunRow, RoundEnd, StepRow } from '../runs/index.ts';
import {
  type PipelineDraft,
  PipelineInput,
  type PipelineNote,
  PipelineOutput,
  ReadOutput,
  ReviewOutput,
  TextsOutput,
} from './deps.ts';
import { unknownNumbers } from '../text/index.ts';

type Outputs = ReadonlyMap<string, unknown>;

/** The drafts that are whole, with what is to be known of each: what was done of the run is enough. */
export function assembleDrafts(
  input: PipelineInput,
  outputs: Outputs,
  errors: ReadonlyMap<string, string> = new Map(),
): PipelineOutput {
  const outputOf = (name: string) => outputs.get(name) ?? undefined;
  const read = outputOf('read') === undefined ? undefined : ReadOutput.parse(outputOf('read'));
  const review = outputOf('review') === undefined ? undefined : ReviewOutput.parse(outputOf('review'));
  const notes: PipelineNote[] = [];
  const drafts: PipelineDraft[] = [];
  for (const [n, { id: channelId }] of input.channels.entries()) {
    const fitted = outputOf(`fit-${n + 1}`);
    if (fitted === undefined) {
      const error = errors.get(`write-${n + 1}`) ?? errors.get(`fit-${n + 1}`);
      notes.push({ channelId, kind: 'dropped', message: error ?? 'There is no draft for this channel' });
      continue;
    }
    const { texts, notes: own } = TextsOutput.parse(fitted);
    notes.push(...own);
    const missing = input.count - texts.length - own.filter(({ kind }) => kind === 'dropped').length;
    if (missing > 0) notes.push({ channelId, kind: 'dropped', message: `The model wrote ${missing} fewer than asked` });
    for (const { text, removed } of texts)
      drafts.push({
        channelId,
        text,
        notes: notesOf({ channelId, text, removed, at: drafts.length, input, read, review }),
      });
  }
  return { drafts, notes };
}

function notesOf({
  channelId,
  text,
  removed,
  at,
  input,
  read,
  review,
}: {
  channelId: string;
  text: string;
  removed: readonly string[];
  at: number;
  input: PipelineInput;
  read: ReadOutput | undefined;
  review: ReviewOutput | undefined;
}): PipelineNote[] {
  const note = (kind: PipelineNote['kind'], message: string): PipelineNote => ({ channelId, kind, message });
  const sources = [input.topic ?? '', read?.title ?? '', ...(read?.facts.map(({ quote }) => quote) ?? [])];
  const numbers = read ? unknownNumbers(text, sources) : [];
  return [
    ...[...new Set(removed)].map((word) => note('removed', `${word} was removed: nobody gave it`)),
    ...numbers.map((number) => note('unsupported', `${number}: the source does not have this number`)),
    ...(review?.flags ?? [])
      .filter(({ draft }) => draft === at)
      .map(({ kind, words, why }) => note(kind, `${words}: ${why}`)),
    ...(review ? [] : [note('unreviewed', 'Nobody held this draft against source and brand')]),
  ];
}

/** What a run has come to; of one that was cancelled, what was whole by then. */
export function pipelineOutput({
  input,
  output,
  state,
  steps,
}: RunRow & { steps: readonly StepRow[] }): PipelineOutput {
  if (output !== null) return PipelineOutput.parse(output);
  if (state !== 'cancelled') return { drafts: [], notes: [] };
  return assembleDrafts(PipelineInput.parse(input), outputsOf(steps));
}

/** What steps came to, or kept before their time was over. */
const outputsOf = (steps: readonly StepRow[]): Outputs => new Map(steps.map(({ name, output }) => [name, output]));

/** How a run has ended: in time with drafts, or with those that were whole then. */
export function pipelineEnd(run: RunRow, steps: readonly StepRow[]): RoundEnd {
  const input = PipelineInput.parse(run.input);
  const errors = steps.flatMap(({ name, state, error }): [string, string][] =>
    state !== 'skipped' && error !== null ? [[name, error]] : [],
  );
  const output = assembleDrafts(input, outputsOf(steps), new Map(errors));
  if (steps.some(({ state }) => state === 'timed_out'))
    return { state: 'timed_out', output, error: 'The time of the pipeline, or of one of its agents, was over' };
  if (output.drafts.length > 0) return { state: 'done', output };
  const failed = steps.find(({ state, error }) => state === 'failed' && error !== null);
  return { state: 'failed', output, error: failed?.error ?? 'No draft fits its channel' };
}
