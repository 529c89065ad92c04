import { useFormat } from './format.ts';

/** An amount in its currency, in the format of the language. */
export function Money({ amount, currency }: { readonly amount: number | null; readonly currency: string }) {
  return <span className="tabular">{useFormat().money(amount, currency)}</span>;
}
