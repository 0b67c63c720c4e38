import { readFileSync } from 'node:fs';
import { apiDocument } from './api-documents.ts';
import { NONE, type Operation } from './api-operations.ts';

// A schema of GraphQL, and what it has against a query and its variables. Of the language: what the adapters use.

type Types = ReadonlyMap<string, { kind: string; fields: ReadonlyMap<string, Field>; values: readonly string[] }>;
interface Field {
  type: string;
  args: ReadonlyMap<string, string>;
}
const REF = String.raw`([\w[\]!]+)`;
const bare = (type: string) => type.replaceAll(/[[\]!]/g, '');
const TEXTS = ['String', 'ID', 'ObjectId', 'DateTime'];

/** A schema whose every request is a POST to `/`. */
export function graphQl(file: string): Operation[] | undefined {
  const path = apiDocument(file);
  if (path === undefined) return undefined;
  const types = typesOf(readFileSync(path, 'utf8'));
  const judge = (body: unknown) => {
    const { query, variables = {} } = body as { query: string; variables?: Record<string, unknown> };
    return new Query(types, query, variables).faults();
  };
  return [{ method: 'POST', path: /^\/$/, query: NONE, judge }];
}

function typesOf(text: string): Types {
  const sdl = text.replaceAll(/"""[\s\S]*?"""|"[^"\n]*"|#[^\n]*/g, '').replaceAll(/@\w+(\([^)]*\))?/g, '');
  const argsOf = (args = '') =>
    new Map(
      [...args.matchAll(new RegExp(String.raw`(\w+)\s*:\s*${REF}`, 'g'))].map(([, name, type]) => [name!, type!]),
    );
  const fieldsOf = (body: string) =>
    new Map(
      [...body.matchAll(new RegExp(String.raw`(\w+)\s*(?:\(([^)]*)\))?\s*:\s*${REF}`, 'g'))].map(
        ([, name, args, type]) => [name!, { type: type!, args: argsOf(args) }],
      ),
    );
  return new Map(
    [...sdl.matchAll(/\b(type|input|enum)\s+(\w+)\s*\{([^}]*)\}/g)].map(([, kind, name, body]) => [
      name!,
      {
        kind: kind!,
        fields: kind === 'enum' ? new Map<string, Field>() : fieldsOf(body!),
        values: body!.match(/\w+/g) ?? [],
      },
    ]),
  );
}

class Query {
  readonly #types: Types;
  readonly #tokens: string[];
  readonly #variables: Record<string, unknown>;
  readonly #declared = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #faults: string[] = [];

  constructor(types: Types, text: string, variables: Record<string, unknown>) {
    this.#types = types;
    this.#tokens = text.match(/"(?:[^"\\]|\\.)*"|\.\.\.|\w+|-?\d+|[^\s,]/g) ?? [];
    this.#variables = variables;
  }

  faults(): string[] {
    const kind = this.#next();
    if (kind !== 'query' && kind !== 'mutation') return [`unknown operation ${kind}`];
    if (/^\w/.test(this.#tokens[0] ?? '')) this.#next();
    if (this.#skips('(')) while (!this.#skips(')')) this.#declare();
    this.#selects(kind === 'query' ? 'Query' : 'Mutation');
    for (const [name, type] of this.#declared) {
      if (!this.#used.has(name)) this.#faults.push(`unused variable ${name}`);
      this.#value(type, this.#variables[name], `$${name}`);
    }
    for (const name of Object.keys(this.#variables))
      if (!this.#declared.has(name)) this.#faults.push(`unknown variable ${name}`);
    if (this.#tokens.length > 0) this.#faults.push(`unexpected ${this.#tokens[0]}`);
    return this.#faults;
  }

  #next(expected?: string): string {
    const token = this.#tokens.shift();
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`expected ${expected ?? 'more'} in a query, not ${token}`);
    return token;
  }

  #skips(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }

  #declare() {
    this.#next('$');
    const name = this.#next();
    this.#next(':');
    let type = '';
    while (!['$', ')'].includes(this.#tokens[0]!)) type += this.#next();
    this.#declared.set(name, type);
  }

  #selects(type: string) {
    this.#next('{');
    while (!this.#skips('}')) this.#field(type);
  }

  #field(type: string) {
    const name = this.#next();
    const field = this.#types.get(type)?.fields.get(name);
    if (!field) throw new Error(`unknown field ${name} of ${type}`);
    const given = new Set<string>();
    if (this.#skips('('))
      while (!this.#skips(')')) {
        const arg = this.#next();
        this.#next(':');
        given.add(arg);
        this.#argument(`${name}.${arg}`, field.args.get(arg));
      }
    for (const [arg, of] of field.args)
      if (of.endsWith('!') && !given.has(arg)) this.#faults.push(`missing argument ${name}.${arg}`);
    const of = bare(field.type);
    const isObject = this.#types.get(of)?.kind === 'type';
    if (isObject !== (this.#tokens[0] === '{')) throw new Error(`wrong selection of ${name}: ${of}`);
    if (isObject) this.#selects(of);
  }

  #argument(at: string, type: string | undefined) {
    const isVariable = this.#skips('$');
    const token = this.#next();
    if (type === undefined) {
      this.#faults.push(`unknown argument ${at}`);
    } else if (isVariable) {
      this.#used.add(token);
      const declared = this.#declared.get(token);
      if (declared !== type && declared !== `${type}!`) this.#faults.push(`${at} is ${type}, not ${declared}`);
    } else {
      this.#value(type, /^["\d-]|^(true|false|null)$/.test(token) ? JSON.parse(token) : token, at);
    }
  }

  #value(type: string, value: unknown, at: string) {
    if (type.endsWith('!') && (value === undefined || value === null)) this.#faults.push(`missing ${at}`);
    if (value === undefined || value === null) return;
    const list = /^\[(.+)\]!?$/.exec(type)?.[1];
    if (list !== undefined) {
      for (const one of [value].flat()) this.#value(list, one, at);
      return;
    }
    const name = bare(type);
    const known = this.#types.get(name);
    if (known?.kind === 'input') {
      for (const field of Object.keys(value)) if (!known.fields.has(field)) this.#faults.push(`unknown ${at}.${field}`);
      for (const [field, of] of known.fields)
        this.#value(of.type, (value as Record<string, unknown>)[field], `${at}.${field}`);
    } else if (known ? !known.values.includes(value as string) : wrong(name, value)) {
      this.#faults.push(`${at} is no ${name}`);
    }
  }
}

const wrong = (scalar: string, value: unknown): boolean => {
  if (TEXTS.includes(scalar)) return typeof value !== 'string';
  if (scalar === 'Int') return !Number.isInteger(value);
  if (scalar === 'Boolean') return typeof value !== 'boolean';
  return false;
};
