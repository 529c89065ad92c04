/** Returns the value of a cookie in a Cookie header, or undefined. The first of several with the same name counts. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [found, value] = pair.trim().split('=', 2);
    if (found === name && value) return value;
  }
  return undefined;
}
