import { ADDRESS_REFUSED, type Guard } from '../../platform/outbound/guard.ts';

/** A URL that WHATWG reads differently from how it looks: it drops tabs and newlines, and takes \ for /. */
const STRANGE = /[\s\\\p{Cc}\p{Cf}]/u;
const AUTHORITY = /^https:\/\/([^/?]+)/i;

/**
 * Whether events may be posted to this URL (specification, "Receiver requirements" 1): what is wrong with it, to be read
 * behind its name, or null. It must be written out in full, with https, a host that has addresses, all of them public,
 * and a port that is allowed; no user name, no fragment. The text itself is looked at too, since parsing hides an empty
 * fragment or user name.
 *
 * This spares the owner a mistake. What protects us is the same check of every connection (src/platform/outbound/connect.ts).
 */
export async function faultOfUrl(guard: Guard, text: string): Promise<string | null> {
  const fault = faultOfText(text) ?? faultOfPort(text, guard.ports);
  if (fault !== null) return fault;
  try {
    await guard.addressesOf(hostOf(text));
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === ADDRESS_REFUSED
      ? 'must lead to a host with public addresses only'
      : 'must lead to a host that can be resolved';
  }
}

function faultOfText(text: string): string | null {
  if (STRANGE.test(text)) return 'must be a URL without spaces, backslashes and control characters';
  if (!text.toLowerCase().startsWith('https:')) return 'must begin with https://';
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === undefined || !URL.canParse(text)) return 'must be a full URL, such as https://example.com/events';
  if (text.includes('#')) return 'must have no #fragment';
  return authority.includes('@') ? 'must have no user name or password' : null;
}

function faultOfPort(text: string, ports: readonly number[]): string | null {
  const port = Number(new URL(text).port || 443);
  return ports.includes(port) ? null : `must have the port ${ports.join(' or ')}`;
}

/** An IPv6 address without its brackets. */
const hostOf = (text: string): string => new URL(text).hostname.replace(/^\[|\]$/g, '');
