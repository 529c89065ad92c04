/**
 * Returns the placeholder that a stored message contains instead of the link to a file of the account
 * (`messaging/messages/with-media.ts`).
 */
export const mediaReference = (id: number): string => `media:${id}`;

/** The fields of the networks' JSON that contain links. */
const LINKS: ReadonlySet<string> = new Set(['link', 'fileUrl']);

type Json = { readonly [key: string]: unknown };

/** Replaces references by their URLs, only in fields for links: texts are unchanged, even if they look like one. */
export const resolveReferences = <T extends { readonly message: Json }>(
  content: T,
  urls: ReadonlyMap<string, string>,
): T => Object.assign({}, content, { message: fill(content.message, urls) });

function fill(message: Json, urls: ReadonlyMap<string, string>): Json {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      name,
      LINKS.has(name) && typeof value === 'string' ? (urls.get(value) ?? value) : inside(value, urls),
    ]),
  );
}

function inside(value: unknown, urls: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => inside(item, urls));
  return typeof value === 'object' && value !== null ? fill({ ...value }, urls) : value;
}
