/** Credential fields: one declaration behind the form, the validation, the catalog and the types. */
export interface Field {
  label: string;
  secret: boolean;
  required?: boolean;
  default?: string;
  options?: readonly { value: string; label: string }[];
  /** Regular expression source that a value must match whole. */
  validation?: string;
  /** Characters that a value has at most. Default: `MAX_LENGTH`. */
  maxLength?: number;
  help?: string;
  placeholder?: string;
  /** `origin`: the address of a server. Stored as `https://host`, however it was typed. `url`: an http or https address, kept as typed. */
  form?: 'origin' | 'url';
  /** What is wrong with a value, where that takes more than an expression; in words that repeat nothing of it. */
  fault?(value: string): string | undefined;
}
export type Fields = Readonly<Record<string, Field>>;
export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: string };

/** Characters of a typed field that declares no `maxLength`. */
export const MAX_LENGTH = 4_096;

type Extra = Omit<Field, 'label' | 'secret'>;
/** Values of typed fields, or those that were given of the ones that may be absent. */
export type Values = Readonly<Record<string, string>>;

export const text = (label: string, extra: Extra = {}): Field => ({ label, secret: false, required: true, ...extra });
export const secret = (label: string, extra: Extra = {}): Field => ({ label, secret: true, required: true, ...extra });
