/** Whether a text is an IANA time zone that this platform knows; offsets such as `+01:00` are none. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** A local address with a plus sign before the at sign, which DISALLOW_PLUS refuses. */
export const hasPlus = (email: string): boolean => email.slice(0, email.lastIndexOf('@')).includes('+');
