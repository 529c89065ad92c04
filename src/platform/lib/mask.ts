/**
 * A phone number as a log may show it: `+39351*****12`. Numbers under ten digits (short codes) show a third of their
 * digits at the front and nothing at the end; what is not a number shows nothing.
 */
export function maskNumber(number: string): string {
  if (!/^\+?\d+$/.test(number)) return '*****';
  const plus = number.startsWith('+') ? 1 : 0;
  const digits = number.length - plus;
  const [head, tail] = digits >= 10 ? [5, 2] : [Math.floor(digits / 3), 0];
  return `${number.slice(0, plus + head)}*****${number.slice(number.length - tail)}`;
}

/** Every run of 7 to 15 digits (E.164) in a text, masked: for error texts, which may quote what they choked on. */
export const maskNumbersIn = (text: string): string => text.replace(/(?<!\d)\+?\d{7,15}(?!\d)/g, maskNumber);
