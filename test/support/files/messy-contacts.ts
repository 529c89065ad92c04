import { createRandom } from '../../../src/sandbox/smsc-script.ts';

const FIRST = ['Anna', 'Luca', 'Giulia', 'Niccolò', 'Chloé', 'Renée', 'Marco', 'Sofia', 'Matteo', 'Zoë'];
const LAST = ['Rossi', 'Bianchi', 'De Luca', 'D’Amico', 'Müller', 'Esposito', 'Lo Presti', 'García'];

/** A file of contacts as people keep them, and how many of its people can be brought in. */
export type MessyFile = { readonly bytes: Buffer; readonly rows: number; readonly people: number };

/**
 * Makes a file of Italian customers as a spreadsheet exports it: Windows-1252, semicolons, one column of whole names,
 * national numbers in many notations, some with the country code but no plus, some with remarks, some rows twice, some
 * bad mail addresses, and about one row in a hundred whose number is unreadable. The same seed makes the same file.
 */
export function makeMessyContacts(rows: number, seed: number): MessyFile {
  const random = createRandom(seed).next;
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const lines = ['Customer Name;Cellulare;Indirizzo email;Città'];
  let people = 0;
  for (let i = 0; i < rows; i++) {
    const isDouble = i > 0 && i % 100 === 99;
    const isLost = i % 100 === 50;
    const name = `${pick(FIRST)} ${pick(LAST)}`;
    const number = isLost ? pick(['', 'n/a', '333']) : notation(subscriber(isDouble ? i - 1 : i), random());
    const mail = random() < 0.03 ? pick(['no-address', 'anna@', '@example.it']) : `customer${i}@example.it`;
    lines.push(`${name};${number};${mail};Forlì`);
    if (!isDouble && !isLost) people++;
  }
  const text = `${lines.join('\r\n')}\r\n`;
  return { bytes: toWindows1252(text), rows, people };
}

const subscriber = (i: number): string => `333${String(1_000_000 + i).padStart(7, '0')}`;

/** Writes a mobile number as people do; `at` from 0 to 1 chooses how. */
function notation(number: string, at: number): string {
  const [a, b, c] = [number.slice(0, 3), number.slice(3, 6), number.slice(6)];
  const notations = [
    `+39 ${a} ${b}${c}`,
    number,
    number,
    `${a} ${b} ${c}`,
    `${a}/${b}${c}`,
    `${a}-${b}${c}`,
    `39${number}`,
    `39-${a}/${b}${c}`,
    `0039${number}`,
    `(${a}) ${b}.${c}`,
    `tel. ${a} ${b}${c}`,
  ];
  return notations[Math.floor(at * notations.length)] ?? number;
}

/** The characters of Windows-1252 that are not those of Latin-1. */
const SPECIAL: ReadonlyMap<string, number> = new Map([['’', 0x92]]);

const toWindows1252 = (text: string): Buffer =>
  Buffer.from([...text].map((sign) => SPECIAL.get(sign) ?? sign.charCodeAt(0)));
