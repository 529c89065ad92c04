/** The value of this cookie in a Cookie header, or undefined. Of two with one name the first counts, as in RFC 6265. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [found, value] = pair.trim().split('=', 2);
    if (found === name && value) return value;
  }
  return undefined;
}
