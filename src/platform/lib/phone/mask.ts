/**
 * Masks a phone number for logs: `+39351*****12`. Numbers with less than ten digits (short codes) show only the first
 * third; anything that is not a number shows nothing.
 */
export function maskNumber(number: string): string {
  if (!/^\+?\d+$/.test(number)) return '*****';
  const plus = number.startsWith('+') ? 1 : 0;
  const digits = number.length - plus;
  const [head, tail] = digits >= 10 ? [5, 2] : [Math.floor(digits / 3), 0];
  return `${number.slice(0, plus + head)}*****${number.slice(number.length - tail)}`;
}

/** Masks every run of 7 to 15 digits (E.164) in a text, since error texts may quote the value that caused them. */
export const maskNumbersIn = (text: string): string => text.replace(/(?<!\d)\+?\d{7,15}(?!\d)/g, maskNumber);
