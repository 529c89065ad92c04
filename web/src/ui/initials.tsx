import { Avatar } from '@mantine/core';

/** What a user is called: the name, or the username of one who gave none. */
export const callName = ({ displayName, username }: { readonly displayName: string; readonly username: string }) =>
  displayName || username;

const COLORS = ['blue', 'teal', 'violet', 'green', 'gray', 'red'];

/** The initials of a person in a circle; a symbol for a number. The name stands next to it. */
export const Initials = ({ name, size }: { readonly name: string; readonly size: number }) => (
  <Avatar
    size={size}
    radius="xl"
    color="initials"
    allowedInitialsColors={COLORS}
    name={name.startsWith('+') ? undefined : name.replaceAll(/[.@_-]+/g, ' ')}
    aria-hidden="true"
  />
);
