import { useRef } from 'react';

/** The value, or what it was before it became null: a dialog keeps its words while it closes. */
export function useLast<T>(value: T | null): T | null {
  const last = useRef<T | null>(value);
  if (value !== null) last.current = value;
  return last.current;
}
