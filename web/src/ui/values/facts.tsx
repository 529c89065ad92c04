import type { ReactNode } from 'react';
import classes from './facts.module.css';

export type Fact = { readonly label: string; readonly value: ReactNode };

/** What is known of one thing: names at the left, values at the right; one above the other where it is narrow. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className={classes.facts}>
      {facts.map(({ label, value }) => (
        <div key={label} className={classes.fact}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
