/**
 * Removes all of one character from the end of a text. The expression `/\/+$/` does the same in quadratic time: it
 * tries every slash of a run that is not at the end.
 */
export function trimCharacterEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}

/** Removes all of one character from both ends of a text. */
export function trimCharacter(text: string, character: string): string {
  let start = 0;
  while (text[start] === character) start++;
  return trimCharacterEnd(text.slice(start), character);
}
