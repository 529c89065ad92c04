import { Avatar } from '@mantine/core';
import classes from './initials.module.css';

/** What a user is called: the name, or the username of one who gave none. */
export const callName = ({ displayName, username }: { readonly displayName: string; readonly username: string }) =>
  displayName || username;

const COLORS = ['blue', 'teal', 'violet', 'green', 'gray', 'red'];
const MAX_LETTERS = 2;

/** The first letters of the first two words of a name or an email address. */
function lettersOf(name: string): string {
  const words = name.split(/[\s.@_-]+/).filter((word) => word !== '');
  return words
    .slice(0, MAX_LETTERS)
    .map((word) => (/^./u.exec(word)?.[0] ?? '').toUpperCase())
    .join('');
}

/** The initials of a person in a circle; a symbol for a number. The name stands next to it. */
export function Initials({ name, size }: { readonly name: string; readonly size: number }) {
  const isNumber = name.startsWith('+');
  return (
    <Avatar size={size} radius="xl" color="initials" allowedInitialsColors={COLORS} name={name} aria-hidden="true">
      {/* Shown by the style: visible text would have to be part of the name of a button. */}
      {isNumber ? undefined : <span className={classes.letters} data-letters={lettersOf(name)} />}
    </Avatar>
  );
}
