/** A field of a form. Its declaration makes the form, the validation, the catalog entry and the types. */
export interface Field {
  label: string;
  secret: boolean;
  required?: boolean;
  default?: string;
  options?: readonly { value: string; label: string }[];
  /** Source of a regular expression that must match the whole value. `npm run check` fails on one that backtracks. */
  validation?: string;
  /** Greatest number of characters. Default: `MAX_LENGTH`. */
  maxLength?: number;
  help?: string;
  placeholder?: string;
  /**
   * `origin`: the address of a server, stored as `https://host` however it was typed. `site`: the same of a site that may
   * be in a folder of its server, `https://host/folder`. `url`: an http or https address, stored as typed.
   */
  form?: 'origin' | 'site' | 'url';
  /**
   * Calls of the setting go to this address: a change of it deletes the stored secrets beside it, so that nobody sends
   * a secret that they cannot read to a server of their own. Default: true for a field with a `form`.
   */
  address?: boolean;
  /**
   * What is kept under the setting lies where this field says: it stays as it is while there is any. An address is no
   * such field: the same server may be reached at another one.
   */
  place?: boolean;
  /** Describes the fault of a value, where an expression cannot; the text repeats nothing of the value. */
  fault?(value: string): string | undefined;
}
export type Fields = Readonly<Record<string, Field>>;
export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: string };

/** Greatest number of characters of a field that declares no `maxLength`. */
export const MAX_LENGTH = 4_096;

type Extra = Omit<Field, 'label' | 'secret'>;
/** Answers whether secrets of the same setting are sent to the address in this field. */
export const isAddressField = ({ address, form }: Field): boolean => address ?? form !== undefined;

/** Checked values by field; optional fields may be absent. */
export type Values = Readonly<Record<string, string>>;

export const text = (label: string, extra: Extra = {}): Field => ({ label, secret: false, required: true, ...extra });
export const secret = (label: string, extra: Extra = {}): Field => ({ label, secret: true, required: true, ...extra });
