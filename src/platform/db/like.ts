/** Returns a LIKE pattern that matches lower-case values that contain this text, in any case. */
export const containsPattern = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
