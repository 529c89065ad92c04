import { Paper } from '@mantine/core';
import { Children, type ReactNode } from 'react';
import classes from '../shared/lines.module.css';

/** Checks below one another, with lines between them. */
export const CheckList = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <Paper p="lg">
    <ul className={classes.list} aria-label={label}>
      {Children.map(children, (child) => (
        <li className={classes.item}>{child}</li>
      ))}
    </ul>
  </Paper>
);
