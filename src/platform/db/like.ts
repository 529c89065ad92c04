/** A LIKE pattern that fits where this text stands anywhere inside; for columns in lower case. */
export const inside = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
