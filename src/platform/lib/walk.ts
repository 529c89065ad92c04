/**
 * Yields every value of a JSON document, the document itself first. It uses a list instead of recursion: a body may be
 * nested half a million levels deep, which would overflow the stack.
 */
export function* valuesIn(document: unknown): Generator<unknown> {
  const waiting = [document];
  while (waiting.length > 0) {
    const value = waiting.pop();
    yield value;
    if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) waiting.push(child);
  }
}
