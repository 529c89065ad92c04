/**
 * Every value of a JSON document, the document itself first. With a list in place of recursion: a body may be nested
 * half a million deep, which a stack would not survive.
 */
export function* valuesIn(document: unknown): Generator<unknown> {
  const waiting = [document];
  while (waiting.length > 0) {
    const value = waiting.pop();
    yield value;
    if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) waiting.push(child);
  }
}
