/** Credential fields: one declaration behind the form, the validation, the catalog and the types. */
export interface Field {
  label: string;
  secret: boolean;
  required?: boolean;
  default?: string;
  options?: readonly { value: string; label: string }[];
  /** Regular expression source that a value must match whole. */
  validation?: string;
  help?: string;
  /** `origin`: the address of a server. Stored as `https://host`, however it was typed. */
  form?: 'origin';
}
export type Fields = Readonly<Record<string, Field>>;
export type ValuesOf<F extends Fields> = { readonly [K in keyof F]: string };

type Extra = Omit<Field, 'label' | 'secret'>;
export const text = (label: string, extra: Extra = {}): Field => ({ label, secret: false, required: true, ...extra });
export const secret = (label: string, extra: Extra = {}): Field => ({ label, secret: true, required: true, ...extra });
