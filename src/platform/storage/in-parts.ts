/** The octets of a stream in parts of exactly `partBytes`, but for the last, which has what is left; nothing of nothing. */
export async function* inParts(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array, undefined> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + partBytes - bytes);
      waiting.push(piece);
      at += piece.length;
      bytes += piece.length;
      if (bytes < partBytes) continue;
      yield Buffer.concat(waiting);
      [waiting, bytes] = [[], 0];
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
