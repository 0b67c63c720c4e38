import type { Argument, Command, Option } from 'commander';

interface Schema {
  type: 'object';
  properties: Record<string, object>;
  required: string[];
  additionalProperties: false;
}
interface Described {
  /** As it is typed, such as `posts create`. */
  command: string;
  description: string;
  usage: string;
  /** Arguments in their order, then options by their long names. */
  input: Schema;
}

/** Each command below, with a JSON Schema of what it takes. */
export function describeCommands(command: Command, path: readonly string[] = pathOf(command)): Described[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((one) => describeCommands(one, [...path, one.name()]));
  const { registeredArguments, options } = command;
  return [
    {
      command: path.join(' '),
      description: command.description(),
      usage: ['rookery', ...path, command.usage()].join(' '),
      input: {
        type: 'object',
        properties: Object.fromEntries([
          ...registeredArguments.map((argument) => [argument.name(), schemaOf(argument)]),
          ...options.map((option) => [option.long!, schemaOf(option)]),
        ]),
        required: [
          ...registeredArguments.filter(({ required }) => required).map((argument) => argument.name()),
          ...options.filter(({ mandatory }) => mandatory).map(({ long }) => long!),
        ],
        additionalProperties: false,
      },
    },
  ];
}

/** Without the name of the program. */
const pathOf = (command: Command): string[] => (command.parent ? [...pathOf(command.parent), command.name()] : []);

function schemaOf(one: Argument | Option): object {
  const isFlag = 'long' in one && !one.required && !one.optional;
  const isCount = /^(?:n|number|seconds)$/.test('flags' in one ? (/<(\w+)>/.exec(one.flags)?.[1] ?? '') : '');
  const isMany = one.variadic || one.description.includes('may be repeated');
  const single = {
    type: isFlag ? 'boolean' : isCount ? 'integer' : 'string',
    ...(one.argChoices && { enum: one.argChoices }),
  };
  return {
    ...(isMany ? { type: 'array', items: single } : single),
    description: one.description,
    ...(one.defaultValue !== undefined && { default: one.defaultValue as unknown }),
  };
}
