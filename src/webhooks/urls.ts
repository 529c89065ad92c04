import { ADDRESS_REFUSED, type Guard } from '../core/outbound.ts';

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
 * (src/core/outbound.ts).
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

/** Returns the fault in the text of a URL, as `findUrlFault` does, without resolving its host. */
export function faultOfText(text: string): string | null {
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

/** Data that a client gives with a message, and gets back with its events and records. Most messages have none. */
export type ClientData = {
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly callback?: Callback | undefined;
  /** The message on another channel that this one follows. */
  readonly fallbackOf?: string;
};

/** URL at which one endpoint (`ref`) gets the events of a message, instead of its own. */
export type Callback = { readonly url: string; readonly endpoint: number };

/** True if requests for both URLs go to the same host and port. */
export const isSameHost = (url: string, other: string): boolean => new URL(url).host === new URL(other).host;

/**
 * Returns the URL to which an event goes: that of its message, as long as the endpoint is at the same host, and otherwise
 * that of the endpoint.
 */
export const urlFor = (
  { ref, url }: { readonly ref: number; readonly url: string },
  callback: Callback | null | undefined,
): string => (callback?.endpoint === ref && isSameHost(callback.url, url) ? callback.url : url);
