import { randomUUID } from 'node:crypto';
import type { SandboxScript } from './script.ts';

/** A message id as spelled in the response, with its number (0 for a UUID, which has none). */
export type MessageId = { readonly text: string; readonly number: number };

const PADDED_DIGITS = 16;

/** Creates a function that returns message ids and never repeats one; it reads the format from the script each time. */
export function createMessageIds(script: SandboxScript): () => MessageId {
  let number = script.firstId;
  return () => {
    if (script.idFormat === 'uuid') return { text: randomUUID(), number: 0 };
    const id = { text: spell(number, script.idFormat), number };
    number++;
    return id;
  };
}

function spell(number: number, format: Exclude<SandboxScript['idFormat'], 'uuid'>): string {
  if (format === 'decimal') return String(number);
  const hex = number.toString(16);
  if (format === 'hex-lower') return hex;
  return format === 'hex-upper' ? hex.toUpperCase() : hex.toUpperCase().padStart(PADDED_DIGITS, '0');
}

/**
 * Returns an id as spelled in a receipt. A UUID has no other base and no leading zeros, so only its case can differ.
 */
export function receiptId(id: string, number: number, script: SandboxScript): string {
  switch (script.receiptIdBase) {
    case 'same':
      return id;
    case 'other-case':
      return id === id.toLowerCase() ? id.toUpperCase() : id.toLowerCase();
    case 'zero-padded':
      return number > 0 ? id.padStart(PADDED_DIGITS + 4, '0') : id;
    case 'opposite':
      return number > 0 ? inOtherBase(number, script.idFormat) : id;
  }
}

function inOtherBase(number: number, format: SandboxScript['idFormat']): string {
  return format === 'decimal' ? number.toString(16).toUpperCase() : String(number);
}
