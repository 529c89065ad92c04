import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { HTMLAttributes, MouseEventHandler, ReactNode } from 'react';

type To = {
  /** A path of the console with its IDs filled in: `/campaigns/12`. */
  readonly to: string;
  /** The query parameters. */
  readonly search?: Readonly<Record<string, string | number>>;
  readonly children?: ReactNode;
};
type Named = Pick<HTMLAttributes<HTMLAnchorElement>, 'aria-label' | 'aria-current' | 'dir' | 'lang'> & {
  readonly onClick?: MouseEventHandler;
};

/** A link to another page, for texts and tables. */
export const TextLink = ({ to, search, ...rest }: To & Named & AnchorProps) => (
  <Anchor size="sm" {...rest} renderRoot={(props) => <Link to={to} search={search ?? {}} {...props} />} />
);

/** A link that looks like a button. */
export const ButtonLink = ({ to, search, ...rest }: To & Named & ButtonProps) => (
  <Button {...rest} renderRoot={(props) => <Link to={to} search={search ?? {}} {...props} />} />
);
