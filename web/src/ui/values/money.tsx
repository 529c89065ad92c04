import { useFormat } from './format.ts';

/** An amount in its currency, as the language writes it. */
export function Money({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  return <span className="tabular">{useFormat().money(amount, currency)}</span>;
}
