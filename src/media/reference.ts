/** What stands in a stored message in place of the link of an account's file (`messaging/messages/with-media.ts`). */
export const mediaReference = (id: number): string => `media:${id}`;

/** Where networks want links in their JSON. */
const LINKS: ReadonlySet<string> = new Set(['link', 'fileUrl']);

type Json = { readonly [key: string]: unknown };

/** A content with the links of these references. Words of people are left as they are, whatever they say. Pure. */
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
