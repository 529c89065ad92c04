import { createHash, timingSafeEqual } from 'node:crypto';

/** Returns true if two texts are equal, compared in constant time whatever their lengths. */
export const constantTimeEqual = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
