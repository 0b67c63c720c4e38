/** Credential fields: one declaration behind the form, the validation, the catalog and the types. */
export interface Field {
  label: string;
  secret: boolean;
  required?: boolean;
  default?: string;
  options?: readonly { value: string; label: string }[];
  /** Regular expression source that a value must match whole. `npm run check` fails on one that backtracks. */
  validation?: string;
  /** Characters that a value has at most. Default: `MAX_LENGTH`. */
  maxLength?: number;
  help?: string;
  placeholder?: string;
  /** `origin`: the address of a server. Stored as `https://host`, however it was typed. `url`: an http or https address, kept as typed. */
  form?: 'origin' | 'url';
  /**
   * Says whether calls of the setting go to this place: a change of it drops the stored secrets beside it, so that nobody sends a secret
   * somewhere that they cannot read. Of fields with a `form` it is said unless they say otherwise.
   */
  address?: boolean;
  /** What is wrong with a value, where that takes more than an expression; in words that repeat nothing of it. */
  fault?(value: string): string | undefined;
}
export type Fields = Readonly<Record<string, Field>>;
export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: string };

/** Characters of a typed field that declares no `maxLength`. */
export const MAX_LENGTH = 4_096;

type Extra = Omit<Field, 'label' | 'secret'>;
/** Whether a field decides where secrets of the same setting are sent. */
export const isAddressField = ({ address, form }: Field): boolean => address ?? form !== undefined;

/** Values of typed fields, or those that were given of the ones that may be absent. */
export type Values = Readonly<Record<string, string>>;

export const text = (label: string, extra: Extra = {}): Field => ({ label, secret: false, required: true, ...extra });
export const secret = (label: string, extra: Extra = {}): Field => ({ label, secret: true, required: true, ...extra });
