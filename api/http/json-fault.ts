// JSON.parse tells a place for some faults and a piece of the text for others. A place is wanted for all of them, and
// never a piece: a body may hold a password.

const WHITE = /[ \t\n\r]*/y;
// oxlint-disable-next-line no-control-regex -- JSON takes none of them in a string
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/** Names what may stand at a place of a JSON text, in the words of the refusal. */
const WANTED = {
  value: 'a value',
  'value or end': 'a value or ]',
  name: 'a name in double quotes',
  'name or end': 'a name in double quotes or }',
  colon: 'a colon',
  'comma or }': 'a comma or }',
  'comma or ]': 'a comma or ]',
  end: 'the end',
} as const;
type Wanted = keyof typeof WANTED;

/** The first place of a text that is not JSON where JSON has something else; undefined when it is JSON. */
function firstFault(text: string): { at: number; wanted: Wanted } | undefined {
  const open: ('}' | ']')[] = [];
  let wanted = 'value' as Wanted;
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const close = (): void => {
    const around = open.at(-1);
    wanted = around === undefined ? 'end' : `comma or ${around}`;
  };
  for (;;) {
    take(WHITE);
    const sign = text[at];
    if (sign === undefined) return wanted === 'end' ? undefined : { at, wanted };
    if (wanted === 'value' || wanted === 'value or end') {
      if (sign === '{' || sign === '[') {
        at += 1;
        open.push(sign === '{' ? '}' : ']');
        wanted = sign === '{' ? 'name or end' : 'value or end';
        continue;
      }
      if (take(STRING) || take(SCALAR)) {
        close();
        continue;
      }
    } else if ((wanted === 'name' || wanted === 'name or end') && take(STRING)) {
      wanted = 'colon';
      continue;
    } else if (wanted === 'colon' && sign === ':') {
      at += 1;
      wanted = 'value';
      continue;
    } else if (wanted.startsWith('comma') && sign === ',') {
      at += 1;
      wanted = open.at(-1) === '}' ? 'name' : 'value';
      continue;
    }
    if (sign === open.at(-1) && (wanted.startsWith('comma') || wanted.endsWith('or end'))) {
      at += 1;
      open.pop();
      close();
      continue;
    }
    return { at, wanted };
  }
}

/**
 * The sentence for a text that is not JSON: line and column, both from 1, and what JSON has there; nothing of the text
 * itself.
 */
export function jsonFault(text: string): string {
  const fault = firstFault(text);
  if (!fault) return 'The body is not valid JSON';
  const lines = text.slice(0, fault.at).split(/\r\n|\n|\r/);
  const column = [...lines.at(-1)!].length + 1;
  return `The body is not valid JSON: line ${lines.length}, column ${column}, where ${WANTED[fault.wanted]} is needed`;
}
