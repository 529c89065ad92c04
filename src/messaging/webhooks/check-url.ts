import { ADDRESS_REFUSED, type Guard } from '../../platform/outbound/guard.ts';

/** Characters that the WHATWG parser changes: it drops tabs and newlines, and reads \ as /. */
const STRANGE = /[\s\\\p{Cc}\p{Cf}]/u;
const AUTHORITY = /^https:\/\/([^/?]+)/i;

/**
 * Checks that events may be posted to this URL (specification, "Receiver requirements" 1). Returns the error, as the
 * rest of a sentence that begins with the field name, or null. The URL must be complete, with https, a host whose
 * addresses are all public, and an allowed port; without a user name or fragment. The text itself is checked too,
 * because parsing hides an empty fragment or user name.
 *
 * This saves the owner from a mistake. Our protection is the same check of every connection
 * (src/platform/outbound/connect.ts).
 */
export async function findUrlFault(guard: Guard, text: string): Promise<string | null> {
  const fault = faultOfText(text) ?? faultOfPort(text, guard.ports);
  if (fault !== null) return fault;
  try {
    await guard.resolveAllowed(hostOf(text));
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
