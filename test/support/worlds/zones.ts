/** A zone without changes of its clocks, in which the hour is `hour` at that instant. */
export function zoneAt(hour: number, at: Date): string {
  const ahead = (hour - at.getUTCHours() + 36) % 24; // 12 is now, 0 to 23
  const offset = ahead - 12;
  return offset === 0 ? 'Etc/UTC' : `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`;
}
