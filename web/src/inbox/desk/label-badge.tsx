import { Badge } from '@mantine/core';
import type { Label } from './tools.ts';

const COLORS: Readonly<Record<Label['color'], string>> = {
  gray: 'gray',
  red: 'red',
  orange: 'orange',
  yellow: 'amber',
  green: 'green',
  teal: 'teal',
  blue: 'blue',
  purple: 'violet',
  pink: 'pink',
};

/** A label of a conversation in its colour. */
export const LabelBadge = ({ label: { name, color } }: { readonly label: Pick<Label, 'name' | 'color'> }) => (
  <Badge
    size="sm"
    variant="light"
    color={COLORS[color]}
    tt="none"
    maw={140}
    dir="auto"
    style={{ border: '1px solid currentColor' }}
  >
    {name}
  </Badge>
);
